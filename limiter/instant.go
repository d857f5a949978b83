package limiter

import "time"

// Instant is a moment on a store's clock, in whole microseconds since the Unix
// epoch. It is an integer so that the arithmetic in Go and in Lua (whose numbers
// are doubles, exact up to 2^53, which is the year 2255) agrees to the last digit.
// The zero Instant is the epoch itself; where it can mean "not known", the field
// that holds it says so.
type Instant int64

// InstantOf converts t, dropping what is finer than a microsecond.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMicro()) }

// Add returns the instant d later (earlier when d is negative).
func (t Instant) Add(d time.Duration) Instant { return t + Instant(d/time.Microsecond) }

// Sub returns how long after u the instant t is; negative when it is before.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t-u) * time.Microsecond }

// Time returns t as a time.Time in UTC.
func (t Instant) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// Millis returns t in whole milliseconds since the epoch, rounded down.
func (t Instant) Millis() int64 { return floorDiv(int64(t), 1000) }

// Floor returns the latest multiple of d since the epoch that is not after t: the
// start of the clock-aligned window of length d that holds t. A d below one
// microsecond leaves t as it is.
func (t Instant) Floor(d time.Duration) Instant {
	w := int64(d / time.Microsecond)
	if w <= 0 {
		return t
	}
	return Instant(floorDiv(int64(t), w) * w)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// asSpan reads t as a length of time.
func (t Instant) asSpan() time.Duration { return span(int64(t)) }

// wall and systemClock are the one place where this package looks at a clock.
func wall() time.Time { return time.Now() }

// systemClock counts from a monotonic reading, which is cheaper than the wall clock and
// never jumps.
type systemClock struct {
	start time.Time
	base  Instant
}

func newSystemClock() systemClock {
	start := wall()
	return systemClock{start, InstantOf(start)}
}

func (c *systemClock) now() Instant { return c.base.Add(time.Since(c.start)) }
