package watch

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/push"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/watch/hotkeys"
	"ratescope/internal/goroutine"
	"ratescope/model/handoff"
)

// listener waits for the next entries of the streams on screen with XREAD BLOCK, over one connection, so that a
// request is seen when it comes and not at the next refresh. A new entry wakes the tracker of its stream, which then
// reads the stream; the entry itself is not counted. A cluster refuses a command with keys of several slots, so that
// its streams are polled.
type listener struct {
	wakeups wakeups
	client  redis.UniversalClient
	spent   atomic.Int64 // server time since the last call of cost, in ns
	turn    atomic.Int64 // server time of one round trip, in ns

	mu      sync.Mutex
	last    map[string]string // stream → id of the last entry read
	change  handoff.Signal
	refused string // the ACL command that would permit XREAD; "" where it is permitted
}

const (
	maxListened = 64 // streams
	blockFor    = time.Second

	// A stream with more than busyRate entries a second is polled, until it has fewer than
	// quietAgain: for frequent entries a wakeup comes hardly sooner than the next poll, and
	// costs the server more.
	busyRate, quietAgain = 40, 20

	// readPrice is the least server time of one XREAD without its streams: parsing, blocking
	// and waking up (measured on Redis 7.0). streamPrice is the server time of each stream.
	readPrice   = 10 * time.Microsecond
	streamPrice = 500 * time.Nanosecond
)

// follow sets the streams to wait for, with the ids up to which they were read.
func (l *listener) follow(last map[string]string) {
	l.mu.Lock()
	l.last = last
	l.mu.Unlock()
	l.change.Send()
}

// cost returns the server time that listening took since the previous call.
func (l *listener) cost() time.Duration { return time.Duration(l.spent.Swap(0)) }

// lack returns a sentence that says why streams are polled; "" when they are listened to.
func (l *listener) lack() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == "" {
		return ""
	}
	return "streams may not be listened to by this user, so that they are polled: " + l.refused
}

// streams returns the arguments of XREAD: the keys, followed by the id for each key after which
// entries are wanted. seen holds the ids that blocking reads have returned.
func (l *listener) streams(seen map[string]string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := slices.Collect(maps.Keys(l.last))
	for _, k := range keys {
		id := l.last[k]
		if s, ok := seen[k]; ok && decode.LaterID(s, id) {
			id = s
		}
		keys = append(keys, id)
	}
	return keys
}

// run listens until ctx ends or the server refuses.
func (l *listener) run(ctx context.Context) {
	seen := make(map[string]string)
	for ctx.Err() == nil {
		streams := l.streams(seen)
		if len(streams) == 0 {
			select {
			case <-ctx.Done():
			case <-l.change:
			}
			continue
		}
		within, cancel := context.WithTimeout(ctx, blockFor+connect.Timeout)
		got, err := l.client.XRead(within, &redis.XReadArgs{Streams: streams, Count: 1, Block: blockFor}).Result()
		cancel()
		l.spent.Add(max(l.turn.Load(), int64(readPrice)) + int64(time.Duration(len(streams)/2)*streamPrice))
		pause := wakeupGap
		switch {
		case err == redis.Nil:
			pause = 0
		case connect.Forbidden(err) == "xread":
			l.mu.Lock()
			l.refused = connect.Remedy(err)
			l.mu.Unlock()
			return
		case err != nil: // refreshes go on reading the streams
			pause = time.Second
		default:
			for _, s := range got {
				l.wakeups.add(s.Stream)
				if n := len(s.Messages); n > 0 {
					seen[s.Stream] = s.Messages[n-1].ID
				}
			}
		}
		if len(seen) > 4*maxListened {
			clear(seen)
		}
		if goroutine.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// listen gives the listener the streams on screen, the most important first, and marks the
// trackers that it waits for: these need no polling.
func (r *reader) listen() {
	last := make(map[string]string)
	polled := r.link.cluster || r.listener.lack() != ""
	for _, t := range r.limiters.visible {
		t.busy = t.Rate > busyRate || t.busy && t.Rate > quietAgain
		key, id, ok := t.Stream()
		if t.blocking = ok && !polled && !t.busy && len(last) < maxListened; t.blocking {
			last[key] = id
		}
	}
	r.listener.follow(last)
}

// firstWrite waits for the first write after an idle time. The server announces the write with
// an invalidation message (CLIENT TRACKING with BCAST, Redis 6 and later) on a connection of
// its own: while nothing happens neither side does any work, and a request is seen at once.
// After the first write the connection is closed, because polling is cheaper where there are
// many writes. An announcement causes keys to be read; it is not counted as a request. The
// methods are safe for concurrent use. Without a client it never listens.
type firstWrite struct {
	client  *redis.Client  // with tracking on for all of its connections; nil for none
	wanted  handoff.Signal // tells run to listen
	written handoff.Signal // tells the session that something was written
	over    handoff.Signal // tells listen that something was written

	armed       atomic.Bool  // it is listening
	seen        atomic.Int64 // writes, and starts of listening
	events      atomic.Int64 // writes since the last call of cost
	begun       atomic.Int64 // starts of listening since the last call of cost
	unannounced atomic.Int64 // consecutive writes that were found without an announcement
}

const (
	firstWriteRest   = 500 * time.Millisecond // pause before it listens again
	firstWritePing   = 20 * time.Second       // interval of checks that the connection is alive
	firstWriteMissed = 3                      // missing announcements after which it stops for refusedFor
	firstWriteTrips  = 6                      // round trips that set up a connection
	eventPrice       = 3 * time.Microsecond   // server time of one announcement, Redis 7.0
)

// newFirstWrite prepares to listen over a client with tracking on; nil is for none.
func newFirstWrite(c redis.UniversalClient) *firstWrite {
	f := &firstWrite{wanted: handoff.NewSignal(), written: handoff.NewSignal(), over: handoff.NewSignal()}
	f.client, _ = c.(*redis.Client)
	if f.client == nil || f.client.RegisterPushNotificationHandler(hotkeys.Pushed, f, false) != nil {
		f.client = nil
	}
	return f
}

// changes returns a state that stays the same as long as nothing is written. known is false
// while it does not listen.
func (f *firstWrite) changes() (state string, known bool) {
	return "seen " + strconv.FormatInt(f.seen.Load(), 10), f.armed.Load()
}

// want starts listening, unless it listens already.
func (f *firstWrite) want() {
	if f.client != nil && !f.armed.Load() {
		f.wanted.Send()
	}
}

// missed notes a write that should have been announced and was not.
func (f *firstWrite) missed() { f.unannounced.Add(1) }

// cost returns the server time that it took since the previous call; trip is the server time
// of one round trip.
func (f *firstWrite) cost(trip time.Duration) time.Duration {
	return time.Duration(f.events.Swap(0))*eventPrice + time.Duration(f.begun.Swap(0))*firstWriteTrips*trip
}

// HandlePushNotification implements push.NotificationHandler.
func (f *firstWrite) HandlePushNotification(context.Context, push.NotificationHandlerContext, []any) error {
	f.events.Add(1)
	f.seen.Add(1)
	f.unannounced.Store(0)
	f.written.Send()
	f.over.Send()
	return nil
}

// run listens each time want asks for it, until ctx ends.
func (f *firstWrite) run(ctx context.Context) {
	for f.client != nil {
		select {
		case <-ctx.Done():
			return
		case <-f.wanted:
		}
		rest := firstWriteRest
		if err := f.listen(ctx); err != nil && !connect.Away(err) || f.unannounced.Load() >= firstWriteMissed {
			f.unannounced.Store(0)
			rest = refusedFor // listening is not permitted, or writes are not announced
		}
		if goroutine.Sleep(ctx, rest) != nil {
			return
		}
	}
}

// listen waits until something is written, writes go unannounced, or ctx ends. It fails when
// the server refuses or the connection breaks.
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
	defer f.armed.Store(false)
	alive := time.NewTicker(firstWritePing)
	defer alive.Stop()
	for f.seen.Load() == before && f.unannounced.Load() < firstWriteMissed {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-f.over: // possibly left over from earlier, so that the loop checks seen
		case <-alive.C:
			if err := p.Ping(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// close closes the connections.
func (f *firstWrite) close() error {
	if f.client == nil {
		return nil
	}
	return f.client.Close()
}
