package model

import (
	"math"
	"slices"
	"strconv"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/model/collect"
)

// NearLimit is the utilization from which a key counts as close to its limit.
const NearLimit = 0.8

// Gauge holds the numbers that screens and the JSON output show about a key, calculated from a
// Reading at one instant. They change with the instant, also between readings.
type Gauge struct {
	Used        Count
	Remaining   Count   // known when the limit is known and above 0
	Utilization float64 // used/limit, 0 or more; valid if Remaining.Known

	// The clock-aligned windows around the instant, and the weighted counter over them.
	// Start and End are zero if the window is not known.
	Start, End   limiter.Instant
	Previous     Count
	Current      Count
	Weight       float64 // of Previous, 0 to 1
	Estimate     float64 // valid if Previous is known
	Exact        Count   // the true count in the sliding window
	Rate         float64 // requests a second over the last window; valid if RateKnown
	RateKnown    bool
	Recent       float64 // requests a second over RecentSpan; valid if RecentKnown, which only a Board sets
	RecentKnown  bool
	NextKnown    bool
	Next         time.Duration   // until one request of cost 1 is admitted; 0 is now, limiter.Never is never
	Reset        time.Duration   // until nothing is used any more; limiter.Never is never
	Stuck        bool            // the window began with its first request and has no expiry, so that it never ends
	TAT          limiter.Instant // GCRA: the theoretical arrival time
	Level        float64         // buckets: tokens left or water level at the instant
	BlockedFor   time.Duration   // until a block ends; 0 for none
	DeniedInW    Count           // recorded denials in the last window
	Likely       bool            // the key is only likely to be a limiter; see Evidence
	DeniedPerSec Measure         // recorded denials in the latest seconds, which only a Board knows that watched the key for two
}

// Gauge calculates the numbers of r at now.
func (r *Reading) Gauge(now limiter.Instant) Gauge {
	t := r.Target
	g := Gauge{DeniedInW: r.Denied, Likely: t.Evidence == Likely}
	if r.Err != "" {
		return g
	}
	w := t.Window
	if w <= 0 && t.Algorithm == limiter.FixedWindow && (r.Ends > 0 || r.TTL == Forever || r.Type == "none" || r.State.BlockedUntil > 0) {
		r.gaugeUntil(&g, now)
		return g
	}
	if w <= 0 || t.Algorithm == limiter.Unknown {
		units := collect.Sum(r.State.Log, func(e limiter.Entry) int64 { return e.Count })
		g.Used = Count{Known: r.State.Log != nil || r.Type == "none", N: units}
		return g
	}
	limit := t.Limit
	limit.Window = w
	if !t.LimitKnown {
		limit.Count = 0
	}
	state := r.State
	if g.Stuck = r.stuck(); g.Stuck {
		state.Start = now // so that the window has not ended at now
	}
	seen := now.Floor(t.Tick) // by the limiter's own clock
	d := state.Peek(seen, limit, t.Convention, 0)
	if r.Partial {
		g.Used.N = d.Used // a lower bound, and not Known
		r.block(&g, now)
		return g
	}
	g.Used = Count{true, d.Used}
	g.Start, g.End = d.Start, d.End
	g.Weight, g.Estimate = d.Weight, d.Estimate
	g.Reset = t.from(now, seen, d.ResetAfter)
	switch kind := describe.KindOf(t.Algorithm); kind {
	case describe.Arrival:
		g.TAT = r.State.TAT
	case describe.Bucket:
		if g.Level = float64(d.Remaining); t.Foreign() && r.TTL > 0 { // of others a key may go before its bucket is full
			g.Reset = min(g.Reset, max(r.At.Add(r.TTL).Sub(now), 0))
		}
	default:
		g.Current, g.Previous = Count{true, d.Current}, Count{r.PreviousKnown, d.Previous}
		if kind == describe.Window && t.Convention.Alignment == convention.Epoch { // what a weighted counter would make of them
			g.Weight = float64(d.End.Sub(now)) / float64(w)
			g.Estimate = math.Floor(float64(d.Previous)*g.Weight) + float64(d.Current)
		}
	}
	if r.ExactKnown {
		g.Exact = Count{true, liveIn(r.State.Log, now, w, t.Convention.Edge)}
	}
	if g.Stuck {
		g.Start, g.End, g.Reset = 0, 0, limiter.Never
	} else if !slices.Contains(r.Notes, Outlives) {
		g.Rate, g.RateKnown = rate(&g, w, now)
	}
	if t.LimitKnown && limit.Count > 0 {
		g.Remaining, g.Utilization = Count{true, d.Remaining}, float64(d.Used)/float64(Capacity(t))
		g.Next, g.NextKnown = t.from(now, seen, state.Peek(seen, limit, t.Convention, 1).RetryAfter), true
		if g.Stuck && g.Next > 0 {
			g.Next = limiter.Never
		}
	} else if t.LimitKnown {
		g.NextKnown = true
	}
	r.block(&g, now)
	return g
}

// block adds a block to a gauge: nothing is admitted until it ends. Its end may bring back, too, what a count without an expiry denies.
func (r *Reading) block(g *Gauge, now limiter.Instant) {
	if r.State.BlockedUntil <= now {
		return
	}
	g.BlockedFor = r.State.BlockedUntil.Sub(now)
	g.Next, g.NextKnown, g.Stuck = max(g.Next, g.BlockedFor), !g.Stuck, false
	if g.Remaining.Known {
		g.Remaining.N = 0
	}
}

// from converts a wait that begins at seen, by the limiter's own clock, to the time from now until
// that clock has reached the end of the wait.
func (t *Target) from(now, seen limiter.Instant, wait time.Duration) time.Duration {
	if t.Tick <= 0 || wait <= 0 || wait >= limiter.MaxWindow {
		return wait
	}
	end := seen.Add(wait + t.Tick - time.Microsecond).Floor(t.Tick)
	return max(end.Sub(now), 0)
}

// gaugeUntil calculates the gauge of a fixed window of which only the end is known: its count is
// used until then.
func (r *Reading) gaugeUntil(g *Gauge, now limiter.Instant) {
	var used int64
	if r.Ends == 0 || now < r.Ends {
		used = max(r.State.Current, 0)
	}
	defer r.block(g, now)
	if r.Ends > 0 {
		g.Reset = max(r.Ends.Sub(now), 0)
	}
	if r.Partial {
		g.Used.N = used // a lower bound, and not Known
		return
	}
	g.Used, g.Current, g.End = Count{true, used}, Count{true, used}, r.Ends
	g.Stuck = r.Ends == 0 && used > 0
	if !r.Target.LimitKnown || r.Target.Limit.Count == 0 {
		g.NextKnown = r.Target.LimitKnown
		return
	}
	most := r.Target.Limit.Count
	g.Remaining = Count{true, max(most-used, 0)}
	g.Utilization = float64(used) / float64(most)
	if g.NextKnown = true; used >= most {
		if g.Next = g.Reset; g.Stuck {
			g.Next = limiter.Never
		}
	}
}

// stuck reports whether the window of r began with its first request and never ends, because it
// has no expiry: the EXPIRE after an INCR was lost. It keeps its count for ever.
func (r *Reading) stuck() bool {
	t := &r.Target
	return t.Algorithm == limiter.FixedWindow && t.Convention.Alignment == convention.FirstRequest &&
		r.TTL == Forever && r.Ends == 0 && r.State.Current > 0
}

// Capacity returns the number of units that may be used: the limit's count, or its burst if the
// algorithm has one.
func Capacity(t Target) int64 {
	return collect.If(t.Algorithm.Bursts() && t.Limit.Burst > 0, t.Limit.Burst, t.Limit.Count)
}

// Pace returns the requests a second over RecentSpan or, if that is not known, over the last
// window.
func (g *Gauge) Pace() Measure {
	if g.RecentKnown {
		return Measure{true, g.Recent}
	}
	return Measure{g.RateKnown, g.Rate}
}

// Throttled reports whether a request of cost 1 would be denied now. It is false for keys that are
// only likely to be limiters, about which no verdict is given.
func (g *Gauge) Throttled() bool { return !g.Likely && g.NextKnown && g.Next != 0 }

// Whole reports whether the key was read completely, and its limit is known.
func (g *Gauge) Whole() bool { return g.Used.Known && g.Remaining.Known && g.NextKnown }

// AsNew returns the time until nothing is used and no block is left; limiter.Never is never.
func (g *Gauge) AsNew() time.Duration { return max(g.Reset, g.BlockedFor) }

// Near reports whether the key is at or above NearLimit of its limit. It is false for keys that are
// only likely to be limiters.
func (g *Gauge) Near() bool { return !g.Likely && g.Remaining.Known && g.Utilization >= NearLimit }

// rate returns the requests a second over the last window: from the true count if that is known,
// else from the weighted estimate, else from the current window so far.
func rate(g *Gauge, w time.Duration, now limiter.Instant) (perSecond float64, known bool) {
	switch {
	case g.Exact.Known:
		return float64(g.Exact.N) / w.Seconds(), true
	case g.Previous.Known && g.Current.Known:
		return (float64(g.Previous.N)*g.Weight + float64(g.Current.N)) / w.Seconds(), true
	case g.Current.Known:
		if elapsed := now.Sub(g.Start); elapsed > 0 {
			return float64(g.Current.N) / max(elapsed.Seconds(), w.Seconds()/10), true
		}
	}
	return 0, false
}

// liveIn returns the units of log within the window of length w that ends at now.
func liveIn(log []limiter.Entry, now limiter.Instant, w time.Duration, edge convention.Edge) int64 {
	from := now.Add(-w)
	var n int64
	for i := len(log) - 1; i >= 0; i-- {
		e := log[i]
		if e.At < from || e.At == from && edge == convention.HalfOpen {
			break
		}
		if e.At <= now {
			n += e.Count
		}
	}
	return n
}

// WeightedSum is the arithmetic of a weighted counter as text, in which every figure follows from
// those before it as they are printed.
type WeightedSum struct {
	Weight   string // of the previous window, three decimals or more
	Product  string // previous × Weight, one decimal, rounded down
	Rounded  string // Product by the convention; the same where that keeps fractions
	Estimate string // Rounded + current
}

// Whole reports whether the convention leaves Product as it is.
func (s WeightedSum) Whole() bool { return s.Rounded == s.Product || s.Rounded+".0" == s.Product }

// SumOf returns the arithmetic of a gauge, whose Previous and Current are known.
func SumOf(g *Gauge, r convention.Rounding) WeightedSum {
	exact := float64(g.Previous.N) * g.Weight
	const least, most = 3, 15
	for digits := least; digits <= most; digits++ {
		scale := math.Pow10(digits)
		for _, round := range [...]func(float64) float64{math.Round, math.Floor, math.Ceil} {
			weight := round(g.Weight*scale) / scale
			tenths := math.Floor(float64(g.Previous.N)*weight*10 + 1e-6)
			same := r == convention.Exact && tenths == math.Floor(exact*10) ||
				r == convention.Floor && math.Floor(tenths/10) == math.Floor(exact) ||
				r == convention.Nearest && math.Round(tenths/10) == math.Round(exact)
			if same || digits == most {
				return sumOf(strconv.FormatFloat(weight, 'f', digits, 64), tenths, g.Current.N, r)
			}
		}
	}
	return WeightedSum{}
}

func sumOf(weight string, tenths float64, current int64, r convention.Rounding) WeightedSum {
	text := func(tenths float64) string { return strconv.FormatFloat(tenths/10, 'f', 1, 64) }
	s := WeightedSum{Weight: weight, Product: text(tenths)}
	whole := math.Floor(tenths / 10)
	switch r {
	case convention.Exact:
		s.Rounded, s.Estimate = s.Product, text(tenths+float64(current)*10)
		return s
	case convention.Nearest:
		whole = math.Round(tenths / 10)
	}
	s.Rounded, s.Estimate = strconv.FormatFloat(whole, 'f', 0, 64), strconv.FormatFloat(whole+float64(current), 'f', 0, 64)
	return s
}
