package limiter

import (
	"context"
	"hash/maphash"
	"time"

	"ratescope/limiter/internal/waiting"
)

// Memory decides within this process. Keys are spread over shards with a lock each; a
// decision on a key that is known allocates nothing. A key takes its place when it is
// first charged and leaves when it is as new again, so the memory is bounded by the keys
// that are in use, and by WithMaxKeys: 100 to 200 bytes a key and its name. A
// key with a log takes twice that, and from 17 requests in a window on 4 to 8 bytes for each,
// or 16 to 32 where the window is longer than an hour or a request costs more than 1. It may be used by many goroutines. Its zero value is not usable.
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

// NewMemory returns a limiter that keeps its keys in this process. A layout and the
// recording of denials mean nothing to it.
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
	return waiting.Until(ctx, m.clock, d)
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
	m.allow(&d, &q, key)
	return d, nil
}

// Peek implements Limiter.
func (m *Memory) Peek(ctx context.Context, key string, limit Limit, n int64) (d Decision, err error) {
	if err := m.check(ctx, key, limit, n); err != nil {
		return d, err
	}
	var q request
	q.fill(&d, m.now(), limit, &m.convention, n, m.algorithm)
	m.peek(&d, &q, key)
	return d, nil
}

func (m *Memory) allow(d *Decision, q *request, key string) {
	s := m.shard(key)
	s.mu.Lock()
	if q.n > 0 {
		s.allow(d, q, key)
	} else {
		s.peek(d, q, key)
	}
	s.mu.Unlock()
}

// shard returns where a key is kept.
func (m *Memory) shard(key string) *shard { return &m.shards[m.place(key)] }

func (m *Memory) place(key string) uint64 { return maphash.String(m.seed, key) % shardCount }

func (m *Memory) peek(d *Decision, q *request, key string) {
	s := m.shard(key)
	s.mu.Lock()
	s.peek(d, q, key)
	s.mu.Unlock()
}

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

// check looks at everything that can be wrong.
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
