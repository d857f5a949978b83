package watch

import (
	"sync"
	"sync/atomic"
	"time"

	"ratescope/limiter"
)

// facts are what the goroutines beside the reader need to know of the server. They are safe
// for concurrent use.
type facts struct {
	offset atomic.Int64 // of the server's clock from this machine's, in ns
	rtt    atomic.Int64 // in ns
	away   atomic.Bool  // the server does not answer
	live   atomic.Bool  // the latest result was an answer
	time   atomic.Bool  // the server's clock may be asked

	charged atomic.Int64 // what this process took of the server, in ns

	mu      sync.Mutex
	version string
	policy  string // maxmemory-policy; "" unknown
}

// now returns the server's clock.
func (f *facts) now() limiter.Instant {
	return limiter.InstantOf(time.Now().Add(time.Duration(f.offset.Load())))
}

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
