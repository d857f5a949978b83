package observe

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/push"

	"ratescope/feed/connect"
	"ratescope/feed/hot"
	"ratescope/feed/pace"
)

// vigil waits for the first write after a silence. The server tells of it on a connection of
// its own, as it tells caches what to forget (CLIENT TRACKING with BCAST, Redis 6), so that
// neither side does anything while nothing happens, and a request is seen at once. After the
// first write it hangs up: where much is written, polling is cheaper. What it hears is a hint
// to read, never the count. Its methods are safe for concurrent use; without a client it never
// begins.
type vigil struct {
	client  *redis.Client // every connection of which is told of writes
	wanted  chan struct{}
	stirred chan struct{} // holds a token for the director when something was written
	over    chan struct{} // … and for keep

	armed  atomic.Bool
	heard  atomic.Int64 // writes, and beginnings
	events atomic.Int64 // writes that were not told as a cost yet
	begun  atomic.Int64 // beginnings, likewise
	missed atomic.Int64 // news in a row of which it had not told
}

const (
	vigilRest   = 500 * time.Millisecond // between two
	vigilPing   = 20 * time.Second       // whether the connection is still there
	vigilMissed = 3                      // before it is believed no more, for deafFor
	vigilTurns  = 6                      // of the server, for a connection that introduces itself
)

func newVigil(c redis.UniversalClient) *vigil {
	v := &vigil{wanted: make(chan struct{}, 1), stirred: make(chan struct{}, 1), over: make(chan struct{}, 1)}
	v.client, _ = c.(*redis.Client)
	if v.client == nil || v.client.RegisterPushNotificationHandler(hot.Pushed, v, false) != nil {
		v.client = nil
	}
	return v
}

// changes tells states apart: it is the same as before when nothing was written since. told is
// false while nobody listens.
func (v *vigil) changes() (state string, told bool) {
	n := v.heard.Load()
	return "heard " + strconv.FormatInt(n, 10), v.armed.Load()
}

// want asks for the vigil to begin.
func (v *vigil) want() {
	if v.client != nil && !v.armed.Load() {
		poke(v.wanted)
	}
}

// unheard notes news that it should have told of, and did not.
func (v *vigil) unheard() { v.missed.Add(1) }

// cost returns what it took of the server since the call before, where a turn costs so much.
func (v *vigil) cost(turn time.Duration) time.Duration {
	return time.Duration(v.events.Swap(0))*eventPrice + time.Duration(v.begun.Swap(0))*vigilTurns*turn
}

// HandlePushNotification implements push.NotificationHandler.
func (v *vigil) HandlePushNotification(context.Context, push.NotificationHandlerContext, []any) error {
	v.events.Add(1)
	v.heard.Add(1)
	v.missed.Store(0)
	poke(v.stirred)
	poke(v.over)
	return nil
}

// run keeps vigil whenever that is wanted, until ctx ends.
func (v *vigil) run(ctx context.Context) {
	for v.client != nil {
		select {
		case <-ctx.Done():
			return
		case <-v.wanted:
		}
		rest := vigilRest
		if err := v.keep(ctx); err != nil && !connect.Away(err) || v.missed.Load() >= vigilMissed {
			v.missed.Store(0)
			rest = deafFor // it may not listen, or is told nothing
		}
		if pace.Sleep(ctx, rest) != nil {
			return
		}
	}
}

// keep listens until something is written. The error says why it could not.
func (v *vigil) keep(ctx context.Context) error {
	v.begun.Add(1)
	p := v.client.Subscribe(ctx)
	if err := p.Subscribe(ctx, hot.Channel); err != nil {
		p.Close()
		return err
	}
	if _, err := p.ReceiveTimeout(ctx, connect.Timeout); err != nil {
		p.Close()
		return err
	}
	before := v.heard.Add(1)
	v.armed.Store(true)
	ended := make(chan error, 1)
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			_, err := p.ReceiveTimeout(ctx, 0)
			if err != nil {
				ended <- err
				return
			}
		}
	})
	defer listening.Wait()
	defer p.Close()
	defer v.armed.Store(false)
	alive := time.NewTicker(vigilPing)
	defer alive.Stop()
	for v.heard.Load() == before && v.missed.Load() < vigilMissed {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-v.over: // or it is an old token
		case <-alive.C:
			if err := p.Ping(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// close ends the connections.
func (v *vigil) close() error {
	if v.client == nil {
		return nil
	}
	return v.client.Close()
}
