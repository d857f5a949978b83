package limiter

import "sync"

// shard is one part of a Memory: keys in a table, their states side by side in cells.
type shard struct {
	mu      sync.Mutex
	table   table
	cells   []cell
	rings   []ring    // of each cell, where a log is kept; else nil
	blocked []Instant // of each cell, where keys are blocked; else nil
	free    []uint32
	hand    int    // the cell that is looked at next for one that may go
	ops     uint32 // decisions, to sweep now and then
	_       [40]byte
}

// cell is the state of one key, packed: a State has room for every algorithm. It fills a
// line of the processor's cache, which is what a decision on one of many keys waits for.
type cell struct {
	key        string
	hash       uint64
	until      Instant // may go from then on; 0 for a free cell
	w, x, y, z int64
}

// spot is a cell with what lies beside it: a ring for a log, else nil.
type spot struct {
	*cell
	ring    *ring
	blocked *Instant // nil where keys are not blocked
}

func (s *shard) spot(i uint32) spot {
	p := spot{cell: &s.cells[i]}
	if s.rings != nil {
		p.ring = &s.rings[i]
	}
	if s.blocked != nil {
		p.blocked = &s.blocked[i]
	}
	return p
}

// fresh is the spot of a key that is as new, in no shard.
func (a *asked) fresh() spot {
	p := spot{cell: &cell{}}
	if a.alg.logs() {
		p.ring = &ring{}
	}
	if a.c.Block > 0 {
		p.blocked = new(Instant)
	}
	return p
}

const (
	sweepEvery = 32 // decisions between two sweeps of known keys
	sweepCells = 4  // looked at by a sweep
	smallShard = 1024
)

// asNew is when a cell may go: when the key is as new, and a while later, so that a clock
// that jumps back a little still finds what it counted.
func (a *asked) asNew(d *Decision) Instant {
	const while = 60 * 1_000_000
	return a.now.Add(d.ResetAfter) + Instant(min(a.w, while))
}

// allow decides about a key, which gets a cell when it is first charged.
func (s *shard) allow(d *Decision, a *asked, key string, hash uint64) {
	i, known := s.table.find(s.cells, key, hash)
	if !known {
		s.admit(d, a, key, hash)
		return
	}
	c := s.spot(i)
	c.take(d, a)
	c.until = a.asNew(d)
	if s.ops++; s.ops%sweepEvery == 0 {
		s.sweep(a.now, sweepCells)
	}
}

// admit decides about a key that has no cell.
func (s *shard) admit(d *Decision, a *asked, key string, hash uint64) {
	c := a.fresh()
	c.take(d, a)
	if d.ResetAfter <= 0 {
		return
	}
	c.key, c.hash, c.until = key, hash, a.asNew(d)
	s.sweep(a.now, sweepCells)
	var i uint32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
		s.put(i, c)
	} else {
		i = uint32(len(s.cells))
		s.add(c)
	}
	s.table.put(s.cells, i)
}

// put writes what came out of a decision into a free cell.
func (s *shard) put(i uint32, c spot) {
	s.cells[i] = *c.cell
	if c.ring != nil {
		s.rings[i] = *c.ring
	}
	if c.blocked != nil {
		s.blocked[i] = *c.blocked
	}
}

// add is put with a cell at the end.
func (s *shard) add(c spot) {
	s.cells = append(s.cells, *c.cell)
	if c.ring != nil {
		s.rings = append(s.rings, *c.ring)
	}
	if c.blocked != nil {
		s.blocked = append(s.blocked, *c.blocked)
	}
}

func (s *shard) peek(d *Decision, a *asked, key string, hash uint64) {
	if i, known := s.table.find(s.cells, key, hash); known {
		s.spot(i).peek(d, a)
		return
	}
	a.fresh().peek(d, a)
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
	if gone > 0 && len(s.cells) > smallShard && s.table.n < len(s.cells)/8 {
		s.shrink()
	}
	return gone
}

func (s *shard) drop(i uint32) {
	s.table.remove(s.cells, i)
	s.cells[i] = cell{}
	if s.rings != nil {
		s.rings[i] = ring{}
	}
	if s.blocked != nil {
		s.blocked[i] = 0
	}
	s.free = append(s.free, i)
}

// shrink gives back what a crowd of keys left behind.
func (s *shard) shrink() {
	old := shard{cells: s.cells, rings: s.rings, blocked: s.blocked}
	s.cells, s.rings, s.blocked = make([]cell, 0, 2*s.table.n), nil, nil
	s.table, s.free, s.hand = table{}, nil, 0
	for i := range old.cells {
		if c := old.spot(uint32(i)); c.until != 0 {
			s.add(c)
			s.table.put(s.cells, uint32(len(s.cells)-1))
		}
	}
}

// load unpacks the state of a key.
func (c *cell) load(s *State, alg Algorithm) {
	s.Algorithm = alg
	switch alg {
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

// take decides and charges.
func (c spot) take(d *Decision, a *asked) {
	if c.ring != nil {
		c.log(d, a, a.n > 0)
		return
	}
	var s State
	c.load(&s, a.alg)
	if c.blocked != nil {
		s.BlockedUntil = *c.blocked
	}
	if s.apply(d, a, a.n > 0) {
		c.store(&s)
	}
	if c.blocked != nil {
		*c.blocked = s.BlockedUntil
	}
}

// peek decides and leaves the cell as it is; a ring forgets only what no longer counts.
func (c spot) peek(d *Decision, a *asked) {
	if c.ring != nil {
		c.log(d, a, false)
		return
	}
	var s State
	c.load(&s, a.alg)
	if c.blocked != nil {
		s.BlockedUntil = *c.blocked
	}
	s.apply(d, a, false)
}

// log decides about a key with a ring.
func (c spot) log(d *Decision, a *asked, write bool) {
	s := State{}
	if c.blocked != nil {
		s.BlockedUntil = *c.blocked
	}
	c.ring.forget(a)
	if s.settle(d, a, write, a.fits(c.ring.sum)) {
		c.ring.add(a)
	}
	c.ring.explain(d, a)
	s.close(d, a)
	if write && c.blocked != nil {
		*c.blocked = s.BlockedUntil
	}
}

// refund gives back what was taken last.
func (c spot) refund(a *asked) {
	if c.ring != nil {
		c.ring.forget(a)
		c.ring.takeOff(a)
		return
	}
	var s State
	c.load(&s, a.alg)
	if s.giveBack(a) {
		c.store(&s)
	}
}
