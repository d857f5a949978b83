package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/model"
)

// Embedded is a Redis in process with demo traffic, and the source that watches it. The
// traffic flows while Run does.
type Embedded struct {
	server   *miniredis.Miniredis
	endpoint *endpoint
	client   redis.UniversalClient // watches
	traffic  *redis.Client         // writes the demo
	watch    *watch
	actors   []*actor
	pasts    map[string]*past // filled when Run begins
	expected []*actor         // watched from the first batch on

	injectors injectors
}

// NewEmbedded starts the server, empty; Run puts two windows of past behind every key
// before its first batch, so that the screen need not wait for them. Rules of o hold for keys that the demo does not know; its URLs
// are not looked at.
func NewEmbedded(o Options) (*Embedded, error) {
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		return nil, fmt.Errorf("the embedded Redis cannot listen on this machine: %w", err)
	}
	e := &Embedded{server: m}
	e.endpoint = &endpoint{single: &redis.Options{Addr: m.Addr(), Protocol: 2}, shown: "embedded Redis"}
	e.traffic = redis.NewClient(&redis.Options{Addr: m.Addr(), Protocol: 2, MaxRetries: -1, PoolSize: 2, DisableIdentity: true})
	e.actors = hire(e.traffic)
	e.pasts = make(map[string]*past)
	o.Rules = slices.Concat(demoRules(), o.Rules)
	expected := len(o.Keys) == 0 // else somebody wants to see just these
	if expected && len(o.Watch) == 0 {
		o.Watch = []string{"*"}
	}
	e.client, e.watch = newWatch(o, e.endpoint, e.pasts)
	e.watch.server.Embedded = true
	e.watch.scout.rest = 3 * restBetween // nobody else writes here
	for _, a := range e.actors {
		if expected && slices.ContainsFunc(o.Watch, func(p string) bool { return matchGlob(p, a.key) }) {
			e.expected = append(e.expected, a)
		}
	}
	return e, nil
}

// Run implements Source.
func (e *Embedded) Run(ctx context.Context, emit func(model.Batch)) error {
	if len(e.pasts) == 0 { // the first run
		pasts, err := rehearse(ctx, e.server, e.actors, limiter.InstantOf(time.Now()))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("the demo cannot be prepared: %w", err)
		}
		maps.Copy(e.pasts, pasts)
		for _, a := range e.expected {
			e.watch.expect(a.persona)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var traffic sync.WaitGroup
	traffic.Go(func() { perform(ctx, e.actors) })
	defer traffic.Wait()
	defer cancel()
	return e.watch.run(ctx, emit)
}

// Focus implements Focuser.
func (e *Embedded) Focus(keys []string) { e.watch.setFocus(keys) }

// Injector returns what fires at the embedded server; it is always armed.
func (e *Embedded) Injector(o InjectorOptions) *Injector {
	o.Armed, o.Denials = true, true
	i := newInjector(e.endpoint, o, func() time.Duration { return 0 })
	e.injectors.add(i)
	return i
}

// Close ends the server. It is to be called after Run has returned.
func (e *Embedded) Close() error {
	err := e.injectors.close()
	if e.client != nil {
		err = errors.Join(err, e.client.Close())
	}
	err = errors.Join(err, e.traffic.Close())
	e.server.Close()
	return err
}
