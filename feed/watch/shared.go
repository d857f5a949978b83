package watch

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ratescope/limiter"
)

// shared is what goroutines beside the reader use too. It is safe for concurrent use.
type shared struct {
	focus     focus
	wakeups   wakeups
	announced wakeups // news that can wait for the next refresh
	facts     facts
}

// news returns the names of limiters of which there is news that an order is for.
func (s *shared) news(k orderKind) []string {
	names := s.wakeups.take()
	if k == orderFull {
		names = append(names, s.announced.take()...)
	}
	return names
}

// facts are what the goroutines beside the reader need to know of the server. They are safe
// for concurrent use.
type facts struct {
	offset atomic.Int64 // of the server's clock from this machine's, in ns
	rtt    atomic.Int64 // in ns
	away   atomic.Bool  // the server does not answer
	live   atomic.Bool  // the latest result was an answer
	noTime atomic.Bool  // TIME does not tell when keys were looked at: it is forbidden, or there are several servers

	charged atomic.Int64 // what this process took of the server, in ns

	mu      sync.Mutex
	version string
	policy  string // maxmemory-policy; "" unknown
}

// now returns the server's clock.
func (f *facts) now() limiter.Instant {
	return limiter.InstantOf(time.Now().Add(time.Duration(f.offset.Load())))
}

// asksTime reports whether TIME tells when keys were looked at, for all that is known.
func (f *facts) asksTime() bool { return !f.noTime.Load() }

func (f *facts) setVersion(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = version
}

func (f *facts) setPolicy(policy string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.policy = policy
}

// eviction returns the version of the server and by which policy it evicts keys.
func (f *facts) eviction() (version, policy string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version, f.policy
}

// focus is which keys are on screen. It is safe for concurrent use.
type focus struct {
	mu   sync.Mutex
	keys []string
}

func (f *focus) set(keys []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = slices.Clone(keys)
}

// places returns the place of each key on screen, from 1.
func (f *focus) places() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	place := make(map[string]int, len(f.keys))
	for i, k := range f.keys {
		place[k] = i + 1
	}
	return place
}
