package hotkeys

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/model/collect"
)

// Writes ranks limiters by how often their keys are written: a Sketch that the samples taken by
// Run fill. Use NewWrites to make one. Its methods are safe for concurrent use.
type Writes struct {
	o WritesOptions

	strained atomic.Bool  // the server is almost saturated
	spent    atomic.Int64 // server time since the last call of Cost, in ns

	mu     sync.Mutex
	sketch *Sketch
	raw    map[string]string // limiter → one of its keys that was written
	weight float64           // writes that one event of the latest sample stands for
	duty   float64           // share of the time that samples cover, smoothed
	lack   error             // why there are no samples
}

// WritesOptions says what to listen for. All but Prefixes are required.
type WritesOptions struct {
	// Share is the share of the server's time that listening may take.
	Share float64
	// Prefixes restricts listening to keys with one of these prefixes, none of which may begin with another; none means all keys.
	Prefixes []string
	// Name returns the limiter that a key belongs to, and false for keys to be ignored.
	Name func(key string) (limiter string, ok bool)
	// Now is the server's clock.
	Now func() limiter.Instant
}

// Sizes of the ranking.
const (
	capacity   = 1024             // limiters: an error of at most a thousandth of all writes
	halfLife   = 10 * time.Second // of the counts
	mostEvents = 20_000           // events of one sample that are kept; the others raise their weight
	refusedFor = time.Minute      // pause after a refusal
	brokenFor  = time.Second      // pause after a connection that broke
)

// NewWrites returns an empty ranking.
func NewWrites(o WritesOptions) *Writes {
	return &Writes{o: o, sketch: NewSketch(capacity, halfLife), raw: make(map[string]string)}
}

// Run samples the nodes that nodes returns, one after the other and again and again, until ctx ends. nodes is called before each turn,
// because the nodes of a cluster change; their clients must speak RESP3.
func (w *Writes) Run(ctx context.Context, nodes func(context.Context) []*redis.Client) {
	samplers := make(map[*redis.Client]*nodeSampler)
	defer func() {
		for _, e := range samplers {
			e.Close()
		}
	}()
	for ctx.Err() == nil {
		turn := nodes(ctx)
		for c, e := range samplers {
			if !slices.Contains(turn, c) {
				e.Close()
				delete(samplers, c)
			}
		}
		wait := collect.If(len(turn) == 0, period, longestPeriod)
		for _, node := range turn {
			e := samplers[node]
			if e == nil {
				e = &nodeSampler{Sampler: NewSampler(node, w.o.Prefixes), dutyCycle: dutyCycle{share: w.o.Share}}
				samplers[node] = e
			}
			if left := time.Until(e.due); left > 0 {
				wait = min(wait, left)
				continue
			}
			wait = min(wait, w.sample(ctx, e))
		}
		if goroutine.Sleep(ctx, max(wait, time.Millisecond)) != nil {
			return
		}
	}
}

// nodeSampler is the Sampler of a node with the node's own duty cycle.
type nodeSampler struct {
	*Sampler
	dutyCycle
	begun time.Time // start of the previous sample; zero for none
	due   time.Time // the next sample
}

// sample takes one sample and returns how long to wait for the next.
func (w *Writes) sample(ctx context.Context, e *nodeSampler) time.Duration {
	var keys []string
	e.share = w.share()
	begun := time.Now()
	lasted, events, err := e.Sample(ctx, e.length(), func(key string) {
		if len(keys) < mostEvents {
			keys = append(keys, key)
		}
	})
	if err != nil {
		pause := brokenFor
		if errors.Is(err, ErrNoTracking) {
			pause = refusedFor
			w.mu.Lock()
			w.lack = err
			w.mu.Unlock()
		}
		e.begun, e.due = time.Time{}, time.Now().Add(pause)
		return pause
	}
	cost, silence := e.record(lasted, events)
	// A sample stands for the whole time since the start of the previous one.
	whole := lasted + silence
	if !e.begun.IsZero() {
		whole = begun.Sub(e.begun)
	}
	weight := max(float64(whole)/float64(lasted), 1)
	w.take(keys, weight*float64(events)/float64(max(len(keys), 1)), cost)
	w.mu.Lock()
	w.duty += (1/weight - w.duty) / 4
	w.mu.Unlock()
	e.begun, e.due = begun, time.Now().Add(silence)
	return silence
}

// take adds the keys of one sample, each of which stands for weight writes.
func (w *Writes) take(keys []string, weight float64, cost time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lack = nil
	w.spent.Add(int64(cost))
	if len(keys) > 0 {
		w.weight = weight
	}
	for _, k := range keys {
		w.add(k, weight)
	}
}

// Heard adds the keys that were written, each with how often, since the previous call: all of them, so that no sample is needed.
func (w *Writes) Heard(keys map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lack, w.weight, w.duty = nil, 1, 1
	for k, n := range keys {
		w.add(k, float64(n))
	}
}

// add adds n writes of a key.
func (w *Writes) add(key string, n float64) {
	name, ok := w.o.Name(key)
	if !ok {
		return
	}
	if len(w.raw) > 4*capacity {
		clear(w.raw) // hot keys come again in the next sample
	}
	if w.sketch.Add(name, n, w.o.Now()); len(key) <= LongestKey {
		w.raw[name] = key
	}
}

// Written is a limiter that is written often.
type Written struct {
	Name string // of the limiter
	Key  string // one of its Redis keys that was written; "" if it is no longer known
	// Rate is in writes a second. Err is its possible error in either direction: the bound of
	// the sketch plus two standard errors of the sampling.
	Rate, Err float64
}

// Top returns the n limiters that are written most often, the most often first.
func (w *Writes) Top(n int) []Written {
	now := w.o.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	span := w.sketch.Span(now).Seconds()
	if span < firstSample.Seconds() {
		return nil
	}
	hits := w.sketch.Top(n, now)
	top := make([]Written, len(hits))
	for i, h := range hits {
		// Each event stands for weight writes, as in a random sample, in which the variance of the sum is count × (weight - 1).
		chance := 2 * math.Sqrt(h.Count*max(w.weight-1, 0))
		top[i] = Written{Name: h.Key, Key: w.raw[h.Key], Rate: h.Count / span, Err: (h.Err + chance) / span}
	}
	return top
}

// Sampling returns the writes a second of all keys, the greatest possible rate of a limiter
// outside the ranking, and the share of the time that samples cover.
func (w *Writes) Sampling() (rate, bound, duty float64) {
	now := w.o.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	span := w.sketch.Span(now).Seconds()
	if span < firstSample.Seconds() {
		return 0, 0, w.duty
	}
	return w.sketch.Total(now) / span, w.sketch.Missed(now) / span, w.duty
}

// strainedPart is the part of the share that is left while the server is almost saturated.
const strainedPart = 0.2

// Strain sets whether the server is almost saturated. Samples are then shorter or rarer.
func (w *Writes) Strain(yes bool) { w.strained.Store(yes) }

// share returns the part of the server's time, 0 to 1, that listening may take.
func (w *Writes) share() float64 {
	if w.strained.Load() {
		return strainedPart * w.o.Share
	}
	return w.o.Share
}

// Cost returns the server time that listening took since the previous call.
func (w *Writes) Cost() time.Duration { return time.Duration(w.spent.Swap(0)) }

// Lack returns the error because of which writes cannot be listened to; nil when they can, or when it is not known yet.
func (w *Writes) Lack() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lack
}
