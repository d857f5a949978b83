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
	sweepEvery = 32 // decisions between two sweeps of known keys
	sweepCells = 8  // looked at by a sweep
	smallShard = 1024
)

// asNew is when a cell may go: when the key is as new, and a while later, so that a clock
// that jumps back a little still finds what it counted.
func (a *asked) asNew(reset time.Duration) Instant {
	const while = 60 * 1_000_000
	return a.now.Add(reset) + Instant(min(a.w, while))
}

// allow decides about a key, which keeps a cell from when it is first charged.
func (s *shard) allow(d *Decision, a *asked, key string, hash uint64) {
	i := s.find(key, hash)
	known := i >= 0
	if !known {
		s.sweep(a.now, sweepCells)
		i = s.put(key, hash, a.alg.logs(), a.c.Block > 0)
	}
	v := State{Algorithm: a.alg}
	if a.c.Block > 0 {
		v.BlockedUntil = s.blocked[i]
	}
	if a.alg.logs() {
		s.log(d, a, i, &v)
	} else {
		c := s.at(i)
		c.load(&v)
		if v.apply(d, a, a.n > 0) {
			c.store(&v)
		}
	}
	if a.c.Block > 0 {
		s.blocked[i] = v.BlockedUntil
	}
	if !known && d.ResetAfter <= 0 {
		s.remove(i)
		return
	}
	s.at(i).until = a.asNew(d.ResetAfter)
	if s.ops++; s.ops%sweepEvery == 0 {
		s.sweep(a.now, sweepCells)
	}
}

// peek decides and leaves all as it is.
func (s *shard) peek(d *Decision, a *asked, key string, hash uint64) {
	i := s.find(key, hash)
	v := State{Algorithm: a.alg}
	if i >= 0 && a.c.Block > 0 {
		v.BlockedUntil = s.blocked[i]
	}
	if a.alg.logs() {
		var r ring
		if i >= 0 {
			s.unpack(&r, i)
			r.forget(a)
		}
		v.settle(d, a, false, a.fits(r.sum))
		r.explain(d, a)
		v.close(d, a)
		return
	}
	if i >= 0 {
		s.at(i).load(&v)
	}
	v.apply(d, a, false)
}

// log decides about a key with a log, and charges.
func (s *shard) log(d *Decision, a *asked, i int, v *State) {
	var r ring
	s.unpack(&r, i)
	r.forget(a)
	if v.settle(d, a, a.n > 0, a.fits(r.sum)) {
		s.add(&r, a, i)
	}
	r.explain(d, a)
	v.close(d, a)
	s.pack(&r, i)
}

// refund gives back what a key took last.
func (s *shard) refund(a *asked, key string, hash uint64) {
	i := s.find(key, hash)
	if i < 0 {
		return
	}
	if a.alg.logs() {
		var r ring
		s.unpack(&r, i)
		r.forget(a)
		r.takeOff(a)
		s.pack(&r, i)
		// What a stream puts back begins anew.
		s.at(i).until = max(s.at(i).until, a.asNew(span(a.w+a.edge())))
		return
	}
	v := State{Algorithm: a.alg}
	s.at(i).load(&v)
	if v.giveBack(a) {
		s.at(i).store(&v)
	}
}

// drop makes a key as new.
func (s *shard) drop(key string, hash uint64) {
	if i := s.find(key, hash); i >= 0 {
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
		if c := s.at(i); c.form != 0 && c.until <= now {
			s.remove(i) // another may come in its place, so the hand stays
			gone++
		} else {
			s.hand = uint32(i + 1)
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

// load unpacks the state of a key that has no log.
func (c *cell) load(s *State) {
	switch s.Algorithm {
	case FixedWindow, SlidingWindow:
		s.Start, s.Previous, s.Current, s.PreviousStart = Instant(c.w), c.x, c.y, Instant(c.z)
	case GCRA:
		s.TAT, s.Part, s.Parts = Instant(c.w), c.x, c.y
	case TokenBucket, LeakyBucket:
		s.Filled, s.Part, s.Parts, s.Level = Instant(c.w), c.x, c.y, float64(c.z)
	}
}

func (c *cell) store(s *State) {
	switch s.Algorithm {
	case FixedWindow, SlidingWindow:
		c.w, c.x, c.y, c.z = int64(s.Start), s.Previous, s.Current, int64(s.PreviousStart)
	case GCRA:
		c.w, c.x, c.y = int64(s.TAT), s.Part, s.Parts
	case TokenBucket, LeakyBucket:
		c.w, c.x, c.y, c.z = int64(s.Filled), s.Part, s.Parts, int64(s.Level)
	}
}
