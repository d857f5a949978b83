package limiter

import (
	"sync"
	"time"
)

// shard is one part of a Memory: a table with its lock. What every decision looks at comes
// first and fits into a line of the processor's cache.
type shard struct {
	mu   sync.Mutex
	hand uint32 // the cell that is looked at next for one that may go
	ops  uint32 // decisions, to sweep now and then
	table
	_ [48]byte
}

const (
	sweepEvery = 128 // decisions between two sweeps of known keys
	sweepCells = 8   // looked at by a sweep
	smallShard = 1024
	while      = 60_000_000 // microseconds for which a Memory keeps what may be needed again
)

// asNew is when a cell may go: when the key is as new, and a while later, so that a clock
// that jumps back a little still finds what it counted.
func (a *asked) asNew(reset time.Duration) Instant {
	return a.now.Add(reset) + Instant(min(a.w, while))
}

// allow decides about a request of cost 1 or more. A key has a cell while there is something
// charged to it, or while it is blocked.
func (s *shard) allow(d *Decision, a *asked) {
	a.write = true
	i, c := s.seek(s.home(a.name.tag), a.name) // find, without the call
	if i >= 0 && a.name.long() {
		i, c = s.findLong(a)
	}
	known := i >= 0
	if !known {
		s.sweep(a.now, sweepCells)
		i, c = s.put(a)
	}
	if a.c.Block > 0 {
		a.blocked = s.blocked[i]
	}
	charged := false
	if a.alg.logs() {
		charged = s.decideLog(d, a, i)
	} else {
		var k words
		if k, charged = a.decide(d, c.words); charged {
			c.words = k
		}
	}
	if a.c.Block > 0 {
		s.blocked[i] = a.blocked
	}
	if !known && d.ResetAfter <= 0 {
		s.remove(i)
		return
	}
	// Only what is charged may bring it forward: what was there counts on.
	if until := a.asNew(d.ResetAfter); charged || until > c.until {
		c.until = until
	}
	if s.ops++; s.ops%sweepEvery == 0 {
		s.sweep(a.now, sweepCells)
	}
}

// peek decides and leaves all as it is.
func (s *shard) peek(d *Decision, a *asked) {
	i, c := s.find(a)
	if i >= 0 && a.c.Block > 0 {
		a.blocked = s.blocked[i]
	}
	if a.alg.logs() {
		var r ring
		if i >= 0 {
			s.unpack(&r, i)
			r.forget(a)
		}
		a.settle(d, a.fits(r.sum))
		r.explain(d, a)
		a.close(d)
		return
	}
	var k words
	if i >= 0 {
		k = c.words
	}
	a.decide(d, k)
}

// decideLog decides about a key with a log, and says whether it charged. A request that is
// not charged does not even forget: after the clock jumped back, what was there still counts.
func (s *shard) decideLog(d *Decision, a *asked, i int) bool {
	var r ring
	s.unpack(&r, i)
	r.forget(a)
	charged := a.settle(d, a.fits(r.sum))
	if charged {
		s.add(&r, a, i)
		s.pack(&r, i)
	}
	r.explain(d, a)
	a.close(d)
	return charged
}

// refund gives back what a key took last.
func (s *shard) refund(a *asked) {
	i, c := s.find(a)
	if i < 0 {
		return
	}
	if a.alg.logs() {
		var r ring
		s.unpack(&r, i)
		r.forget(a)
		if r.takeOff(a) {
			s.pack(&r, i)
			// What a stream puts back begins anew.
			c.until = max(c.until, a.asNew(span(a.w+a.edge())))
		}
		return
	}
	if k, given := a.giveBack(c.words); given {
		c.words = k
	}
}

// drop makes a key as new.
func (s *shard) drop(a *asked) {
	if i, _ := s.find(a); i >= 0 {
		s.remove(i)
	}
}

// sweep looks at cells n times and drops those that may go.
func (s *shard) sweep(now Instant, n int) (gone int) {
	if s.places() == 0 {
		return 0
	}
	for range n {
		i := int(s.hand) & (s.places() - 1)
		if c := s.at(i); c.tag != 0 && c.until <= now {
			s.remove(i) // another may come in its place, so the hand stays
			gone++
		} else {
			s.hand = uint32(i + 1)
			if s.wide != nil {
				s.giveBack(i, now)
			}
		}
	}
	if gone > 0 && s.places() > smallShard && s.n < s.places()/8 {
		s.shrink()
	}
	return gone
}

// shrink gives back what a crowd of keys left behind.
func (s *shard) shrink() {
	places := s.places()
	for places > smallShard && s.n < places/4 {
		places /= 2
	}
	s.resize(places, len(s.logs) > 0)
}
