package limiter

import (
	"maps"
	"strings"
	"sync"
	"time"
)

// shard is one part of a Memory: the states of its keys, with their lock.
type shard struct {
	mu      sync.Mutex
	ops     uint32 // decisions, to sweep now and then
	keys    map[string]*cell
	peak    int   // the most keys since the map was made
	most    int   // keys; 0 is no bound
	evicted int64 // keys that went before they were as new
	_       [64]byte
}

// cell is the state of one key, packed: a State has room for every algorithm.
type cell struct {
	until   Instant // from then on the cell may be freed
	state   packed
	blocked Instant
	log     *ring // of an algorithm that keeps one, once something was charged
}

const (
	sweepEvery = 128 // decisions between two sweeps of known keys
	sweepCells = 4   // keys that a sweep examines: of those that are held a quarter may have expired
	evictLooks = 16  // keys that an eviction chooses from
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
func (s *shard) allow(d *Decision, q *request, key string) {
	q.write = true
	c, known := s.keys[key]
	var made cell
	if !known {
		c = &made
	}
	q.blocked = c.blocked
	charged := false
	if q.logs {
		charged = c.decideLog(d, q)
	} else {
		var k packed
		if k, charged = q.decide(d, c.state); charged {
			c.state = k
		}
	}
	c.blocked = q.blocked
	// Only what is charged may bring it forward: what was there counts on.
	if until := q.asNew(d.ResetAfter); charged || until > c.until {
		c.until = until
	}
	switch {
	case !known && d.ResetAfter > 0:
		s.put(key, made, q.now)
	case known:
		if s.ops++; s.ops%sweepEvery == 0 {
			s.sweep(q.now, sweepCells)
		}
	}
}

// put adds the state of a new key, and makes room for it.
func (s *shard) put(key string, c cell, now Instant) {
	s.sweep(now, sweepCells)
	if s.most > 0 && len(s.keys) >= s.most {
		s.evict()
	}
	if s.keys == nil {
		s.keys = make(map[string]*cell)
	}
	s.keys[strings.Clone(key)] = &c // not what the key may be cut from
	s.peak = max(s.peak, len(s.keys))
}

// peek decides and changes nothing.
func (s *shard) peek(d *Decision, q *request, key string) {
	var c cell
	if known := s.keys[key]; known != nil {
		c = *known
	}
	q.blocked = c.blocked
	if q.logs {
		c.decideLog(d, q)
		return
	}
	q.decide(d, c.state)
}

// decideLog decides about a key with a log, and says whether it charged. A request that is
// not charged does not even forget: after the clock jumped back, what was there still counts.
func (c *cell) decideLog(d *Decision, q *request) bool {
	var none ring
	r := c.log
	if r == nil {
		r = &none
	}
	was := r.extent
	r.forget(q)
	charged := q.settle(d, q.fits(r.sum))
	if charged {
		if c.log == nil {
			c.log = new(ring)
			r = c.log
		}
		r.add(q)
	}
	r.explain(d, q)
	q.close(d)
	if !charged {
		r.extent = was
	}
	return charged
}

// refund takes back units that were charged to a key last.
func (s *shard) refund(q *request, key string) {
	c := s.keys[key]
	if c == nil {
		return
	}
	if q.logs {
		if c.log != nil && c.log.refund(q) {
			// What a stream puts back begins anew.
			c.until = max(c.until, q.asNew(span(q.w+q.edge())))
		}
		return
	}
	if k, given := q.refund(c.state); given {
		c.state = k
	}
}

// sweep examines n keys, as a map happens to give them, and drops the expired ones; it returns how many.
func (s *shard) sweep(now Instant, n int) (gone int) {
	for key, c := range s.keys {
		if n--; n < 0 {
			break
		}
		if c.until <= now {
			delete(s.keys, key)
			gone++
		} else if c.log != nil {
			c.log.release(now)
		}
	}
	if gone > 0 && s.peak > smallShard && len(s.keys) < s.peak/8 { // a map keeps the room of its peak
		kept := make(map[string]*cell, len(s.keys))
		maps.Copy(kept, s.keys)
		s.keys, s.peak = kept, len(kept)
	}
	return gone
}

// evict drops the key, of the next few, that would have been as new first.
func (s *shard) evict() {
	var first string
	var least *cell
	looked := 0
	for key, c := range s.keys {
		if least == nil || c.until < least.until {
			first, least = key, c
		}
		if looked++; looked == evictLooks {
			break
		}
	}
	delete(s.keys, first)
	s.evicted++
}
