package watch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/push"

	"ratescope/feed/connect"
	"ratescope/feed/watch/hotkeys"
	"ratescope/internal/goroutine"
	"ratescope/model/handoff"
)

// announcements tells of every write while there are few, so that only keys that were written need to be read. The server
// announces a write with an invalidation message (CLIENT TRACKING with BCAST, Redis 6 and later) on a connection of
// its own: while nothing happens neither side does any work, and a request is seen at once.
// Where there are many writes the connection is closed for a while. An announcement causes keys to be read; it is not
// counted as a request. The methods are safe for concurrent use. Without a client it never listens.
type announcements struct {
	client  *redis.Client  // with tracking on for all of its connections; nil for none
	most    int64          // writes a second beyond which it does not listen
	written handoff.Signal // tells the session that something was written after a pause
	busy    handoff.Signal // tells listen to look whether it is to end

	seen        atomic.Int64 // writes, and starts of listening
	events      atomic.Int64 // writes since the last call of cost
	begun       atomic.Int64 // starts of listening since the last call of cost
	unannounced atomic.Int64 // consecutive writes that were found without an announcement

	mu     sync.Mutex
	keys   map[string]int // that were written since the last call of take, with how often
	since  time.Time      // since when every write is announced; zero while it does not listen
	latest time.Time      // when the latest write was announced
}

const (
	listenRest   = 500 * time.Millisecond // pause before it listens again
	listenBusy   = 5 * time.Second        // likewise, where there were many writes
	listenPing   = 20 * time.Second       // interval of checks that the connection is alive
	listenMissed = 3                      // missing announcements after which it stops for refusedFor
	listenTrips  = 6                      // round trips that set up a connection
	idleAfter    = 2 * time.Second        // time without a write after which the server is idle
	listenShare  = 0.5                    // of the budget goes to announcements at most
	eventPrice   = 2 * time.Microsecond   // server time of one announcement, Redis 7.0
)

// newAnnouncements prepares to listen over a client with tracking on, within a budget; nil is for none.
func newAnnouncements(c redis.UniversalClient, budget float64) *announcements {
	f := &announcements{most: int64(listenShare * budget / eventPrice.Seconds()), written: handoff.NewSignal(), busy: handoff.NewSignal(),
		keys: make(map[string]int)}
	f.client, _ = c.(*redis.Client)
	if f.client == nil || f.client.RegisterPushNotificationHandler(hotkeys.Pushed, f, false) != nil {
		f.client = nil
	}
	return f
}

// writes returns a number that stays the same as long as nothing is written; known is false while it does not listen.
func (f *announcements) writes() (n int64, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen.Load(), !f.since.IsZero()
}

// idle reports whether nothing was written for idleAfter, and whatever is written next will be announced.
func (f *announcements) idle(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.since.IsZero() && now.Sub(later(f.since, f.latest)) > idleAfter
}

// take returns the keys that were written since the previous call, as far as it was listening, since when every
// write is announced, zero where that is not so, and when the latest one was.
func (f *announcements) take() (keys map[string]int, since, latest time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	keys, f.keys = f.keys, make(map[string]int)
	return keys, f.since, f.latest
}

// listens notes since when every write is announced.
func (f *announcements) listens(since time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.since = since
}

// missed notes a write that should have been announced and was not.
func (f *announcements) missed() {
	f.unannounced.Add(1)
	f.busy.Send()
}

// cost returns the server time that it took since the previous call; trip is the server time of one round trip.
func (f *announcements) cost(trip time.Duration) time.Duration {
	return time.Duration(f.events.Swap(0))*eventPrice + time.Duration(f.begun.Swap(0))*listenTrips*trip
}

// HandlePushNotification implements push.NotificationHandler. A message has a name and the
// list of keys, or nil when a database was emptied.
func (f *announcements) HandlePushNotification(_ context.Context, _ push.NotificationHandlerContext, pushed []any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, now := int64(1), time.Now()
	if keys, ok := pushed[len(pushed)-1].([]any); ok {
		n = int64(len(keys))
		for _, k := range keys {
			name, _ := k.(string)
			f.keys[name]++
		}
	} else if !f.since.IsZero() {
		f.since = now
	}
	f.events.Add(n)
	f.unannounced.Store(0)
	if most := max(f.most, 1); (f.seen.Add(n)-n)/most < f.seen.Load()/most {
		f.busy.Send()
	}
	if now.Sub(f.latest) > quickEvery {
		f.written.Send()
	}
	f.latest = now
	return nil
}

// run listens until ctx ends, while the server answers.
func (f *announcements) run(ctx context.Context, live func() bool) {
	for f.client != nil {
		rest := listenRest
		if live() {
			err := f.listen(ctx)
			switch {
			case err == nil:
				rest = listenBusy
			case !connect.Away(err) || f.unannounced.Load() >= listenMissed:
				f.unannounced.Store(0)
				rest = refusedFor // listening is not permitted, or writes are not announced
			}
		}
		if goroutine.Sleep(ctx, rest) != nil {
			return
		}
	}
}

// errUnannounced ends listening where writes are not announced.
var errUnannounced = errors.New("writes are not announced")

// listen listens until there are too many writes in a second, writes go unannounced, or ctx ends. It fails when
// the server refuses or the connection breaks.
func (f *announcements) listen(ctx context.Context) error {
	f.begun.Add(1)
	p := f.client.Subscribe(ctx)
	err := p.Subscribe(ctx, hotkeys.Channel)
	if err == nil {
		_, err = p.ReceiveTimeout(ctx, connect.Timeout)
	}
	if err != nil {
		p.Close()
		return err
	}
	f.seen.Add(1)
	f.listens(time.Now())
	ended := make(chan error, 1)
	var listening sync.WaitGroup
	listening.Go(func() {
		ended <- goroutine.Call(func() error {
			for {
				if _, err := p.ReceiveTimeout(ctx, 0); err != nil {
					return err
				}
			}
		})
	})
	defer listening.Wait()
	defer p.Close()
	defer f.listens(time.Time{})
	alive := time.NewTicker(listenPing)
	defer alive.Stop()
	for from, begun := f.seen.Load(), time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-f.busy:
			n, now := f.seen.Load(), time.Now()
			switch over := now.Sub(begun); {
			case f.unannounced.Load() >= listenMissed:
				return errUnannounced
			case float64(n-from) > float64(f.most)*over.Seconds() && n-from >= f.most:
				return nil
			}
			from, begun = n, now
		case <-alive.C:
			if err := p.Ping(ctx); err != nil {
				return err
			}
		}
	}
}

// close closes the connections.
func (f *announcements) close() error {
	if f.client == nil {
		return nil
	}
	return f.client.Close()
}
