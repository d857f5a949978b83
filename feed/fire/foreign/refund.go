package foreign

import (
	"math"
	"strconv"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// Refund computes how units are given back to a limiter that drains, at most those that still
// count. Decision.Cost of the result is the number of units; if it is 0, there are no commands. No
// library has a refund of its own: the values are written in the form that its next request would
// leave.
func (w *Writer) Refund(r *Request, units int64) (Written, error) {
	for i := range r.Held {
		if r.Held[i].Mismatch {
			return Written{}, errHolds
		}
	}
	return w.refund(r, units)
}

// refunded returns the Written for a refund of units.
func refunded(units int64, commands ...[]any) (Written, error) {
	return Written{Commands: commands, Decision: limiter.Decision{Cost: units}}, nil
}

// refundSeconds refunds units of a GCRA that is kept in seconds as a floating-point number.
func refundSeconds(r *Request, units int64) (Written, error) {
	s, l := &r.Held[0], r.limit()
	if !s.Exists() {
		return refunded(0)
	}
	tat, err := strconv.ParseFloat(s.Text, 64)
	if err != nil || math.IsNaN(tat) || math.Abs(tat) > 1e10 {
		return Written{}, errHolds
	}
	now := float64(int64(r.At)/1e6-start2017) + float64(int64(r.At)%1e6)/1e6
	interval := l.Window.Seconds() / float64(l.Count)
	units = min(units, int64(math.Ceil((tat-now)/interval-1e-6)))
	next := tat - interval*float64(units)
	switch {
	case units <= 0:
		return refunded(0)
	case next <= now:
		return refunded(units, []any{"del", s.Key})
	}
	return refunded(units, []any{"set", s.Key, strconv.FormatFloat(next, 'g', 17, 64), "ex", int64(math.Ceil(next - now))})
}

// refundNanoseconds returns a refund for a GCRA of inNanoseconds.
func refundNanoseconds(expire func(wait time.Duration) []any) func(r *Request, units int64) (Written, error) {
	return func(r *Request, units int64) (Written, error) {
		s, l := &r.Held[0], r.limit()
		if !s.Exists() {
			return refunded(0)
		}
		tat, err := strconv.ParseInt(s.Text, 10, 64)
		now, interval := int64(r.At)*1000, int64(l.Window)/l.Count
		if err != nil || tat < 0 || tat > now+int64(2*limiter.MaxWindow) {
			return Written{}, errHolds
		}
		units = min(units, (tat-now+interval-1)/interval)
		next := tat - interval*units
		switch {
		case units <= 0:
			return refunded(0)
		case next <= now:
			return refunded(units, []any{"del", s.Key})
		}
		return refunded(units, append([]any{"set", s.Key, strconv.FormatInt(next, 10)}, expire(time.Duration(next-now))...))
	}
}

// refundTokens refunds tokens to a bucket; the second of its last request and its expiries stay.
func refundTokens(r *Request, units int64) (Written, error) {
	s, full := &r.Held[0], float64(model.Capacity(*r.Target))
	if !s.Exists() {
		return refunded(0)
	}
	tokens, err := strconv.ParseFloat(s.Text, 64)
	if err != nil || math.IsNaN(tokens) || math.Abs(tokens) > limiter.MaxCount {
		return Written{}, errHolds
	}
	if units = min(units, int64(math.Ceil(full-tokens))); units <= 0 {
		return refunded(0)
	}
	return refunded(units, []any{"set", s.Key, strconv.FormatFloat(min(tokens+float64(units), full), 'g', 17, 64), "keepttl"})
}
