package limiter

import "time"

// wall and systemClock are the one place where this package looks at a clock.
func wall() time.Time { return time.Now() }

// systemClock counts from a monotonic reading, which is cheaper than the wall clock and
// never jumps.
func systemClock() func() Instant {
	start := wall()
	base := InstantOf(start)
	return func() Instant { return base.Add(time.Since(start)) }
}
