package watch

import (
	"slices"
	"time"

	"ratescope/limiter"
)

// clock estimates the server's clock from its answers to TIME. The server reads its clock at
// some moment between sending and receiving, so that each answer bounds the offset between
// the two clocks from both sides. The estimate moves only as far as the newest bounds demand,
// so that slow round trips do not spoil the estimate of fast ones. The zero value has seen no
// answer.
type clock struct {
	known  bool
	offset time.Duration   // server minus local
	width  time.Duration   // between the bounds that set offset: twice the uncertainty
	set    time.Time       // when these bounds were set
	trips  []time.Duration // the latest round trips, the newest last
}

const (
	// boundsLast is how long the narrowest bounds are trusted, because clocks drift.
	boundsLast = 30 * time.Second
	// tripsKept is the number of round trips whose median is the RTT: a single stall of the
	// server does not change it.
	tripsKept = 9
)

// observe takes an answer: the server's clock read server between sent and received. short is
// false for a long pipeline, and for one that had to connect first: their duration counts for
// the offset, but not for the round trip.
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

// at converts a local time to the server's clock.
func (c *clock) at(local time.Time) limiter.Instant { return limiter.InstantOf(local.Add(c.offset)) }

// uncertainty returns by how much the offset may be wrong in either direction: half of the
// narrowest recent round trip, because the server read its clock at some point within it. It
// is 0 before the first answer.
func (c *clock) uncertainty() time.Duration {
	if !c.known {
		return 0
	}
	return c.width / 2
}
