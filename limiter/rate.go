package limiter

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// A rate is a number of microseconds between two units, kept as a fraction: most rates
// have no whole one, and the seventh of a second that is dropped on every request makes
// a limit of 7 a second one of 7.000007.
type rate struct {
	num, den int64 // microseconds = num/den; both 1 or more
}

// moment is us + part/den microseconds, 0 <= part < den of the rate it belongs to.
type moment struct{ us, part int64 }

// beyond is later than any moment that matters, and far from overflow when added to.
const beyond = 1 << 60

// emission returns the interval T = W/L of a limit whose count is 1 or more.
func (a *asked) emission() rate { return rate{num: a.w, den: max(a.limit.Count, 1)} }

// burst is how much a key can take at once.
func (l Limit) burst() int64 {
	if l.Burst > 0 {
		return l.Burst
	}
	return l.Count
}

// reduced divides what num and den have in common, which keeps Lua's products small.
func (r rate) reduced() rate {
	a, b := r.num, r.den
	for b != 0 {
		a, b = b, a%b
	}
	return rate{num: r.num / a, den: r.den / a}
}

// times returns k intervals.
func (r rate) times(k int64) moment {
	switch {
	case k <= 0:
		return moment{}
	case k == r.den: // a burst of the limit itself
		return moment{us: min(r.num, beyond)}
	}
	high, low := bits.Mul64(uint64(k), uint64(r.num))
	if high == 0 {
		q := low / uint64(r.den)
		return moment{us: int64(min(q, beyond)), part: int64(low - q*uint64(r.den))}
	}
	if high >= uint64(r.den) {
		return moment{us: beyond}
	}
	q, rest := bits.Div64(high, low, uint64(r.den))
	return moment{us: int64(min(q, beyond)), part: int64(rest)}
}

// count returns how many intervals fit into m, a begun one included.
func (r rate) count(m moment) int64 {
	q, rest := r.divide(m)
	if rest > 0 {
		q++
	}
	return int64(min(q, math.MaxInt64))
}

// divide returns how many whole intervals fit into m, and what is left of it in parts of a
// microsecond.
func (r rate) divide(m moment) (q, rest uint64) {
	if m.us < 0 {
		return 0, 0
	}
	high, low := bits.Mul64(uint64(m.us), uint64(r.den))
	low, carry := bits.Add64(low, uint64(m.part), 0)
	high += carry
	switch {
	case high == 0:
		q = low / uint64(r.num)
		return q, low - q*uint64(r.num)
	case high >= uint64(r.num):
		return math.MaxInt64, 0
	}
	return bits.Div64(high, low, uint64(r.num))
}

// parts returns so many parts of a microsecond as a moment.
func (r rate) parts(n uint64) moment {
	us := n / uint64(r.den)
	return moment{us: int64(us), part: int64(n - us*uint64(r.den))}
}

func (r rate) add(a, b moment) moment {
	m := moment{us: a.us + b.us, part: a.part + b.part}
	if m.part >= r.den {
		m.us, m.part = m.us+1, m.part-r.den
	}
	m.us = min(m.us, beyond)
	return m
}

// sub returns a - b; its us is negative when b is later.
func (r rate) sub(a, b moment) moment {
	m := moment{us: a.us - b.us, part: a.part - b.part}
	if m.part < 0 {
		m.us, m.part = m.us-1, m.part+r.den
	}
	return m
}

// kept reads the moment that a state keeps: x parts of y of a microsecond after at.
func (r rate) kept(k words) moment {
	if k.y != r.den {
		return r.rescaled(k)
	}
	return moment{us: int64(k.at), part: k.x}
}

// rescaled reads one that was kept with another denominator. It rounds up: a limit that
// changes must not free anything early.
func (r rate) rescaled(k words) moment {
	m := moment{us: int64(k.at)}
	if k.x == 0 {
		return m
	}
	high, low := bits.Mul64(uint64(k.x), uint64(r.den))
	q, rest := bits.Div64(high, low, uint64(k.y))
	if rest > 0 {
		q++
	}
	return r.add(m, moment{part: int64(q)})
}

// ceil returns m in whole microseconds, rounded up, so that waiting that long is enough.
func (m moment) ceil() time.Duration {
	us := m.us
	if m.part > 0 {
		us++
	}
	return span(min(max(us, 0), int64(math.MaxInt64/time.Microsecond)))
}

// checkRange says what is wrong with the burst of a limit for an algorithm that counts
// in intervals.
func (l Limit) checkRange(alg Algorithm, c Convention) error {
	if l.Count == 0 {
		return nil
	}
	a := asked{limit: l, w: l.micros(), c: c, alg: alg}
	f := a.refill()
	const century = 100 * 366 * 24 * 3600 * 1_000_000
	if f.times(f.steps(l.burst())).us > century {
		return fmt.Errorf("%w: a burst of %d at %d in %v takes more than a century to come back: use a smaller burst", ErrBadRequest, l.burst(), l.Count, l.Window)
	}
	return nil
}

// checkExact says what is wrong with it for Lua, where everything that is multiplied has
// to stay a whole number in a double.
func (l Limit) checkExact(alg Algorithm, c Convention) error {
	if err := l.checkRange(alg, c); err != nil || l.Count == 0 {
		return err
	}
	a := asked{limit: l, w: l.micros(), c: c, alg: alg}
	f := a.refill()
	if high, low := bits.Mul64(uint64(f.steps(l.burst())), uint64(f.reduced().den)); high > 0 || low > 1<<53 {
		return fmt.Errorf("%w: %d in %v with a burst of %d is too fine to count exactly on Redis: use a rounder limit, or a smaller burst", ErrBadRequest, l.Count, l.Window, l.burst())
	}
	return nil
}
