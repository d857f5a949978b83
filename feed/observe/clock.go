package observe

import (
	"time"

	"ratescope/limiter"
)

// clock estimates the server's clock from its answers to TIME. Each answer, given at some
// moment between sending and receiving, bounds the offset between the two clocks from
// both sides; the estimate moves only as far as the newest bounds demand, so that slow
// round trips do not disturb what fast ones have told.
type clock struct {
	known  bool
	offset time.Duration // server minus local
	rtt    time.Duration // smoothed
	width  time.Duration // of the bounds that set offset: twice the uncertainty
	set    time.Time
}

// boundsLast is for how long the narrowest bounds are trusted: clocks drift.
const boundsLast = 30 * time.Second

// observe takes an answer: server was read between sent and received. Round trips of long
// pipelines are no measure of the way, so that rtt is taken from short ones only.
func (c *clock) observe(sent, received time.Time, server limiter.Instant, short bool) {
	at := server.Time()
	lo, hi := at.Sub(received), at.Sub(sent)
	width := hi - lo
	switch {
	case !c.known || width <= c.width || received.Sub(c.set) > boundsLast:
		c.known, c.offset, c.width, c.set = true, lo+width/2, width, received
	default:
		c.offset = min(max(c.offset, lo), hi)
	}
	if !short {
		return
	}
	if c.rtt == 0 {
		c.rtt = width
	}
	c.rtt += (width - c.rtt) / 8
}

// at returns the server's clock at a local moment.
func (c *clock) at(local time.Time) limiter.Instant { return limiter.InstantOf(local.Add(c.offset)) }

// uncertainty is how far the offset may be off either way: half of the narrowest round trip of
// late, for the server read its clock somewhere in it. 0 before the first answer.
func (c *clock) uncertainty() time.Duration {
	if !c.known {
		return 0
	}
	return c.width / 2
}
