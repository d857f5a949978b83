package foreign

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// Counted is a request that a counter has counted, with the expiries of the limiter's keys.
type Counted struct {
	Target  *model.Target
	At, Now limiter.Instant   // when it was counted, and now, by the server's clock
	First   bool              // it was the first one that its counter counted
	Expires []limiter.Instant // expiries of the keys of Fetch at At, or Absent or Immortal
}

// Values of Counted.Expires for keys without an expiry.
const (
	Absent   limiter.Instant = -1 // the key does not exist
	Immortal limiter.Instant = 0  // the key never expires
)

// Holder returns the index of the key of Fetch that still counts a request; ok is false if none
// does, because its window is over or the limiter has no counters.
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

// Anchored reports whether the window begins with its first request and ends with the expiry of
// the counter.
func (w *Writer) Anchored() bool {
	return w.Algorithm == limiter.FixedWindow && !w.Named && w.holder == nil
}

// begun reports whether the n-th key exists and was created no later than the request; lives is
// the time from its creation to its expiry.
func (c Counted) begun(n int, lives time.Duration) bool {
	expires := c.Expires[n]
	return expires == Immortal || expires > 0 && CountedSince(expires.Add(-lives), c.At, c.First)
}

// latest is how long a request may take from its computation to its write.
const latest = 5 * time.Second

// CountedSince reports whether a counter created at made counts a request computed at at. The
// first request of a counter creates it, so that made is later than at by up to latest. made is
// exact to the millisecond, to which Redis rounds expiries.
func CountedSince(made, at limiter.Instant, first bool) bool {
	if first {
		at = at.Add(latest)
	}
	return at.Millis() >= made.Millis()-1
}

// renamed is a holder for a counter that is renamed when its window is over: the request is in the
// current or in the previous counter. Both expire two windows after they were created.
func renamed(c Counted) (int, bool) {
	for n := range c.Expires {
		if c.begun(n, 2*window(c.Target)) {
			return n, true
		}
	}
	return 0, false
}

// sinceLast is a holder for a counter that restarts after a window without an admitted request, in
// whole seconds. It is unknown whether older requests are still counted, and they are taken as not
// counted.
func sinceLast(c Counted) (int, bool) {
	age := time.Duration(int64(c.Now)/1e6-int64(c.At)/1e6) * time.Second
	return 0, c.Expires[0] != Absent && age < window(c.Target)
}
