package limiter

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"strings"
	"sync"
	"time"

	"ratescope/limiter/internal/given"
)

// Memory decides within this process. Keys are spread over shards with a lock each; a
// decision on a key that is known allocates nothing. A key takes its place when it is
// first charged and leaves when it is as new again, so the memory is bounded by the keys
// that are in use, and by WithMaxKeys: 100 to 200 bytes a key and its name. A
// key with a log takes twice that, and from 17 requests in a window on 4 to 8 bytes for each,
// or 16 to 32 where the window is longer than an hour or a request costs more than 1. It may be used
// by many goroutines. Its zero value is not usable.
//
// Its decisions leave out the clock-aligned windows of logs, as those of Redis do.
type Memory struct {
	shards [shardCount]shard
	settings
	algorithm Algorithm
	seed      maphash.Seed
	system    systemClock
}

const shardCount = 64

// NewMemory returns a limiter that keeps its keys in this process.
func NewMemory(a Algorithm, opts ...Option) (*Memory, error) {
	s, err := settingsOf(opts)
	if err != nil {
		return nil, err
	}
	if err := s.validate(a); err != nil {
		return nil, err
	}
	m := &Memory{settings: s, algorithm: a, seed: maphash.MakeSeed(), system: newSystemClock()}
	for i := range m.shards {
		m.shards[i].most = s.maxKeys / shardCount
	}
	return m, nil
}

// Sleep waits on the clock of WithClock, if there is one: waits for admission end by it.
func (m *Memory) Sleep(ctx context.Context, d time.Duration) error {
	if m == nil {
		return errNoLimiter
	}
	return given.Until(ctx, m.clock, d)
}

// now reads the clock. That of the system is read directly, for a call of a function that
// is a value takes longer.
func (m *Memory) now() Instant {
	if m.clock != nil {
		return m.clock()
	}
	return m.system.now()
}

// AllowN implements Limiter.
func (m *Memory) AllowN(ctx context.Context, key string, limit Limit, n int64) (d Decision, err error) {
	if m == nil || m.algorithm == Unknown || ctx == nil || ctx.Err() != nil || !acceptable(key, limit, n) {
		if err = m.check(ctx, key, limit, n); err != nil {
			return d, err
		}
	}
	var q request
	q.fill(&d, m.now(), limit, &m.convention, n, m.algorithm)
	m.decide(&d, &q, key, n > 0)
	return d, nil
}

// Peek implements Limiter.
func (m *Memory) Peek(ctx context.Context, key string, limit Limit, n int64) (d Decision, err error) {
	if err := m.check(ctx, key, limit, n); err != nil {
		return d, err
	}
	var q request
	q.fill(&d, m.now(), limit, &m.convention, n, m.algorithm)
	m.decide(&d, &q, key, false)
	return d, nil
}

func (m *Memory) decide(d *Decision, q *request, key string, charge bool) {
	s := m.shard(key)
	s.mu.Lock()
	if charge {
		s.allow(d, q, key)
	} else {
		s.peek(d, q, key)
	}
	s.mu.Unlock()
}

func (m *Memory) shard(key string) *shard { return &m.shards[m.place(key)] }

func (m *Memory) place(key string) uint64 { return maphash.String(m.seed, key) % shardCount }

// Refund gives back n units that were admitted, and never more than are still charged.
// It returns the key as a peek of cost 0 sees it afterwards.
func (m *Memory) Refund(ctx context.Context, key string, limit Limit, n int64) (d Decision, err error) {
	if err := m.check(ctx, key, limit, n); err != nil {
		return Decision{}, err
	}
	var q request
	q.fill(&d, m.now(), limit, &m.convention, n, m.algorithm)
	s := m.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refund(&q, key)
	q.n, d.Cost = 0, 0
	s.peek(&d, &q, key)
	return d, nil
}

// acceptable reports whether check would find no fault, whatever the algorithm is. It is
// small enough for the compiler to inline it.
func acceptable(key string, limit Limit, n int64) bool {
	return uint(len(key)-1) < MaxKeyLen && uint64(n) <= MaxLogCost && limit.Burst <= limit.Count && limit.valid()
}

func (m *Memory) check(ctx context.Context, key string, limit Limit, n int64) error {
	if m == nil {
		return errNoLimiter
	}
	return m.algorithm.Check(ctx, m.convention, key, limit, n)
}

// Reset implements Limiter.
func (m *Memory) Reset(ctx context.Context, key string, limit Limit) error {
	if err := m.check(ctx, key, limit, 0); err != nil {
		return err
	}
	s := m.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, key)
	return nil
}

// Len returns how many keys are held, none by a nil Memory. Some of them may be as new already.
func (m *Memory) Len() int { return m.sum(func(s *shard) int { return len(s.keys) }) }

// Evicted returns how many keys went before they were as new, because of WithMaxKeys.
func (m *Memory) Evicted() int64 { return int64(m.sum(func(s *shard) int { return int(s.evicted) })) }

// Sweep drops every key that is as new at the instant now, and returns how many went.
// It is not needed for decisions, which sweep as they go; it is for a process that falls
// silent and wants its memory back.
func (m *Memory) Sweep(now Instant) int {
	return m.sum(func(s *shard) int { return s.sweep(now, len(s.keys)) })
}

// sum adds up what a function returns for each shard, under its lock.
func (m *Memory) sum(of func(*shard) int) (n int) {
	if m == nil {
		return 0
	}
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		n += of(s)
		s.mu.Unlock()
	}
	return n
}

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
			c.until = max(c.until, q.asNew(span(q.w+later(q.c.Edge))))
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

// Option sets up a limiter.
type Option func(*settings)

type settings struct {
	convention Convention
	clock      func() Instant
	maxKeys    int // 0 is no bound
}

// WithConvention picks the variant of the algorithm. The default is the zero Convention.
func WithConvention(c Convention) Option { return func(s *settings) { s.convention = c } }

// WithClock replaces this machine's clock. Waits end by it too: they look at it every
// millisecond. In a bubble of testing/synctest no clock has to be given, for a Memory's own
// is that of the bubble. nil is this machine's.
func WithClock(now func() Instant) Option { return func(s *settings) { s.clock = now } }

// WithMaxKeys holds a Memory to n keys at most, MinMaxKeys or more. The default is no bound:
// as many keys as were charged within a window.
//
// Keys are spread over shards, each of which has an equal part of n, so the first ones are
// evicted from about four fifths of n on. A new key then takes the place of the one, of sixteen
// looked at, that would have been as new first. What that one had used is forgotten: it gets at
// most its limit again, early by less than the others would have. No other key is ever denied
// more, a blocked key, which is as new last, goes last, and a client gains nothing by crowding other keys out
// that could not have used the crowd's own limits instead.
func WithMaxKeys(n int) Option { return func(s *settings) { s.maxKeys = n } }

// WithBlock refuses a key that overran altogether for a while, whichever process asks. It is short
// for a Convention with Block set; a WithConvention after it replaces it.
func WithBlock(d time.Duration) Option { return func(s *settings) { s.convention.Block = d } }

func settingsOf(opts []Option) (settings, error) {
	s := settings{}
	for i, o := range opts {
		if o == nil {
			return s, fmt.Errorf("%w: option %d is nil: leave it out", ErrBadRequest, i+1)
		}
		o(&s)
	}
	return s, nil
}

// validate looks at what can be wrong before the first request.
func (s settings) validate(a Algorithm) error {
	if a.arithmetic().kind == kindUnknown {
		return fmt.Errorf("%w: %s cannot limit anything: use one of limiter.Algorithms", ErrBadRequest, a)
	}
	if s.maxKeys != 0 && s.maxKeys < MinMaxKeys {
		return fmt.Errorf("%w: a Memory of %d keys: use %d or more, or leave WithMaxKeys out", ErrBadRequest, s.maxKeys, MinMaxKeys)
	}
	return s.convention.Validate()
}
