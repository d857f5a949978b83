package library

import (
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// counter is the layout that most libraries share: one string that counts the requests of a
// window, and whose expiry, set with the first of them, is the end of the window.
type counter struct {
	key     string
	charged bool          // denied requests are counted, too
	window  time.Duration // 0: not in the keys
	limit   int64         // 0: not in the keys
	from    model.LimitFrom
	// blocks is set where the library may prolong the expiry of a counter that is over its limit.
	blocks bool
	// renewed is set where a counter without an expiry counts for nothing: the next request
	// begins a window, whatever the counter says.
	renewed bool
}

// Fetch reads the counter.
func (c *counter) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: c.key, Type: "string"}}
}

// Decode counts the requests until the key expires.
func (c *counter) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Charged: c.charged, Type: s.Type, TTL: s.TTL}
	d.Algorithm, d.Convention.Alignment = limiter.FixedWindow, limiter.AlignFirstRequest
	d.Limit.Count, d.LimitFrom = c.limit, c.from
	if d.Window = c.window; d.Window == 0 {
		d.Window, d.Guessed = given.Window, given.Guessed
	}
	if !s.Exists() {
		return d
	}
	d.Members = []string{c.key}
	n, ok := signed(s.Text)
	if !ok {
		d.Err = noCount
		return d
	}
	if s.TTL == model.Forever && c.renewed {
		n = 0
	}
	d.State.Current = max(n, 0)
	limit := max(d.Limit.Count, given.Limit.Count)
	until(&d, now, s.TTL, c.blocks && !(limit > 0 && n <= limit))
	return d
}

// noCount is the sentence about a counter that holds something else.
const noCount = "holds a string that is no count, so that it is no counter of a rate limiter: correct its rule, or remove the key"

// until places the window of d, which began with its first request, by the expiry of its key.
// Where the library blocks, it may prolong the expiry of a counter that is over its limit: what is
// longer than the window is a block then, and only a counter of 1 tells the window.
func until(d *decode.Decoded, now limiter.Instant, ttl time.Duration, blocks bool) {
	if !blocks || d.State.Current == 1 {
		d.Span = max(ttl, 0)
	}
	if d.Guessed && ttl > d.Window { // it was inferred from too little
		d.Window, d.Guessed = 0, false
	}
	if blocks && d.Window > 0 && ttl > d.Window+clockSlack {
		d.State.Start, d.State.BlockedUntil = now, expiry(now, ttl)
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
	ends = expiry(now, ttl)
	if window > 0 {
		return ends.Add(-window), 0
	}
	return now, ends
}

// clockSlack is how far clocks of a millisecond's resolution may lie apart in one exchange.
const clockSlack = 5 * time.Millisecond

// expiry returns the instant from which on a key is gone that now has the positive TTL ttl: PTTL
// tells whole milliseconds, and a key goes in the millisecond after its expiry.
func expiry(now limiter.Instant, ttl time.Duration) limiter.Instant {
	return limiter.Instant(now.Millis() * 1000).Add(ttl + time.Millisecond)
}

// isCounter says whether s is a whole number of 0 or more that expires.
func isCounter(s *decode.Sample) bool {
	_, ok := count(s.Text)
	return ok && s.TTL > 0
}

// counted returns the match of a counter whose name is prefix and something.
func counted(c *counter, s *decode.Sample, prefix string, why ...string) *decode.Match {
	m := &decode.Match{Prefix: prefix, Why: append(why, "an integer that expires"), Limiter: c}
	m.Algorithm = limiter.FixedWindow
	if !c.blocks || s.Text == "1" {
		m.Span = s.TTL
	}
	return m
}
