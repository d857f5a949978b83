// Package demo is a Redis in process with traffic of its own: personas that can be told
// apart on screen send requests through the real limiters, and a past is behind each of
// them before the first batch.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/fire"
	"ratescope/feed/track"
	"ratescope/feed/watch"
	"ratescope/internal/panics"
	"ratescope/limiter"
	"ratescope/model"
)

// Embedded is a Redis in process with demo traffic, and the source that watches it. The
// traffic flows while Run does.
type Embedded struct {
	server   *miniredis.Miniredis
	endpoint *connect.Endpoint
	traffic  *redis.Client // writes the demo
	watch    *watch.Watch
	actors   []*actor
	pasts    map[string]*track.Past // filled when Run begins
	expected []*actor               // watched from the first batch on

	injectors []*fire.Injector
}

// New starts the server, empty; Run puts two windows of past behind every key
// before its first batch, so that the screen need not wait for them. Rules of o hold for
// keys that the demo does not know.
func New(o watch.Options) (*Embedded, error) {
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		return nil, fmt.Errorf("the embedded Redis cannot listen on this machine: %w", err)
	}
	e := &Embedded{server: m}
	e.endpoint = connect.Local(m.Addr(), "embedded Redis")
	e.endpoint.Trace = o.Trace
	e.traffic = redis.NewClient(&redis.Options{Addr: m.Addr(), Protocol: 2, MaxRetries: -1, PoolSize: 2, DisableIdentity: true})
	e.actors = hire(e.traffic)
	e.pasts = make(map[string]*track.Past)
	o.Rules = slices.Concat(castRules(), o.Rules)
	expected := len(o.Keys) == 0 // else only these keys are to be shown
	if expected && len(o.Watch) == 0 {
		o.Watch = []string{"*"}
	}
	e.watch = watch.New(o, e.endpoint, e.pasts)
	for _, a := range e.actors {
		if expected && slices.ContainsFunc(o.Watch, func(p string) bool { return config.MatchGlob(p, a.key) }) {
			e.expected = append(e.expected, a)
		}
	}
	return e, nil
}

// Run implements Source.
func (e *Embedded) Run(ctx context.Context, emit func(model.Batch)) error {
	if len(e.pasts) == 0 { // the first run
		pasts, err := prepare(ctx, e.server, e.traffic, e.actors, limiter.InstantOf(time.Now()))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("the demo cannot be prepared: %w", err)
		}
		maps.Copy(e.pasts, pasts)
		for _, a := range e.expected {
			e.watch.Expect(a.find())
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	traffic, ctx := panics.NewGroup(ctx)
	traffic.Go(func() { perform(ctx, e.actors, e.watch.Announce) })
	err := e.watch.Run(ctx, emit)
	cancel()
	return cmp.Or(traffic.Wait(), err)
}

// Focus implements Focuser.
func (e *Embedded) Focus(keys []string) { e.watch.Focus(keys) }

// Injector returns what fires at the embedded server. It is always armed, without an end: nothing
// of others is there.
func (e *Embedded) Injector(o fire.Options) *fire.Injector {
	o.Armed, o.ByHand, o.Denials, o.Sent = true, false, true, e.watch.Written
	i := fire.New(e.endpoint, o, func() time.Duration { return 0 })
	e.injectors = append(e.injectors, i)
	return i
}

// Close ends the server. It is to be called after Run has returned.
func (e *Embedded) Close() error {
	err := errors.Join(fire.Close(e.injectors), e.watch.Close(), e.traffic.Close())
	// Miniredis.Close forgets its server before the connections of that have ended, and an INFO that
	// is still being carried out would panic. Therefore they end first, those that block too.
	e.server.CtxCancel()
	e.server.Server().Close()
	e.server.Close()
	return err
}
