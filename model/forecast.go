package model

import (
	"math"
	"slices"
	"sort"
	"time"

	"ratescope/limiter"
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

// ForecastOrder plays the requests of an order against a copy of the state, from now on and at the
// instants at which they are due.
func (r *Reading) ForecastOrder(now limiter.Instant, s Order) Forecast {
	if s.Rate == 0 && s.Shape.Kind == Even || r.stuck() {
		n := s.N
		if n == 0 {
			n = MaxRequests
		}
		return r.Forecast(now.Add(s.Shape.Wait), n, s.Cost)
	}
	t := r.Target
	if r.Err != "" || !t.LimitKnown || t.Window <= 0 || t.Algorithm == limiter.Unknown {
		return Forecast{}
	}
	limit := t.Limit
	limit.Window = t.Window
	state, f, at := r.State.Clone(), Forecast{Known: true}, now
	for due := range s.Due() {
		at = now.Add(due)
		d := state.Take(at, limit, t.Convention, s.Cost)
		if f.Remaining = d.Remaining; d.Allowed {
			f.Admitted++
		} else {
			f.Denied++
		}
	}
	f.Next = state.Peek(at, limit, t.Convention, s.Cost).RetryAfter
	return f
}

// Forecast plays n requests of the given cost at now against a copy of the state.
func (r *Reading) Forecast(now limiter.Instant, n int, cost int64) Forecast {
	t := r.Target
	if r.Err != "" || !t.LimitKnown || t.Window <= 0 || t.Algorithm == limiter.Unknown {
		return Forecast{}
	}
	limit := t.Limit
	limit.Window = t.Window
	s := r.State
	s.Log = slices.Clone(s.Log)
	stuck := r.stuck()
	if stuck {
		s.Start = now
	}
	f := Forecast{Known: true}
	if t.Convention.Rule == limiter.RuleFits && cost > 0 && n > 1 && cost <= limiter.MaxCount/int64(n) {
		// At one instant, requests that are admitted one by one are admitted together too, so that a
		// large burst needs only a few decisions.
		f.Admitted = sort.Search(n, func(k int) bool { return !s.Peek(now, limit, t.Convention, int64(k+1)*cost).Allowed })
		if f.Admitted > 0 {
			f.Remaining = s.Take(now, limit, t.Convention, int64(f.Admitted)*cost).Remaining
		}
	}
	for i := f.Admitted; i < n; i++ {
		d := s.Take(now, limit, t.Convention, cost)
		f.Remaining = d.Remaining
		if d.Allowed {
			f.Admitted++
			continue
		}
		if t.Convention.Denied == limiter.DeniedFree { // the state no longer changes: all others are denied too
			f.Denied += n - i
			break
		}
		f.Denied++
	}
	f.Next = s.Peek(now, limit, t.Convention, cost).RetryAfter
	if stuck && f.Next > 0 {
		f.Next = limiter.Never
	}
	return f
}

// deniedSteps bounds how many requests DeniedIn plays.
const deniedSteps = 2000

// DeniedIn returns after how long a request is denied if requests of cost 1 come evenly at a rate, in
// requests a second. ok is false if none is denied within a window, if a request would be denied
// now, and if the state or the limit is not known. It plays at most deniedSteps requests; if there
// would be more, each stands for several.
func (r *Reading) DeniedIn(now limiter.Instant, rate float64) (after time.Duration, ok bool) {
	t := r.Target
	if r.Err != "" || r.Partial || !t.LimitKnown || t.Limit.Count <= 0 || t.Window <= 0 || t.Algorithm == limiter.Unknown || !(rate > 0) || len(r.State.Log) > maxPlayed || r.stuck() {
		return 0, false
	}
	limit := t.Limit
	limit.Window = t.Window
	s := r.State
	s.Log = slices.Clone(s.Log)
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
