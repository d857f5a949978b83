package feed

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// Redis watches the keys of a server that others use. It never writes: see guard.
type Redis struct {
	options  Options
	endpoint *endpoint
	client   redis.UniversalClient
	watch    *watch

	injectors injectors
}

// poolSize is enough for a round, discovery and one to spare.
const poolSize = 4

// NewRedis prepares to watch; it does not connect. The error is for URLs that do not
// parse or TLS files that cannot be read.
func NewRedis(o Options) (*Redis, error) {
	e, err := parseEndpoint(o.URLs, o.TLS)
	if err != nil {
		return nil, err
	}
	r := &Redis{options: o, endpoint: e}
	r.client, r.watch = newWatch(o, e, nil)
	return r, nil
}

// newWatch makes the client and the observer of an endpoint. pasts is what is known of
// keys from before: then all denials are recorded, too.
func newWatch(o Options, e *endpoint, pasts map[string]*past) (redis.UniversalClient, *watch) {
	if o.Refresh <= 0 {
		o.Refresh = DefaultRefresh
	}
	if o.ClientName == "" {
		o.ClientName = "ratescope"
	}
	g := &guard{}
	client := e.open(o.ClientName, poolSize, g)
	w := &watch{
		observer: newObserver(o, client, g, pasts),
		refresh:  o.Refresh,
		server:   model.Server{Target: e.shown},
	}
	w.shown = e.shown
	w.scout = newScout(client, o,
		func() limiter.Instant { return limiter.InstantOf(time.Now().Add(time.Duration(w.offset.Load()))) },
		w.live.Load)
	return client, w
}

// Run implements Source.
func (r *Redis) Run(ctx context.Context, emit func(model.Batch)) error { return r.watch.run(ctx, emit) }

// Focus implements Focuser.
func (r *Redis) Focus(keys []string) { r.watch.setFocus(keys) }

// Injector returns what fires at this server. It refuses unless o.Armed is set.
func (r *Redis) Injector(o InjectorOptions) *Injector {
	i := newInjector(r.endpoint, o, func() time.Duration { return time.Duration(r.watch.offset.Load()) })
	r.injectors.add(i)
	return i
}

// Close ends the connections, those of its injectors too. It is to be called after Run
// has returned.
func (r *Redis) Close() error { return errors.Join(r.injectors.close(), r.client.Close()) }

// injectors are those that a source has handed out.
type injectors struct {
	mu  sync.Mutex
	all []*Injector
}

func (s *injectors) add(i *Injector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, i)
}

func (s *injectors) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, i := range s.all {
		err = errors.Join(err, i.Close())
	}
	return err
}
