package watch

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/push"

	"ratescope/feed/connect"
	"ratescope/feed/watch/hotkeys"
	"ratescope/internal/backoff"
	"ratescope/internal/panics"
	"ratescope/model/handoff"
)

// firstWrite waits for the first write after a silence. The server announces it on a
// connection of its own, as it tells caches what to forget (CLIENT TRACKING with BCAST,
// Redis 6), so that neither side does anything while nothing happens, and a request is seen
// at once. After the first write it hangs up: where much is written, polling is cheaper. An
// announcement is a reason to read, never the count. Its methods are safe for concurrent
// use; without a client it never begins.
type firstWrite struct {
	client  *redis.Client  // every connection of which is told of writes
	wanted  handoff.Signal // run shall begin
	written handoff.Signal // for Watch.Run
	over    handoff.Signal // for listen

	armed  atomic.Bool
	seen   atomic.Int64 // writes, and beginnings
	events atomic.Int64 // writes whose cost was not taken yet
	begun  atomic.Int64 // beginnings, likewise
	vain   atomic.Int64 // news in a row that were not announced
}

const (
	firstWriteRest   = 500 * time.Millisecond // between two
	firstWritePing   = 20 * time.Second       // whether the connection is still there
	firstWriteMissed = 3                      // before it is believed no more, for refusedFor
	firstWriteTrips  = 6                      // round trips of a connection that introduces itself
)

func newFirstWrite(c redis.UniversalClient) *firstWrite {
	f := &firstWrite{wanted: handoff.NewSignal(), written: handoff.NewSignal(), over: handoff.NewSignal()}
	f.client, _ = c.(*redis.Client)
	if f.client == nil || f.client.RegisterPushNotificationHandler(hotkeys.Pushed, f, false) != nil {
		f.client = nil
	}
	return f
}

// changes tells states apart: it is the same as before when nothing was written since. known
// is false while it does not listen.
func (f *firstWrite) changes() (state string, known bool) {
	return "seen " + strconv.FormatInt(f.seen.Load(), 10), f.armed.Load()
}

// want asks it to begin.
func (f *firstWrite) want() {
	if f.client != nil && !f.armed.Load() {
		f.wanted.Send()
	}
}

// missed notes news that it should have announced, and did not.
func (f *firstWrite) missed() { f.vain.Add(1) }

// cost returns what it took of the server since the call before, where a round trip costs so
// much.
func (f *firstWrite) cost(trip time.Duration) time.Duration {
	return time.Duration(f.events.Swap(0))*eventPrice + time.Duration(f.begun.Swap(0))*firstWriteTrips*trip
}

// HandlePushNotification implements push.NotificationHandler.
func (f *firstWrite) HandlePushNotification(context.Context, push.NotificationHandlerContext, []any) error {
	f.events.Add(1)
	f.seen.Add(1)
	f.vain.Store(0)
	f.written.Send()
	f.over.Send()
	return nil
}

// run listens whenever that is wanted, until ctx ends.
func (f *firstWrite) run(ctx context.Context) {
	for f.client != nil {
		select {
		case <-ctx.Done():
			return
		case <-f.wanted:
		}
		rest := firstWriteRest
		if err := f.listen(ctx); err != nil && !connect.Away(err) || f.vain.Load() >= firstWriteMissed {
			f.vain.Store(0)
			rest = refusedFor // it may not listen, or nothing is announced to it
		}
		if backoff.Sleep(ctx, rest) != nil {
			return
		}
	}
}

// listen waits until something is written. The error says why it could not.
func (f *firstWrite) listen(ctx context.Context) error {
	f.begun.Add(1)
	p := f.client.Subscribe(ctx)
	if err := p.Subscribe(ctx, hotkeys.Channel); err != nil {
		p.Close()
		return err
	}
	if _, err := p.ReceiveTimeout(ctx, connect.Timeout); err != nil {
		p.Close()
		return err
	}
	before := f.seen.Add(1)
	f.armed.Store(true)
	ended := make(chan error, 1)
	var listening sync.WaitGroup
	listening.Go(func() {
		ended <- panics.Call(func() error {
			for {
				if _, err := p.ReceiveTimeout(ctx, 0); err != nil {
					return err
				}
			}
		})
	})
	defer listening.Wait()
	defer p.Close()
	defer f.armed.Store(false)
	alive := time.NewTicker(firstWritePing)
	defer alive.Stop()
	for f.seen.Load() == before && f.vain.Load() < firstWriteMissed {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-f.over: // or one that was sent before
		case <-alive.C:
			if err := p.Ping(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// close ends the connections.
func (f *firstWrite) close() error {
	if f.client == nil {
		return nil
	}
	return f.client.Close()
}
