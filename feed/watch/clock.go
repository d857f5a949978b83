package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/handoff"
)

// clock estimates the server's clock from its answers to TIME. The server reads its clock at some moment between sending and receiving,
// so that each answer bounds the offset between the two clocks from both sides. The estimate moves only as far as the newest bounds
// demand, so that slow round trips do not spoil the estimate of fast ones. The zero value has seen no answer.
type clock struct {
	known    bool
	offset   time.Duration // server minus local
	width    time.Duration // between the bounds that set offset
	set      time.Time     // when these bounds were set
	seen     time.Time     // the latest answer
	trips    []trip        // the latest round trips, the newest last
	far      int           // pipelines in one where the server is far; 0 before the first
	jumped   time.Duration // by how much the server's clock was last set
	jumpedAt time.Time     // when that was seen; zero for never
}

// trip is a round trip over the network.
type trip struct {
	at   time.Time // when it ended
	took time.Duration
}

const (
	// drift is the part of a second by which two clocks may drift apart in a second: bounds widen by it.
	drift = 200e-6
	// The RTT is the median of the round trips of the last tripsLast, of tripsLeast to tripsKept: a
	// single stall does not change it, and two slow answers in a row do.
	tripsLast             = 3 * time.Second
	tripsLeast, tripsKept = 3, 9
)

// observe takes the answers to a pipeline that was sent and whose last answer was received: the server read its clock at first before
// the commands, and at last after them. What lies between is the server's time, or that of a slow way to it, and no part of the round
// trip. trip is false for one that had to connect first, whose duration counts for the offset alone.
func (c *clock) observe(sent, received, first, last time.Time, trip bool) {
	lo, hi := last.Sub(received), first.Sub(sent)
	width := hi - lo
	c.seen = received
	switch {
	case width < 0: // the server's clock was set meanwhile
		c.jump(lo-c.offset, received)
		c.known, c.offset, c.width, c.set = true, lo, received.Sub(sent), received
		return
	case c.known && (c.offset < lo-clockSet || c.offset > hi+clockSet): // no drift of two clocks explains it
		c.jump(lo+width/2-c.offset, received)
		c.offset, c.width, c.set = lo+width/2, width, received
	case !c.known || width <= c.bounds():
		c.known, c.offset, c.width, c.set = true, lo+width/2, width, received
	default:
		c.offset = min(max(c.offset, lo), hi)
	}
	if trip {
		c.learn(received, width)
	}
}

// clockSet is how far the newest bounds must lie from the offset for one of the clocks to have been set.
const clockSet = time.Second

// jumpShown is how long it is said that the server's clock was set.
const jumpShown = 2 * time.Minute

// jump notes that the server's clock was set by d, unless it was this machine's that was set, as its time without
// a monotonic clock shows.
func (c *clock) jump(d time.Duration, at time.Time) {
	wall, passed := at.Round(0).Sub(c.set.Round(0)), at.Sub(c.set)
	if c.known && d.Abs() > clockSet && (wall-passed).Abs() < clockSet {
		c.jumped, c.jumpedAt = d, at
	}
}

// lack returns a sentence that says that the server's clock was set not long ago; "" where it was not.
func (c *clock) lack(now time.Time) string {
	if c.jumpedAt.IsZero() || now.Sub(c.jumpedAt) > jumpShown {
		return ""
	}
	way := collect.If(c.jumped < 0, "back", "forward")
	by := format.Spaced(c.jumped.Abs().Round(time.Second))
	return fmt.Sprintf("the server's clock was set %s by %s: windows and expiries go by it", way, by)
}

// learn adds a round trip, and forgets those that are no longer of use.
func (c *clock) learn(at time.Time, took time.Duration) {
	kept := c.trips[max(0, len(c.trips)-tripsKept+1):]
	for len(kept) >= tripsLeast && at.Sub(kept[0].at) > tripsLast {
		kept = kept[1:]
	}
	c.trips = append(slices.Clone(kept), trip{at, took}) // copies of c keep theirs
}

// rtt returns the median of the latest round trips; 0 before the first.
func (c *clock) rtt() time.Duration {
	n := len(c.trips)
	if n == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(c.trips), func(a, b trip) int { return cmp.Compare(a.took, b.took) })
	return sorted[n/2].took
}

// bound returns the round trip by which waits are bounded: the median, or half of the longest, because a link may just have become
// slow.
func (c *clock) bound() time.Duration {
	bound := c.rtt()
	for _, t := range c.trips {
		bound = max(bound, t.took/2)
	}
	return bound
}

// at converts a local time to the server's clock.
func (c *clock) at(local time.Time) limiter.Instant { return limiter.InstantOf(local.Add(c.offset)) }

// bounds returns the distance between the bounds of the offset: that of the round trip which set them, and how far the
// clocks may have drifted apart since.
func (c *clock) bounds() time.Duration {
	return c.width + time.Duration(2*drift*float64(max(c.seen.Sub(c.set), 0)))
}

// uncertainty returns by how much the offset may be wrong in either direction: half of the narrowest round trip, because the server
// read its clock at some point within it, and the drift since. It is 0 before the first answer.
func (c *clock) uncertainty() time.Duration { return c.bounds() / 2 }

// A round trip of farTrip to a server is worth another pipeline's commands in the same one, up to mostPipes. The server
// carries out what it has read of a socket at once, 16 KB, and serves others before it reads on.
const (
	farTrip   = 10 * time.Millisecond
	mostPipes = 16
)

// pipes returns how many pipelines' commands are sent at once.
func (c *clock) pipes() int {
	return int(min(max(c.rtt()/farTrip, 1), time.Duration(cmp.Or(c.far, 4))))
}

// shared holds what the reader shares with other goroutines. It is safe for concurrent use.
type shared struct {
	places    atomic.Value // map[string]int: the place of each key on screen, counted from 1
	wakeups   wakeups      // limiters to read at once
	announced wakeups      // limiters to read at the next refresh

	offset  atomic.Int64 // of the server's clock from this machine's, in ns
	rtt     atomic.Int64 // in ns
	charged atomic.Int64 // server time that this process has used, in ns
	away    atomic.Bool  // the server does not answer
	live    atomic.Bool  // the latest result held an answer
	noTime  atomic.Bool  // TIME cannot date a reading: it is forbidden, or there are several servers

	version, policy atomic.Value // strings: the server's version, and its maxmemory-policy
}

// now returns the present time by the server's clock.
func (s *shared) now() limiter.Instant {
	return limiter.InstantOf(time.Now().Add(time.Duration(s.offset.Load())))
}

// news takes the names of the limiters that an order of kind k is to read, in no order.
func (s *shared) news(k orderKind) []string {
	held, _ := s.wakeups.TryTake()
	names := slices.Collect(maps.Keys(held))
	if k == orderFull {
		held, _ := s.announced.TryTake()
		names = slices.AppendSeq(names, maps.Keys(held))
	}
	return names
}

// wakeups collects the names of limiters to be read, until an order takes them.
type wakeups = *handoff.Latest[map[string]bool]

func newWakeups() wakeups {
	return handoff.New(func(held *map[string]bool, newer map[string]bool) { maps.Copy(*held, newer) })
}
