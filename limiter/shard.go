package limiter

import (
	"sync"
	"time"
)

// shard is one part of a Memory: a table with its lock. What every decision looks at comes
// first and fits into a line of the processor's cache.
type shard struct {
	mu     sync.Mutex
	cursor uint32 // the cell that the next eviction examines first
	ops    uint32 // decisions, to sweep now and then
	table
	most    int   // keys; 0 is no bound
	evicted int64 // keys that went before they were as new
	_       [32]byte
}

const (
	sweepEvery = 128 // decisions between two sweeps of known keys
	sweepCells = 8   // examined by a sweep
	smallShard = 1024
	grace      = 60_000_000 // microseconds for which a Memory keeps what may be needed again
)

// asNew returns when a cell may be evicted: after the key is as new, and up to grace later, so
// that after a clock has jumped back a little the counts are still there.
func (q *request) asNew(reset time.Duration) Instant {
	return q.now.Add(reset) + Instant(min(q.w, grace))
}

// allow decides about a request of cost 1 or more. A key has a cell while there is something
// charged to it, or while it is blocked.
func (s *shard) allow(d *Decision, q *request) {
	q.write = true
	i, c := s.seek(s.home(q.name.tag), q.name) // find, without the call
	if i >= 0 && q.name.long() {
		i, c = s.findLong(q)
	}
	known := i >= 0
	if !known {
		s.sweep(q.now, sweepCells)
		if s.most > 0 && s.n >= s.most {
			s.evict()
		}
		i, c = s.put(q)
	}
	if q.c.Block > 0 {
		q.blocked = s.blocked[i]
	}
	charged := false
	if q.logs {
		charged = s.decideLog(d, q, i)
	} else {
		var k packed
		if k, charged = q.decide(d, c.state); charged {
			c.state = k
		}
	}
	if q.c.Block > 0 {
		s.blocked[i] = q.blocked
	}
	if !known && d.ResetAfter <= 0 {
		s.remove(i)
		return
	}
	// Only what is charged may bring it forward: what was there counts on.
	if until := q.asNew(d.ResetAfter); charged || until > c.until {
		c.until = until
	}
	if s.ops++; s.ops%sweepEvery == 0 {
		s.sweep(q.now, sweepCells)
	}
}

// peek decides and changes nothing.
func (s *shard) peek(d *Decision, q *request) {
	i, c := s.find(q)
	if i >= 0 && q.c.Block > 0 {
		q.blocked = s.blocked[i]
	}
	if q.logs {
		var r ring
		if i >= 0 {
			s.unpack(&r, i)
			r.forget(q)
		}
		q.settle(d, q.fits(r.sum))
		r.explain(d, q)
		q.close(d)
		return
	}
	var k packed
	if i >= 0 {
		k = c.state
	}
	q.decide(d, k)
}

// decideLog decides about a key with a log, and says whether it charged. A request that is
// not charged does not even forget: after the clock jumped back, what was there still counts.
func (s *shard) decideLog(d *Decision, q *request, i int) bool {
	var r ring
	s.unpack(&r, i)
	r.forget(q)
	charged := q.settle(d, q.fits(r.sum))
	if charged {
		s.add(&r, q, i)
		s.pack(&r, i)
	}
	r.explain(d, q)
	q.close(d)
	return charged
}

// refund takes back units that were charged to a key last.
func (s *shard) refund(q *request) {
	i, c := s.find(q)
	if i < 0 {
		return
	}
	if q.logs {
		var r ring
		s.unpack(&r, i)
		r.forget(q)
		if r.refund(q) {
			s.pack(&r, i)
			// What a stream puts back begins anew.
			c.until = max(c.until, q.asNew(span(q.w+q.edge())))
		}
		return
	}
	if k, given := q.refund(c.state); given {
		c.state = k
	}
}

// reset forgets a key.
func (s *shard) reset(q *request) {
	if i, _ := s.find(q); i >= 0 {
		s.remove(i)
	}
}

// sweep examines n cells and evicts the expired ones; it returns how many.
func (s *shard) sweep(now Instant, n int) (gone int) {
	if s.places() == 0 {
		return 0
	}
	for range n {
		i := int(s.cursor) & (s.places() - 1)
		if c := s.at(i); c.key.tag != 0 && c.until <= now {
			s.remove(i) // another cell may have moved here: examine the place again
			gone++
		} else {
			s.cursor = uint32(i + 1)
			if s.large != nil {
				s.releaseLog(i, now)
			}
		}
	}
	if gone > 0 && s.places() > smallShard && s.n < s.places()/8 {
		s.shrink()
	}
	return gone
}

// evictLooks is how many keys an eviction chooses from.
const evictLooks = 16

// evict drops the key, of the next few, that would have been as new first.
func (s *shard) evict() {
	best, looked := -1, 0
	for range s.places() {
		i := int(s.cursor) & (s.places() - 1)
		s.cursor = uint32(i + 1)
		c := s.at(i)
		if c.key.tag == 0 {
			continue
		}
		if best < 0 || c.until < s.at(best).until {
			best = i
		}
		if looked++; looked == evictLooks {
			break
		}
	}
	if best >= 0 {
		s.remove(best)
		s.evicted++
	}
}

// shrink frees places after a peak of keys.
func (s *shard) shrink() {
	places := s.places()
	for places > smallShard && s.n < places/4 {
		places /= 2
	}
	s.resize(places, len(s.logs) > 0)
}
