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

	"ratescope/internal/backoff"
	"ratescope/limiter"
)

// Writes ranks keys by how often they are written: a Sketch that a Sampler of the server's
// writes fills while Run runs. It is made by NewWrites; its methods are safe for concurrent
// use.
type Writes struct {
	o WritesOptions

	strained atomic.Bool

	mu     sync.Mutex
	sketch *Sketch
	raw    map[string]string // limiter → a key of it that was written
	weight float64           // of an event in the latest moment
	duty   float64           // share of the time that is listened to, smoothed
	spent  time.Duration     // not told yet
	lack   error
}

// WritesOptions says what to listen for. All but Name and Now have useful zero values.
type WritesOptions struct {
	// Share of the server's time that listening may take; 0 means a quarter of a percent.
	Share float64
	// Prefixes of the keys that matter, of which none begins another; none means all keys.
	Prefixes []string
	// Name returns the limiter that a key belongs to, and false for keys that do not matter.
	Name func(key string) (limiter string, ok bool)
	// Now is the server's clock.
	Now func() limiter.Instant
}

// Sizes of the ranking.
const (
	capacity   = 1024             // keys: an error of at most a thousandth of all writes
	halfLife   = 10 * time.Second // of what was heard
	mostEvents = 20_000           // of one moment that are kept one by one
	refusedFor = time.Minute      // after a refusal
	brokenFor  = time.Second      // after a connection that broke
)

// NewWrites returns a ranking that knows nothing yet.
func NewWrites(o WritesOptions) *Writes {
	if o.Share <= 0 {
		o.Share = 0.0025
	}
	return &Writes{o: o, sketch: NewSketch(capacity, halfLife), raw: make(map[string]string)}
}

// Run listens to every node that nodes names, one after the other and again and again,
// until ctx ends. nodes is called before each turn, because the nodes of a cluster come and
// go; their clients must speak RESP3. hear, when not nil, is called after every moment.
func (w *Writes) Run(ctx context.Context, nodes func(context.Context) []*redis.Client, sampled func()) {
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
		wait := longestPeriod
		if len(turn) == 0 {
			wait = period
		}
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
			if sampled != nil {
				sampled()
			}
		}
		if backoff.Sleep(ctx, max(wait, time.Millisecond)) != nil {
			return
		}
	}
}

// nodeSampler is an Ear with its own rhythm.
type nodeSampler struct {
	*Sampler
	dutyCycle
	begun time.Time // of the moment before
	due   time.Time
}

// sample has one moment and returns how long to wait for the next.
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
	// What was heard in a moment stands for all the time since the moment before.
	weight := 1.0
	if !e.begun.IsZero() {
		weight = float64(begun.Sub(e.begun)) / float64(lasted)
	} else {
		weight = float64(lasted+silence) / float64(lasted)
	}
	w.take(keys, max(weight, 1)*float64(events)/float64(max(len(keys), 1)), cost)
	w.mu.Lock()
	w.duty += (1/max(weight, 1) - w.duty) / 4
	w.mu.Unlock()
	e.begun, e.due = begun, time.Now().Add(silence)
	return silence
}

// take adds the keys of one moment, each of which stands for weight writes.
func (w *Writes) take(keys []string, weight float64, cost time.Duration) {
	now := w.o.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lack = nil
	w.spent += cost
	if len(keys) > 0 {
		w.weight = weight
	}
	if len(w.raw) > 4*capacity {
		clear(w.raw) // the hot ones are heard again at once
	}
	for _, k := range keys {
		name, ok := w.o.Name(k)
		if !ok {
			continue
		}
		w.sketch.Add(name, weight, now)
		if len(k) <= LongestKey {
			w.raw[name] = k
		}
	}
}

// Written is a limiter that is written often.
type Written struct {
	Name string // of the limiter
	Key  string // a Redis key of it that was written; "" when it is not known any more
	// Rate is in writes a second, and Err is how far it may be off either way: the bound of
	// the sketch and two standard errors of the sampling.
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
		// Each of the events that were heard counts for weight of them, as in a sample by
		// chance: the variance of their sum is count × (weight - 1).
		chance := 2 * math.Sqrt(h.Count*max(w.weight-1, 0))
		top[i] = Written{Name: h.Key, Key: w.raw[h.Key], Rate: h.Count / span, Err: (h.Err + chance) / span}
	}
	return top
}

// Sampling says what listening amounts to: how many writes a second there are in all, the most that
// a key outside the ranking can have, and the share of the time that was listened to.
func (w *Writes) Sampling() (rate, bound, duty float64) {
	now := w.o.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	span := w.sketch.Span(now).Seconds()
	if span < firstSample.Seconds() {
		return 0, 0, w.duty
	}
	return w.sketch.Total(now) / span, w.sketch.Count("", now).Err / span, w.duty
}

// strainedPart is what is left of the share while the server is strained.
const strainedPart = 0.2

// Strain says whether the server has hardly any time to spare: it is then listened to less.
func (w *Writes) Strain(yes bool) { w.strained.Store(yes) }

// share returns the part of the server's time, 0 to 1, that listening may take.
func (w *Writes) share() float64 {
	if w.strained.Load() {
		return strainedPart * w.o.Share
	}
	return w.o.Share
}

// Cost returns what listening took of the server since the call before.
func (w *Writes) Cost() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.spent
	w.spent = 0
	return d
}

// Lack says why writes cannot be listened to; nil when they can, or when it is not known yet.
func (w *Writes) Lack() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lack
}
