package watch

import (
	"slices"
	"time"

	"ratescope/limiter"
)

// clock estimates the server's clock from its answers to TIME. Each answer, given at some
// moment between sending and receiving, bounds the offset between the two clocks from
// both sides; the estimate moves only as far as the newest bounds demand, so that slow
// round trips do not disturb what fast ones have told. The zero value knows nothing yet.
type clock struct {
	known  bool
	offset time.Duration // server minus local
	width  time.Duration // of the bounds that set offset: twice the uncertainty
	set    time.Time
	trips  []time.Duration // the latest round trips, the newest last
}

const (
	// boundsLast is for how long the narrowest bounds are trusted: clocks drift.
	boundsLast = 30 * time.Second
	// tripsKept is of how many round trips the median is told: a stall of the server does
	// not look like a longer way.
	tripsKept = 9
)

// observe takes an answer: server was read between sent and received. A long pipeline, or
// one for which a connection had to be made, is no measure of the way: its trip is not short.
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
	if short {
		c.trips = append(c.trips[max(0, len(c.trips)-tripsKept+1):len(c.trips):len(c.trips)], width)
	}
}

// rtt returns the median of the latest round trips; 0 before the first.
func (c *clock) rtt() time.Duration {
	if len(c.trips) == 0 {
		return 0
	}
	sorted := slices.Clone(c.trips)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// at returns the server's clock at a local moment.
func (c *clock) at(local time.Time) limiter.Instant { return limiter.InstantOf(local.Add(c.offset)) }

// uncertainty returns how far the offset may be off either way: half of the narrowest round trip of
// late, for the server read its clock somewhere in it. 0 before the first answer.
func (c *clock) uncertainty() time.Duration {
	if !c.known {
		return 0
	}
	return c.width / 2
}
