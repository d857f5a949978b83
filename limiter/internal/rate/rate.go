// Package rate holds the exact arithmetic of limits that come back evenly: the time
// between two units as a fraction, and instants that are a fraction of a microsecond late.
// Most rates have no whole number of microseconds between two units, and the seventh of a
// second that is dropped on every request makes a limit of 7 a second one of 7.000007.
package rate

import (
	"math"
	"math/bits"
	"time"
)

// Interval is the time between two units: Num/Den microseconds, both 1 or more.
type Interval struct{ Num, Den int64 }

// Moment is US + Part/Den microseconds, 0 <= Part < Den of the interval it belongs to.
type Moment struct{ US, Part int64 }

// Beyond is later than any moment that matters, and far from overflow when added to.
const Beyond = 1 << 60

// Reduced divides by what Num and Den have in common, which keeps Lua's products small.
func (i Interval) Reduced() Interval {
	a, b := i.Num, i.Den
	for b != 0 {
		a, b = b, a%b
	}
	return Interval{Num: i.Num / a, Den: i.Den / a}
}

// Times returns k intervals.
func (i Interval) Times(k int64) Moment {
	switch {
	case k <= 0:
		return Moment{}
	case k == i.Den: // a burst of the limit itself
		return Moment{US: min(i.Num, Beyond)}
	}
	high, low := bits.Mul64(uint64(k), uint64(i.Num))
	if high == 0 {
		q := low / uint64(i.Den)
		return Moment{US: int64(min(q, Beyond)), Part: int64(low - q*uint64(i.Den))}
	}
	if high >= uint64(i.Den) {
		return Moment{US: Beyond}
	}
	q, rest := bits.Div64(high, low, uint64(i.Den))
	return Moment{US: int64(min(q, Beyond)), Part: int64(rest)}
}

// Count returns how many intervals fit into m, a begun one included.
func (i Interval) Count(m Moment) int64 {
	q, rest := i.Divide(m)
	if rest > 0 {
		q++
	}
	return int64(min(q, math.MaxInt64))
}

// Divide returns how many whole intervals fit into m, and the remainder in parts of a
// microsecond.
func (i Interval) Divide(m Moment) (q, rest uint64) {
	if m.US < 0 {
		return 0, 0
	}
	high, low := bits.Mul64(uint64(m.US), uint64(i.Den))
	low, carry := bits.Add64(low, uint64(m.Part), 0)
	high += carry
	switch {
	case high == 0:
		q = low / uint64(i.Num)
		return q, low - q*uint64(i.Num)
	case high >= uint64(i.Num):
		return math.MaxInt64, 0
	}
	return bits.Div64(high, low, uint64(i.Num))
}

// Parts returns n parts of a microsecond as a moment.
func (i Interval) Parts(n uint64) Moment {
	us := n / uint64(i.Den)
	return Moment{US: int64(us), Part: int64(n - us*uint64(i.Den))}
}

// Add returns a + b, at most Beyond.
func (i Interval) Add(a, b Moment) Moment {
	m := Moment{US: a.US + b.US, Part: a.Part + b.Part}
	if m.Part >= i.Den {
		m.US, m.Part = m.US+1, m.Part-i.Den
	}
	m.US = min(m.US, Beyond)
	return m
}

// Sub returns a - b; its US is negative when b is later.
func (i Interval) Sub(a, b Moment) Moment {
	m := Moment{US: a.US - b.US, Part: a.Part - b.Part}
	if m.Part < 0 {
		m.US, m.Part = m.US-1, m.Part+i.Den
	}
	return m
}

// At returns the moment part/den of a microsecond after us. A fraction with another
// denominator than the interval's is rounded up: a limit that changes must not free
// anything early.
func (i Interval) At(us, part, den int64) Moment {
	if den != i.Den {
		return i.rescaled(us, part, den)
	}
	return Moment{US: us, Part: part}
}

func (i Interval) rescaled(us, part, den int64) Moment {
	m := Moment{US: us}
	if part == 0 {
		return m
	}
	high, low := bits.Mul64(uint64(part), uint64(i.Den))
	q, rest := bits.Div64(high, low, uint64(den))
	if rest > 0 {
		q++
	}
	return i.Add(m, Moment{Part: int64(q)})
}

// Positive reports whether m is more than zero.
func (m Moment) Positive() bool { return m.US > 0 || m.US == 0 && m.Part > 0 }

// Ceil returns m in whole microseconds, rounded up, so that waiting that long is enough.
// A negative m is 0.
func (m Moment) Ceil() time.Duration {
	us := m.US
	if m.Part > 0 {
		us++
	}
	return time.Duration(min(max(us, 0), int64(math.MaxInt64/time.Microsecond))) * time.Microsecond
}
