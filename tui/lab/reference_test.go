package lab_test

import (
	"math/big"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	engine "ratescope/model/lab"
)

// reference decides about requests a second time: in fractions, from the definitions of
// the algorithms, from the beginning for every question. It shares no arithmetic with
// package limiter and none with the lab.
type reference struct {
	candidate engine.Candidate
	terms     limiter.Convention
	limit     limiter.Limit
	skew      int64

	recorded []request // what counts for the algorithm
	admitted []request // what was let through, on the server's clock
	requests []request // all of them

	tally  struct{ admitted, denied, wrongIn, wrongOut, most int64 }
	level  *big.Rat // tokens, water, or the TAT in microseconds
	since  int64    // when level was brought forward
	begun  bool
	anchor int64 // of an interval, or of a window from the first request
}

// request is one request: its microsecond in the story, and its cost.
type request struct{ at, n int64 }

func rat(n int64) *big.Rat { return big.NewRat(n, 1) }

func newReference(c engine.Candidate, s engine.Setup) *reference {
	return &reference{candidate: c, terms: c.Convention(s.Convention), limit: s.Limit, skew: s.Skew.Microseconds(), level: rat(0)}
}

func (r *reference) window() int64 { return r.limit.Window.Microseconds() }

func (r *reference) burst() int64 {
	if r.candidate.Bursts() && r.limit.Burst > 0 {
		return r.limit.Burst
	}
	return r.limit.Count
}

// clone returns a copy to ask questions of.
func (r *reference) clone() *reference {
	c := *r
	c.recorded, c.admitted = slices.Clone(r.recorded), slices.Clone(r.admitted)
	c.level = new(big.Rat).Set(r.level)
	return &c
}

// heard is the time that the algorithm takes a request to come at.
func (r *reference) heard(at int64, number int) int64 {
	switch r.candidate.Fault {
	case engine.CollidingMembers:
		return at - at%1000
	case engine.ClientClock:
		if number%2 == 1 {
			return at + r.skew
		}
	}
	return at
}

// used is what counts at an instant: requests, tokens that are gone, water, or emission
// intervals by which the TAT is ahead.
func (r *reference) used(at int64) *big.Rat {
	w := r.window()
	switch r.candidate.Algorithm {
	case limiter.FixedWindow:
		if r.terms.Alignment == convention.FirstRequest {
			if !r.begun || at-r.anchor >= w {
				return rat(0)
			}
			return rat(r.count(r.anchor, r.anchor+w))
		}
		return rat(r.count(at/w*w, at/w*w+w))
	case limiter.SlidingWindow:
		_, _, _, estimate := r.sliding(at)
		return estimate
	case limiter.SlidingLog, limiter.StreamCounter:
		if r.candidate.Fault == engine.SecondsAsMillis {
			w *= 1000
		}
		from := at - w + 1
		if r.terms.Edge == convention.Closed {
			from--
		}
		return rat(r.count(from, 1<<62))
	case limiter.GCRA:
		ahead := new(big.Rat).Sub(r.level, rat(at))
		if !r.begun || ahead.Sign() < 0 {
			return rat(0)
		}
		return ahead.Mul(ahead, big.NewRat(r.limit.Count, r.window()))
	}
	return r.gone(at)
}

// count sums what was recorded from an instant to before another.
func (r *reference) count(from, to int64) (n int64) {
	for _, q := range r.recorded {
		if q.at >= from && q.at < to {
			n += q.n
		}
	}
	return n
}

// sliding returns what the sliding window counter works with.
func (r *reference) sliding(at int64) (previous, current int64, weight, estimate *big.Rat) {
	w := r.window()
	start := at / w * w
	previous, current = r.count(start-w, start), r.count(start, start+w)
	weight = big.NewRat(start+w-at, w)
	faded := new(big.Rat).Mul(rat(previous), weight)
	switch r.terms.Rounding {
	case convention.Floor:
		faded = rat(new(big.Int).Div(faded.Num(), faded.Denom()).Int64())
	case convention.Nearest:
		faded.Add(faded, big.NewRat(1, 2))
		faded = rat(new(big.Int).Div(faded.Num(), faded.Denom()).Int64())
	}
	return previous, current, weight, new(big.Rat).Add(faded, rat(current))
}

// gone is how much of a bucket is gone, or in it.
func (r *reference) gone(at int64) *big.Rat {
	if !r.begun {
		return rat(0)
	}
	left := new(big.Rat).Set(r.level)
	if r.terms.Refill == convention.Interval && r.candidate.Algorithm == limiter.TokenBucket {
		left.Sub(left, rat((at-r.anchor)/r.window()*r.limit.Count-(r.since-r.anchor)/r.window()*r.limit.Count))
	} else {
		left.Sub(left, big.NewRat((at-r.since)*r.limit.Count, r.window()))
	}
	if left.Sign() < 0 {
		return rat(0)
	}
	return left
}

// fits reports whether a request of cost n is admitted at an instant.
func (r *reference) fits(at, n int64) bool {
	if r.limit.Count == 0 {
		return true
	}
	used := r.used(at)
	if r.terms.Rule == convention.Below && !r.candidate.Bursts() {
		return used.Cmp(rat(r.limit.Count)) < 0
	}
	return used.Add(used, rat(n)).Cmp(rat(r.burst())) <= 0
}

// take decides about a request of cost n.
func (r *reference) take(at, n int64) {
	number := len(r.requests)
	r.requests = append(r.requests, request{at, n})
	heard := r.heard(at, number)
	allowed := r.fits(heard, n)
	own := int64(0)
	for _, q := range r.admitted {
		if age := at - q.at; age < r.window() || age == r.window() && r.terms.Edge == convention.Closed {
			own += q.n
		}
	}
	room := own+n <= r.limit.Count || r.limit.Count == 0
	switch {
	case r.candidate.Bursts() && r.candidate.Fault == engine.NoFault: // promises nothing of a window
	case allowed && !room:
		r.tally.wrongIn++
	case !allowed && room:
		r.tally.wrongOut++
	}
	turn := at
	if r.candidate.Queues() && r.limit.Count > 0 { // it goes on when what is before it has drained
		wait := new(big.Rat).Mul(r.gone(at), big.NewRat(r.window(), r.limit.Count))
		whole, rest := new(big.Int).DivMod(wait.Num(), wait.Denom(), new(big.Int))
		turn += whole.Int64() + int64(rest.Sign())
	}
	if allowed || r.terms.Denied == convention.Charged && !r.candidate.Bursts() {
		r.record(heard, n)
	}
	if !allowed {
		r.tally.denied++
		return
	}
	r.tally.admitted++
	r.admitted = append(r.admitted, request{turn, n})
	var most int64
	for _, q := range r.admitted {
		if turn-q.at < r.window() {
			most += q.n
		}
	}
	r.tally.most = max(r.tally.most, most)
}

// record keeps a request of cost n.
func (r *reference) record(at, n int64) {
	switch {
	case r.limit.Count == 0 && r.candidate.Bursts():
		return
	case r.candidate.Algorithm == limiter.GCRA:
		if tat := rat(at); !r.begun || r.level.Cmp(tat) < 0 {
			r.level = tat
		}
		r.level.Add(r.level, big.NewRat(n*r.window(), r.limit.Count))
	case r.candidate.Bursts():
		used := r.gone(at)
		if used.Sign() == 0 { // as new: an interval begins here
			r.anchor = at
		}
		r.level, r.since = used.Add(used, rat(n)), at
	case r.candidate.Algorithm == limiter.FixedWindow && r.terms.Alignment == convention.FirstRequest:
		if !r.begun || at-r.anchor >= r.window() {
			r.anchor = at
		}
	case r.candidate.Fault == engine.CollidingMembers:
		if last := len(r.recorded) - 1; last >= 0 && r.recorded[last].at == at {
			r.begun = true
			return
		}
	}
	r.recorded, r.begun = append(r.recorded, request{at, n}), true
}

// wait returns the smallest wait after which a request would be admitted, if nothing else
// came: what counts never grows by waiting, so halving finds it.
func (r *reference) wait(at int64) time.Duration {
	heard := r.heard(at, len(r.requests))
	low, high := int64(-1), 3000*r.window()
	for high-low > 1 {
		mid := (low + high) / 2
		if r.fits(heard+mid, 1) {
			high = mid
		} else {
			low = mid
		}
	}
	return time.Duration(high) * time.Microsecond
}

// room is how many more requests fit now.
func (r *reference) room(at int64) (n int64) {
	if r.limit.Count == 0 {
		return 0
	}
	heard := r.heard(at, len(r.requests))
	c := r.clone()
	c.candidate.Fault = engine.NoFault // each in a millisecond of its own
	if r.candidate.Fault == engine.SecondsAsMillis {
		c.limit.Window *= 1000
	}
	for ; c.fits(heard, 1); n++ {
		c.record(heard, 1)
	}
	return n
}
