package model

import (
	"slices"
	"time"

	"ratescope/limiter"
)

// Forecast is what firing would do if nobody else sent anything.
type Forecast struct {
	Known     bool // false when the limit or the state is not known
	Admitted  int
	Denied    int
	Remaining int64         // after the last request
	Next      time.Duration // until one more of the same cost is admitted, afterwards; limiter.Never never
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
	f := Forecast{Known: true}
	for i := range n {
		d := s.Take(now, limit, t.Convention, cost)
		f.Remaining = d.Remaining
		if d.Allowed {
			f.Admitted++
			continue
		}
		if t.Convention.Denied == limiter.Free { // nothing changes any more: so are the rest
			f.Denied += n - i
			break
		}
		f.Denied++
	}
	f.Next = s.Peek(now, limit, t.Convention, cost).RetryAfter
	return f
}
