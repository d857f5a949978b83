package limiter

import "sync"

// shard is one part of a Memory: keys in an index, their states side by side in cells.
type shard struct {
	mu    sync.Mutex
	index map[string]uint32
	cells []cell
	free  []uint32
	hand  int    // the cell that is looked at next for one that is as new
	ops   uint32 // decisions, to sweep now and then
	_     [24]byte
}

// cell is the state of one key.
type cell struct {
	key   string
	state State
	ring  *ring   // of a log
	until Instant // may go from then on; 0 for a free cell
}

// asNew is when a cell may go: when the key is as new, and a while later, so that a clock
// that jumps back a little still finds what it counted.
func (a *asked) asNew(d *Decision) Instant {
	const while = 60 * 1_000_000
	return a.now.Add(d.ResetAfter) + Instant(min(a.w, while))
}

const (
	sweepEvery = 32 // decisions between two sweeps of known keys
	sweepCells = 4  // looked at by a sweep
	smallShard = 1024
)

// allow decides about a key, which gets a cell when it is first charged.
func (s *shard) allow(d *Decision, a *asked, key string) {
	i, known := s.index[key]
	if !known {
		s.admit(d, a, key)
		return
	}
	c := &s.cells[i]
	c.take(d, a)
	c.until = a.asNew(d)
	if s.ops++; s.ops%sweepEvery == 0 {
		s.sweep(a.now, sweepCells)
	}
}

// admit decides about a key that has no cell.
func (s *shard) admit(d *Decision, a *asked, key string) {
	c := cell{key: key, state: State{Algorithm: a.alg}}
	if a.alg == SlidingLog || a.alg == StreamCounter {
		c.ring = &ring{}
	}
	c.take(d, a)
	if d.ResetAfter <= 0 {
		return
	}
	c.until = a.asNew(d)
	s.sweep(a.now, sweepCells)
	var i uint32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
		s.cells[i] = c
	} else {
		i = uint32(len(s.cells))
		s.cells = append(s.cells, c)
	}
	s.index[key] = i
}

func (s *shard) peek(d *Decision, a *asked, key string) {
	c := cell{state: State{Algorithm: a.alg}, ring: &ring{}}
	if i, known := s.index[key]; known {
		c.state, c.ring = s.cells[i].state, s.cells[i].ring
	}
	c.peek(d, a)
}

// sweep looks at the next n cells and drops those that may go.
func (s *shard) sweep(now Instant, n int) (gone int) {
	for range min(n, len(s.cells)) {
		if s.hand >= len(s.cells) {
			s.hand = 0
		}
		if c := &s.cells[s.hand]; c.until != 0 && c.until <= now {
			s.drop(uint32(s.hand))
			gone++
		}
		s.hand++
	}
	if gone > 0 && len(s.cells) > smallShard && len(s.index) < len(s.cells)/8 {
		s.shrink()
	}
	return gone
}

func (s *shard) drop(i uint32) {
	delete(s.index, s.cells[i].key)
	s.cells[i] = cell{}
	s.free = append(s.free, i)
}

// shrink gives back what a crowd of keys left behind: neither a map nor a slice does.
func (s *shard) shrink() {
	cells := make([]cell, 0, 2*len(s.index))
	index := make(map[string]uint32, len(s.index))
	for _, c := range s.cells {
		if c.until != 0 {
			index[c.key] = uint32(len(cells))
			cells = append(cells, c)
		}
	}
	s.cells, s.index, s.free, s.hand = cells, index, nil, 0
}

// take decides and charges.
func (c *cell) take(d *Decision, a *asked) {
	if c.ring == nil {
		c.state.take(d, a)
		return
	}
	c.ring.forget(a)
	if c.state.settle(d, a, a.n > 0, a.fits(c.ring.sum)) {
		c.ring.add(a)
	}
	c.ring.explain(d, a)
	c.state.close(d, a)
}

// peek decides and leaves the cell as it is; a ring forgets only what no longer counts.
func (c *cell) peek(d *Decision, a *asked) {
	if a.alg != SlidingLog && a.alg != StreamCounter {
		c.state.apply(d, a, false)
		return
	}
	c.ring.forget(a)
	c.state.settle(d, a, false, a.fits(c.ring.sum))
	c.ring.explain(d, a)
	c.state.close(d, a)
}

// refund gives back what was taken last.
func (c *cell) refund(a *asked) {
	if c.ring != nil {
		c.ring.forget(a)
		c.ring.takeOff(a)
		return
	}
	if v := c.state; v.giveBack(a) {
		c.state = v
	}
}
