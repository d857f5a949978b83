package lab

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"ratescope/limiter"
)

// Given returns a source of these arrivals, which must be in the order of time.
func Given(list []Arrival) Source {
	return sourceFunc(func() (a Arrival, ok bool) {
		if len(list) > 0 {
			a, ok, list = list[0], true, list[1:]
		}
		return a, ok
	})
}

// Model names a traffic model.
type Model string

// The models.
const (
	Poisson   Model = "poisson"   // independent requests at a mean rate
	Steady    Model = "steady"    // one every so often
	OnOff     Model = "on-off"    // Poisson while on, nothing while off
	Cron      Model = "cron"      // a burst at a phase of every period
	Adversary Model = "adversary" // the limit just before an edge, and again just before the next
	Retry     Model = "retry"     // clients that try again when they are denied
)

// Models lists the models, in the order in which they are offered.
func Models() []Model { return []Model{Poisson, Steady, OnOff, Cron, Adversary, Retry} }

// Traffic is one stream of requests, as a scenario file says it. Which fields count
// depends on the model; times are in milliseconds of the story.
type Traffic struct {
	Model     Model   `json:"model"`
	PerSecond float64 `json:"rate_per_s,omitempty"` // poisson, on-off: mean rate while on; retry: new calls of each client
	EveryMS   float64 `json:"every_ms,omitempty"`   // steady: between two; cron: the period
	PhaseMS   float64 `json:"phase_ms,omitempty"`   // steady, cron: into the first period
	Burst     int     `json:"burst,omitempty"`      // cron, adversary: requests at once; adversary: 0 is the limit
	SpreadMS  float64 `json:"spread_ms,omitempty"`  // cron: a burst is spread over this long; adversary: how close to the edge
	OnMS      float64 `json:"on_ms,omitempty"`      // on-off
	OffMS     float64 `json:"off_ms,omitempty"`     // on-off
	Clients   int     `json:"clients,omitempty"`    // retry
	RetryMS   float64 `json:"retry_ms,omitempty"`   // retry: wait after a denial
	Backoff   bool    `json:"backoff,omitempty"`    // retry: double the wait each time, with jitter
	Cost      int64   `json:"cost,omitempty"`       // of each request; 0 means 1
	FromMS    float64 `json:"from_ms,omitempty"`    // when it begins
	ToMS      float64 `json:"to_ms,omitempty"`      // when it ends; 0 is never
}

// maxPerSecond is the highest rate a model makes: beyond, a screen shows a wall.
const maxPerSecond = 100_000

// Source returns the model's arrivals under a setup. The same seed makes the same ones.
func (t Traffic) Source(s Setup, seed uint64) (Source, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	random := rand.New(t.numbers(seed))
	from := s.Zero + micros(t.FromMS)
	cost := max(t.Cost, 1)
	var src Source
	switch t.Model {
	case Poisson:
		src = poisson(random, float64(from), 1e6/t.PerSecond, cost)
	case Steady:
		src = steady(float64(from)+t.PhaseMS*1e3, t.EveryMS*1e3, cost)
	case OnOff:
		src = onOff(poisson(random, 0, 1e6/t.PerSecond, cost), from, micros(t.OnMS), micros(t.OnMS+t.OffMS))
	case Cron:
		src = bursts(random, from+micros(t.PhaseMS), micros(t.EveryMS), t.Burst, t.SpreadMS*1e3, cost)
	case Adversary:
		src = adversary(t, s, from, cost)
	case Retry:
		return newStorms(t, s, seed), nil
	}
	if t.ToMS > 0 {
		src = until(src, s.Zero+micros(t.ToMS))
	}
	return src, nil
}

// numbers are the random ones of one stream of this model.
func (t Traffic) numbers(seed uint64) *rand.PCG { return rand.NewPCG(seed, uint64(len(t.Model))) }

// checkAll checks the streams of traffic that run at once, each of which holds its next requests in memory.
func checkAll(list []Traffic) error {
	const most = 16
	if len(list) > most {
		return fmt.Errorf("%d streams of traffic are too many: use %d at most", len(list), most)
	}
	for _, t := range list {
		if err := t.check(); err != nil {
			return err
		}
	}
	return nil
}

func (t Traffic) check() error {
	is := func(models ...Model) bool { return slices.Contains(models, t.Model) }
	for name, ms := range map[string]float64{
		"phase_ms": t.PhaseMS, "spread_ms": t.SpreadMS, "from_ms": t.FromMS, "to_ms": t.ToMS,
		"off_ms": t.OffMS, "on_ms": t.OnMS, "every_ms": t.EveryMS, "retry_ms": t.RetryMS,
	} {
		if !(ms >= 0 && ms <= 1e12) {
			return fmt.Errorf("traffic %s: %s %v is out of range", t.Model, name, ms)
		}
	}
	for _, one := range []struct {
		name  string
		value any
		use   string
		fits  bool
	}{
		{"cost", t.Cost, fmt.Sprint("0 to ", limiter.MaxCount), t.Cost >= 0 && t.Cost <= limiter.MaxCount},
		{"burst", t.Burst, "0 to 1000000", t.Burst >= 0 && t.Burst <= 1_000_000},
		{"every_ms", t.EveryMS, "0.001 or more", t.EveryMS >= 0.001 || !is(Steady, Cron)},
		{"on_ms", t.OnMS, "1 or more", t.OnMS >= 1 || !is(OnOff)},
		{"clients and retry_ms", fmt.Sprint(t.Clients, " and ", t.RetryMS), "1 to 100000, and 1 or more",
			t.Clients >= 1 && t.Clients <= 100_000 && t.RetryMS >= 1 || !is(Retry)},
		{"rate_per_s", t.PerSecond, "1e-9 to 100000", t.PerSecond >= 1e-9 && t.PerSecond <= maxPerSecond || !is(Poisson, OnOff, Retry)},
	} {
		if !one.fits {
			return fmt.Errorf("traffic %s: %s %v is out of range: use %s", t.Model, one.name, one.value, one.use)
		}
	}
	if !is(Models()...) {
		return fmt.Errorf("there is no traffic model %q: use one of %v", t.Model, Models())
	}
	return nil
}

func micros(ms float64) limiter.Instant { return limiter.Instant(math.Round(ms * 1e3)) }

// Mix returns one source of several streams, each with a seed of its own.
func Mix(list []Traffic, s Setup, seed uint64) (Source, error) {
	sources := make([]Source, len(list))
	for i, t := range list {
		var err error
		if sources[i], err = t.Source(s, seed+uint64(i)*0x9e3779b97f4a7c15); err != nil {
			return nil, err
		}
	}
	return merge(s, sources...), nil
}

// merge returns several sources under a setup as one, in the order of time; of equals the
// one named first. Clients that react to answers hear of the requests of all of them.
func merge(s Setup, sources ...Source) Source {
	if slices.ContainsFunc(sources, func(s Source) bool { _, ok := s.(*closedLoop); return ok }) {
		return newClosedLoop(s, sources)
	}
	heads, live := make([]Arrival, len(sources)), make([]bool, len(sources))
	for i, source := range sources {
		heads[i], live[i] = source.Next()
	}
	return sourceFunc(func() (Arrival, bool) {
		first := -1
		for i := range heads {
			if live[i] && (first < 0 || heads[i].At < heads[first].At) {
				first = i
			}
		}
		if first < 0 {
			return Arrival{}, false
		}
		a := heads[first]
		heads[first], live[first] = sources[first].Next()
		return a, true
	})
}

// sourceFunc is a function as a Source.
type sourceFunc func() (Arrival, bool)

// Next implements Source.
func (f sourceFunc) Next() (Arrival, bool) { return f() }

// poisson makes independent arrivals a mean gap of microseconds apart. Its time is a float so that gaps
// below a microsecond do not pile up at one instant.
func poisson(random *rand.Rand, at, gap float64, cost int64) sourceFunc {
	return func() (Arrival, bool) {
		at += random.ExpFloat64() * gap
		return Arrival{At: limiter.Instant(at), Cost: cost}, true
	}
}

// steady makes one arrival every gap of microseconds.
func steady(at, gap float64, cost int64) sourceFunc {
	at -= gap
	return func() (Arrival, bool) {
		at += gap
		return Arrival{At: limiter.Instant(at), Cost: cost}, true
	}
}

// onOff runs a stream from 0 on a clock that stands still while it is off.
func onOff(next sourceFunc, from, on, period limiter.Instant) sourceFunc {
	return func() (Arrival, bool) {
		a, ok := next()
		a.At = from + a.At/on*period + a.At%on
		return a, ok
	}
}

// bursts makes n arrivals in each period, over so many microseconds of it.
func bursts(random *rand.Rand, at, period limiter.Instant, n int, spread float64, cost int64) sourceFunc {
	var batch []limiter.Instant // what is left of the present burst
	return func() (Arrival, bool) {
		if n == 0 {
			return Arrival{}, false
		}
		if len(batch) == 0 {
			for range n {
				batch = append(batch, at+limiter.Instant(random.Float64()*spread))
			}
			slices.Sort(batch)
			at += period
		}
		a := Arrival{At: batch[0], Cost: cost}
		batch = batch[1:]
		return a, true
	}
}

// adversary aims at what window counters forget. It sends a burst in the last moment of a
// window and another in the last moment of the next one, when the first has almost no
// weight left though it is still less than a window old; then it lets two windows pass.
func adversary(t Traffic, s Setup, from limiter.Instant, cost int64) sourceFunc {
	w, n := limiter.Instant(s.Limit.Window/time.Microsecond), t.Burst
	n = cmp.Or(n, int(min(s.Limit.Count, 1_000_000)))
	lead := min(max(micros(t.SpreadMS), 1), max(w/4, 1))
	edge, left, second := from.Floor(s.Limit.Window)+w, n, false
	return func() (Arrival, bool) {
		if n == 0 {
			return Arrival{}, false
		}
		if left == 0 {
			if second {
				edge += 3 * w
			}
			second, left = !second, n
		}
		left--
		at := edge - lead
		if second { // one lead before the first burst turns a window old
			at += w - lead
		}
		return Arrival{At: at, Cost: cost}, true
	}
}

// until ends a source at an instant.
func until(s Source, end limiter.Instant) sourceFunc {
	return func() (Arrival, bool) {
		a, ok := s.Next()
		return a, ok && a.At < end
	}
}
