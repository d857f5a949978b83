package model

import (
	"math"
	"slices"
	"sort"
	"time"

	"ratescope/limiter"
)

// Forecast is what firing would do if there were no other requests. Where others send requests
// meanwhile, and all cost 1, never more are admitted than it says, and at most as many fewer as
// requests of others were admitted before the last of the order.
type Forecast struct {
	Known     bool // false when the limit or the state is not known
	Admitted  int
	Denied    int
	Remaining int64         // after the last request
	Next      time.Duration // until one more of the same cost is admitted, afterwards; limiter.Never never
}

// ForecastOrder plays the requests of an order from now on, when they are due, against a copy of the
// state. Next is counted from its last request.
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
		// At one instant what fits one by one fits at once, so that a large burst needs no
		// large number of decisions.
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
		if t.Convention.Denied == limiter.DeniedFree { // nothing changes any more: so are the rest
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

// DeniedIn returns after how long a request is denied if requests of cost 1 go on coming at a
// rate, in requests a second, evenly. ok is false where none is within a window, one is denied
// already, or the state or the limit is not known. It plays at most deniedSteps requests: where
// there would be more, each stands for several.
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
