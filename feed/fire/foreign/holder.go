package foreign

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// Counted is a request that a limiter of counters has counted, and how its keys stand.
type Counted struct {
	Target  *model.Target
	At, Now limiter.Instant   // when it was counted, and now, by the server's clock
	First   bool              // it was the first one that its counter counted
	Expires []limiter.Instant // of the keys of Fetch at that instant; Absent and Immortal are none
}

// What Counted.Expires says of a key that has no instant of expiry.
const (
	Absent   limiter.Instant = -1 // the key does not exist
	Immortal limiter.Instant = 0  // the key never expires
)

// Holder returns which of the keys of Fetch counts a request still, by its place in that list; ok is
// false where none does: its window is over, or the limiter is not one of counters.
func (w *Writer) Holder(c Counted) (n int, ok bool) {
	switch {
	case w.Algorithm != limiter.FixedWindow && w.Algorithm != limiter.SlidingWindow:
		return 0, false
	case w.Named:
		return 0, c.Expires[0] != Absent
	case w.holder != nil:
		return w.holder(c)
	}
	return 0, c.begun(0, window(c.Target))
}

// Anchored reports whether the expiry of the counter is the end of its window, which began with its first
// request.
func (w *Writer) Anchored() bool {
	return w.Algorithm == limiter.FixedWindow && !w.Named && w.holder == nil
}

// begun reports whether the n-th key exists and was made by the time of the request, where it expires so
// long after it was made.
func (c Counted) begun(n int, lives time.Duration) bool {
	expires := c.Expires[n]
	return expires == Immortal || expires > 0 && CountedSince(expires.Add(-lives), c.At, c.First)
}

// latest is how long a request may take from the instant at which it was worked out to its write.
const latest = 5 * time.Second

// CountedSince reports whether a counter that was made at an instant counts a request that was worked out at
// another. That which was the first one made it, and so came before it by as much as a write takes. Redis
// rounds an expiry, which tells when a counter was made, to the millisecond.
func CountedSince(made, at limiter.Instant, first bool) bool {
	if first {
		at = at.Add(latest)
	}
	return at.Millis() >= made.Millis()-1
}

// renamed holds a request in the current counter, or in the previous one that it has become. Both
// expire two windows after they were made.
func renamed(c Counted) (int, bool) {
	for n := range c.Expires {
		if c.begun(n, 2*window(c.Target)) {
			return n, true
		}
	}
	return 0, false
}

// sinceLast holds a request in a counter that begins anew once no request was admitted for a window, in
// whole seconds: what is older than that may be counted or not, and is left.
func sinceLast(c Counted) (int, bool) {
	age := time.Duration(int64(c.Now)/1e6-int64(c.At)/1e6) * time.Second
	return 0, c.Expires[0] != Absent && age < window(c.Target)
}
