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
	case w.holder != nil:
		return w.holder(c)
	}
	return 0, c.begun(0, window(c.Target))
}

// begun reports whether the n-th key exists and was made by the time of the request, where it expires so
// long after it was made. Redis rounds an expiry to the millisecond.
func (c Counted) begun(n int, lives time.Duration) bool {
	expires := c.Expires[n]
	return expires == Immortal || expires > 0 && c.At.Millis() >= expires.Add(-lives).Millis()-1
}

// named holds a request in the counter that has the name of its window, as long as that exists.
func named(c Counted) (int, bool) { return 0, c.Expires[0] != Absent }

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
