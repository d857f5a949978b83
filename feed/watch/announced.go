package watch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/internal/backoff"
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

func newListener(w wakeups, c redis.UniversalClient) *listener {
	return &listener{wakeups: w, client: c, change: handoff.NewSignal()}
}

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
		if backoff.Sleep(ctx, pause) != nil {
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
		t.busy = t.Rate() > busyRate || t.busy && t.Rate() > quietAgain
		key, id, ok := t.Stream()
		if t.blocking = ok && !polled && !t.busy && len(last) < maxListened; t.blocking {
			last[key] = id
		}
	}
	r.listener.follow(last)
}
