package model

import (
	"cmp"
	"math"
	"sort"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
)

// Forecast is the result of firing requests if no other client sends any. If other clients do, and
// all requests cost 1, no more are admitted than Admitted. Fewer are admitted by at most the number
// of other clients' requests that are admitted before the last one of the order.
type Forecast struct {
	Known     bool // false when the limit or the state is not known
	Admitted  int
	Denied    int
	Remaining int64         // after the last request
	Next      time.Duration // from the last request until one more of the same cost is admitted; limiter.Never is never
}

// terms returns the limit of a reading over its window; ok is false where no decision can be worked out.
func (r *Reading) terms() (limit limiter.Limit, ok bool) {
	t := &r.Target
	limit = t.Limit
	limit.Window = t.Window
	return limit, r.Err == "" && t.LimitKnown && t.Window > 0 && t.Algorithm != limiter.Unknown
}

// ForecastOrder plays the requests of an order against a copy of the state, from now on and at the
// instants at which they are due, and returns that state too.
func (r *Reading) ForecastOrder(now limiter.Instant, s Order) (Forecast, limiter.State) {
	limit, ok := r.terms()
	state := r.State.Clone()
	switch {
	case !ok:
		return Forecast{}, state
	case s.Rate == 0 && s.Shape.Kind == Even || r.stuck():
		return r.forecast(now.Add(s.Shape.Wait), cmp.Or(s.N, MaxRequests), s.Cost)
	}
	f, at := Forecast{Known: true}, now
	for due := range s.Due() {
		at = now.Add(due)
		f.add(state.Take(at, limit, r.Target.Convention, s.Cost))
	}
	f.Next = state.Peek(at, limit, r.Target.Convention, s.Cost).RetryAfter
	return f, state
}

// add adds the decision about one request.
func (f *Forecast) add(d limiter.Decision) {
	if f.Remaining = d.Remaining; d.Allowed {
		f.Admitted++
	} else {
		f.Denied++
	}
}

// Forecast plays n requests of the given cost at now against a copy of the state.
func (r *Reading) Forecast(now limiter.Instant, n int, cost int64) Forecast {
	f, _ := r.forecast(now, n, cost)
	return f
}

func (r *Reading) forecast(now limiter.Instant, n int, cost int64) (Forecast, limiter.State) {
	limit, ok := r.terms()
	s, c := r.State.Clone(), r.Target.Convention
	if !ok {
		return Forecast{}, s
	}
	stuck := r.stuck()
	if stuck {
		s.Start = now
	}
	f := Forecast{Known: true}
	if c.Rule == convention.Fits && cost > 0 && n > 1 && cost <= limiter.MaxCount/int64(n) {
		// At one instant, requests that are admitted one by one are admitted together too, so that a
		// large burst needs only a few decisions.
		f.Admitted = sort.Search(n, func(k int) bool { return !s.Peek(now, limit, c, int64(k+1)*cost).Allowed })
		if f.Admitted > 0 {
			f.Remaining = s.Take(now, limit, c, int64(f.Admitted)*cost).Remaining
		}
	}
	for f.Admitted+f.Denied < n {
		d := s.Take(now, limit, c, cost)
		if f.add(d); !d.Allowed && c.Denied == convention.Free { // the state no longer changes: all others are denied too
			f.Denied = n - f.Admitted
		}
	}
	f.Next = s.Peek(now, limit, c, cost).RetryAfter
	if stuck && f.Next > 0 {
		f.Next = limiter.Never
	}
	return f, s
}

// deniedSteps bounds how many requests DeniedIn plays.
const deniedSteps = 2000

// DeniedIn returns after how long a request is denied if requests of cost 1 come evenly at a rate, in
// requests a second. ok is false if none is denied within a window, if a request would be denied
// now, and if the state or the limit is not known. It plays at most deniedSteps requests; if there
// would be more, each stands for several.
func (r *Reading) DeniedIn(now limiter.Instant, rate float64) (after time.Duration, ok bool) {
	t := &r.Target
	limit, known := r.terms()
	if !known || r.Partial || limit.Count <= 0 || !(rate > 0) || len(r.State.Log) > maxPlayed || r.stuck() {
		return 0, false
	}
	s := r.State.Clone()
	total := rate * t.Window.Seconds()
	if !(total < 1e9) {
		return 0, false
	}
	each := max(int64(math.Ceil(total/deniedSteps)), 1)
	if !s.Peek(now, limit, t.Convention, 1).Allowed {
		return 0, false
	}
	step := time.Duration(float64(each) / rate * float64(time.Second))
	for after = step; after <= t.Window; after += step {
		if !s.Take(now.Add(after), limit, t.Convention, each).Allowed {
			return after, true
		}
	}
	return 0, false
}

// maxPlayed is the longest log that DeniedIn copies.
const maxPlayed = 20_000
