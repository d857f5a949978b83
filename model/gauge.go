package model

import (
	"math"
	"slices"
	"time"

	"ratescope/limiter"
)

// NearLimit is the utilization from which a key counts as close to its limit.
const NearLimit = 0.8

// Gauge is a Reading worked out at one instant: every number that a screen or the
// JSON output shows about a key. It moves with the instant, also between readings.
type Gauge struct {
	Used        Count
	Remaining   Count   // known when the limit is known and above 0
	Utilization float64 // used/limit, 0 or more; meaningful when Remaining.Known

	// The clock-aligned windows around the instant, and the weighted counter over them.
	// Start and End are zero when the window is not known.
	Start, End   limiter.Instant
	Previous     Count
	Current      Count
	Weight       float64 // of previous, 0..1
	Estimate     float64 // known when Previous is
	Exact        Count   // the true count in the sliding window
	Rate         float64 // requests a second over the last window; RateKnown says if it means anything
	RateKnown    bool
	Recent       float64 // requests a second over RecentSpan, where they were watched: a Board's alone
	RecentKnown  bool
	NextKnown    bool
	Next         time.Duration // until one request of cost 1 is admitted; 0 now, limiter.Never never
	Reset        time.Duration // until the key is as new; limiter.Never never
	Stuck        bool          // the window began with its first request and has no expiry: it never ends
	TAT          limiter.Instant
	Level        float64 // buckets: tokens left or water level at the instant
	BlockedFor   time.Duration
	DeniedPerSec float64 // recorded denials a second over the last window, when Denied.Known
	DeniedInW    Count
	Likely       bool // nothing but the form of its value says that the key is a limiter
}

// Gauge works r out at now.
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
		g.Used = Count{Known: r.State.Log != nil || r.Type == "none", N: total(r.State.Log)}
		return g
	}
	limit := t.Limit
	limit.Window = w
	if !t.LimitKnown {
		limit.Count = 0
	}
	state := r.State
	if g.Stuck = r.stuck(); g.Stuck {
		state.Start = now // no instant is beyond its end
	}
	seen := now // by the limiter's own clock
	if t.Tick > 0 {
		seen = now.Floor(t.Tick)
	}
	d := state.Peek(seen, limit, t.Convention, 0)
	if r.Partial {
		g.Used.N = d.Used // at least; not known
		r.block(&g, now)
		return g
	}
	g.Used = Count{true, d.Used}
	g.Start, g.End = d.Start, d.End
	g.Weight, g.Estimate = d.Weight, d.Estimate
	g.Reset = t.from(now, seen, d.ResetAfter)
	switch t.Algorithm.Kind() {
	case limiter.KindArrival:
		g.TAT = r.State.TAT
	case limiter.KindBucket:
		g.Level = float64(d.Remaining)
	case limiter.KindWindow:
		g.Current, g.Previous = Count{true, d.Current}, Count{r.PreviousKnown, d.Previous}
		if t.Convention.Alignment == limiter.AlignEpoch { // it forgets; the weighted counter would not
			g.Weight = float64(d.End.Sub(now)) / float64(w)
			g.Estimate = math.Floor(float64(d.Previous)*g.Weight) + float64(d.Current)
		}
	default:
		g.Current = Count{true, d.Current}
		g.Previous = Count{r.PreviousKnown, d.Previous}
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
		capacity := Capacity(t)
		g.Remaining = Count{true, d.Remaining}
		g.Utilization = float64(d.Used) / float64(capacity)
		g.Next, g.NextKnown = t.from(now, seen, state.Peek(seen, limit, t.Convention, 1).RetryAfter), true
		if g.Stuck && g.Next > 0 {
			g.Next = limiter.Never
		}
	} else if t.LimitKnown {
		g.NextKnown = true
	}
	r.block(&g, now)
	if r.Denied.Known {
		g.DeniedPerSec = float64(r.Denied.N) / w.Seconds()
	}
	return g
}

// block takes a block into account: until its end nothing is admitted, whatever the limit is.
func (r *Reading) block(g *Gauge, now limiter.Instant) {
	if r.State.BlockedUntil <= now {
		return
	}
	g.BlockedFor = r.State.BlockedUntil.Sub(now)
	g.Next, g.NextKnown = max(g.Next, g.BlockedFor), true
	if g.Remaining.Known {
		g.Remaining.N = 0
	}
}

// from returns how long after now it is until a wait is over that began at seen, when the clock
// of the limiter has reached its end.
func (t *Target) from(now, seen limiter.Instant, wait time.Duration) time.Duration {
	if t.Tick <= 0 || wait <= 0 || wait >= limiter.MaxWindow {
		return wait
	}
	end := seen.Add(wait + t.Tick - time.Microsecond).Floor(t.Tick)
	return max(end.Sub(now), 0)
}

// gaugeUntil works out a fixed window of which only the end is known: what it has counted counts
// until then.
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
		g.Used.N = used // at least; not known
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

// stuck says that r is of a window that began with its first request and never ends, because
// no expiry was set: an INCR whose EXPIRE was lost. What it has counted, it keeps.
func (r *Reading) stuck() bool {
	t := &r.Target
	return t.Algorithm == limiter.FixedWindow && t.Convention.Alignment == limiter.AlignFirstRequest &&
		r.TTL == Forever && r.Ends == 0 && r.State.Current > 0
}

// Capacity is what used is measured against: the limit's count, or the burst where
// the algorithm admits bursts.
func Capacity(t Target) int64 {
	if t.Algorithm.Bursts() && t.Limit.Burst > 0 {
		return t.Limit.Burst
	}
	return t.Limit.Count
}

// Pace returns the requests a second of the latest seconds, or, where they are not known, of
// the last window.
func (g *Gauge) Pace() (perSecond float64, known bool) {
	if g.RecentKnown {
		return g.Recent, true
	}
	return g.Rate, g.RateKnown
}

// Throttled says that a request of cost 1 would not be admitted now. It is false for a key that
// is only likely to be a limiter: no verdict is given about it.
func (g *Gauge) Throttled() bool { return !g.Likely && g.NextKnown && g.Next != 0 }

// Near says that the key is at or above NearLimit of its limit. It is false for a key that is
// only likely to be a limiter.
func (g *Gauge) Near() bool { return !g.Likely && g.Remaining.Known && g.Utilization >= NearLimit }

// rate is the requests a second over the last window: the true count where it is
// known, else the weighted estimate, else what the current window shows so far.
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

func total(log []limiter.Entry) int64 {
	var n int64
	for _, e := range log {
		n += e.Count
	}
	return n
}

// liveIn counts the entries of log that are in the window of length w that ends now.
func liveIn(log []limiter.Entry, now limiter.Instant, w time.Duration, edge limiter.Edge) int64 {
	from := now.Add(-w)
	var n int64
	for i := len(log) - 1; i >= 0; i-- {
		e := log[i]
		if e.At < from || e.At == from && edge == limiter.EdgeHalfOpen {
			break
		}
		if e.At <= now {
			n += e.Count
		}
	}
	return n
}
