package model

import (
	"slices"
	"sort"
	"time"

	"ratescope/limiter"
)

// Forecast is what firing would do if there were no other requests.
type Forecast struct {
	Known     bool // false when the limit or the state is not known
	Admitted  int
	Denied    int
	Remaining int64         // after the last request
	Next      time.Duration // until one more of the same cost is admitted, afterwards; limiter.Never never
}

// ForecastShot plays the requests of a shot from now on, when they are due, against a copy of the
// state. Next is counted from its last request.
func (r *Reading) ForecastShot(now limiter.Instant, s Shot) Forecast {
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
