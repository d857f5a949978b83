// Package form knows the forms in which limiters keep their state, of libraries and of applications alike: counters, logs,
// buckets and arrival times, in strings, lists and sorted sets. The decoders of libraries are made of
// them, and the rules for limiters of the user's own are compiled to them.
package form

import (
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// Counter is the layout that most libraries share: one string that counts the requests of a
// window, and whose expiry, set with the first of them, is the end of the window.
type Counter struct {
	Key     string
	Charged bool          // denied requests are counted, too
	Window  time.Duration // 0: not in the keys
	Limit   int64         // 0: not in the keys
	From    model.LimitFrom
	// Blocks is set where the library may prolong the expiry of a counter that is over its limit.
	Blocks bool
	// Renewed is set where a counter without an expiry counts for nothing: the next request
	// begins a window, whatever the counter says.
	Renewed bool
	// Left is set where the counter counts down: it holds what is left of the limit. Where that is not
	// known, neither is what is used.
	Left bool
}

// Fetch reads the counter.
func (c *Counter) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: c.Key, Type: "string"}}
}

// Decode counts the requests until the key expires.
func (c *Counter) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Charged: c.Charged, Type: s.Type, TTL: s.TTL}
	d.Algorithm, d.Convention.Alignment = limiter.FixedWindow, limiter.AlignFirstRequest
	d.Limit.Count, d.LimitFrom = c.Limit, c.From
	if d.Window = c.Window; d.Window == 0 {
		d.Window, d.Guessed = given.Window, given.Guessed
	}
	if !s.Exists() {
		return d
	}
	d.Members = []string{c.Key}
	n, ok := Signed(s.Text)
	if !ok {
		d.Err = NoCount
		return d
	}
	limit := max(d.Limit.Count, given.Limit.Count)
	if c.Left {
		n = limit - n
		d.Partial = limit == 0 || n < 0
	}
	if s.TTL == model.Forever && c.Renewed {
		n = 0
	}
	d.State.Current = max(n, 0)
	Until(&d, now, s.TTL, c.Blocks && !(limit > 0 && n <= limit))
	return d
}

// NoCount is the sentence about a counter that holds something else.
const NoCount = "holds a string that is no count, so that it is no counter of a rate limiter: correct its rule, or remove the key"

// Until places the window of d, which began with its first request, by the expiry of its key.
// Where the library blocks, it may prolong the expiry of a counter that is over its limit: what is
// longer than the window is a block then, and only a counter of 1 tells the window.
func Until(d *decode.Decoded, now limiter.Instant, ttl time.Duration, blocks bool) {
	if !blocks || d.State.Current == 1 {
		d.Span = max(ttl, 0)
	}
	if d.Guessed && ttl > d.Window { // it was inferred from too little
		d.Window, d.Guessed = 0, false
	}
	if blocks && d.Window > 0 && ttl > d.Window+ClockSlack {
		d.State.Start, d.State.BlockedUntil = now, Expiry(now, ttl)
		return
	}
	d.State.Start, d.Ends = anchor(now, ttl, d.Window)
}

// anchor returns the start of a window that began with its first request, from the expiry of
// its key, and, where its length is not known, its end.
func anchor(now limiter.Instant, ttl, window time.Duration) (start, ends limiter.Instant) {
	if ttl <= 0 {
		return now, 0
	}
	ends = Expiry(now, ttl)
	if window > 0 {
		return ends.Add(-window), 0
	}
	return now, ends
}

// ClockSlack is how far clocks of a millisecond's resolution may lie apart in one exchange.
const ClockSlack = 5 * time.Millisecond

// Expiry returns the instant from which on a key is gone that now has the positive TTL ttl: PTTL
// tells whole milliseconds, and a key goes in the millisecond after its expiry.
func Expiry(now limiter.Instant, ttl time.Duration) limiter.Instant {
	return limiter.Instant(now.Millis() * 1000).Add(ttl + time.Millisecond)
}

// IsCounter says whether s is a whole number of 0 or more that expires.
func IsCounter(s *decode.Sample) bool {
	_, ok := Count(s.Text)
	return ok && s.TTL > 0
}

// Counted returns the match of a counter whose name is prefix and something.
func Counted(c *Counter, s *decode.Sample, prefix string, why ...string) *decode.Match {
	m := &decode.Match{Prefix: prefix, Why: append(why, "an integer that expires"), Limiter: c}
	m.Algorithm = limiter.FixedWindow
	if !c.Blocks || s.Text == "1" {
		m.Span = s.TTL
	}
	return m
}
