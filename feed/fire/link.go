package fire

import (
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// link is the Injector's connection to its server, which may write: it decides requests with
// redisstore, and reads, saves and changes keys. The client is made when it is first used. A
// link is safe for concurrent use.
type link struct {
	endpoint *connect.Endpoint
	offset   func() time.Duration // how far the server's clock is ahead of this machine's
	timeout  time.Duration        // bounds one request
	denials  bool                 // denied requests are recorded beside the key

	mu     sync.Mutex
	opened redis.UniversalClient // nil before its first use

	asked sync.Map // digests of scripts that the server was asked for
}

const (
	firePool  = InFlight
	ownNames  = "ratescope" // prefix of the names of all ratescope's connections
	writeName = ownNames + "-fire"
)

// storeOn returns a new Store that decides requests at t over a client.
func (l *link) storeOn(c redisstore.Client, t model.Target) (*redisstore.Store, error) {
	opts := []redisstore.Option{redisstore.WithConvention(t.Convention), redisstore.WithLayout(t.Layout), redisstore.WithPrefix(""), redisstore.WithBatches(0)}
	if l.denials {
		opts = append(opts, redisstore.WithDenials())
	}
	store, err := redisstore.New(c, t.Algorithm, opts...)
	if err != nil {
		return nil, fmt.Errorf("it cannot be fired at: %w", err)
	}
	return store, nil
}

// client returns the client that may write.
func (l *link) client() redis.UniversalClient {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		l.opened = l.endpoint.Waiting(l.timeout).Open(writeName, firePool, nil)
	}
	return l.opened
}

// now returns the present instant by the server's clock.
func (l *link) now() limiter.Instant { return limiter.InstantOf(time.Now().Add(l.offset())) }

// close closes the connections; the next use of the link makes new ones.
func (l *link) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		return nil
	}
	err := l.opened.Close()
	l.opened = nil
	l.asked.Clear()
	return err
}
