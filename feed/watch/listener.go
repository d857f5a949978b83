package watch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/internal/backoff"
	"ratescope/internal/panics"
	"ratescope/model/handoff"
)

// listener waits for the next entries of the streams on screen with XREAD BLOCK, so that a
// request is seen when it comes and not at the next refresh. A new entry wakes the tracker of
// its stream, which then reads the stream; the entry itself is not counted.
//
// A single server needs one connection for all streams. A cluster refuses a command with keys
// of several slots, even on one node, so that there every slot needs a connection of its own:
// the readsPerNode most important slots of each node get one, the others are polled.
type listener struct {
	wakeups wakeups
	spent   atomic.Int64 // server time since the last call of cost, in ns
	turn    atomic.Int64 // server time of one round trip, in ns

	mu      sync.Mutex
	reads   map[string]*blockingRead // by the name of the connection, as link.nodeOf gives it
	change  handoff.Signal
	refused string // the ACL command that would permit XREAD; "" where it is permitted
}

// blockingRead is a connection that waits for entries.
type blockingRead struct {
	node    redis.UniversalClient
	last    map[string]string // stream → id of the last entry read; the read ends when it is empty
	running bool
}

const (
	maxListened  = 64 // streams
	readsPerNode = 4  // connections to a node of a cluster
	blockFor     = time.Second

	// A stream with more than busyRate entries a second is polled, until it has fewer than
	// quietAgain: for frequent entries a wakeup comes hardly sooner than the next poll, and
	// costs the server more.
	busyRate, quietAgain = 40, 20

	// readPrice is the least server time of one XREAD without its streams: parsing, blocking
	// and waking up (measured on Redis 7.0). streamPrice is the server time of each stream.
	readPrice   = 10 * time.Microsecond
	streamPrice = 500 * time.Nanosecond
)

func newListener(w wakeups) *listener {
	return &listener{wakeups: w, reads: make(map[string]*blockingRead), change: handoff.NewSignal()}
}

// follow sets the streams to wait for, by connection, with the ids up to which they were read.
func (l *listener) follow(want map[string]*blockingRead) {
	l.mu.Lock()
	if l.refused != "" {
		want = nil
	}
	for name, b := range l.reads {
		if want[name] == nil {
			b.last = nil
		}
	}
	for name, w := range want {
		b := l.reads[name]
		if b == nil {
			b = w
			l.reads[name] = b
		}
		b.last = w.last
	}
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

// run listens until ctx ends, each connection in a goroutine of the group.
func (l *listener) run(ctx context.Context, all *panics.Group) {
	for {
		l.mu.Lock()
		for name, b := range l.reads {
			if !b.running {
				b.running = true
				all.Go(func() { l.listen(ctx, name, b) })
			}
		}
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-l.change:
		}
	}
}

// streams returns the arguments of XREAD: the keys, followed by the id for each key after which
// entries are wanted. seen holds the ids that blocking reads have returned.
func (l *listener) streams(b *blockingRead, seen map[string]string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := make([]string, 0, 2*len(b.last))
	for k := range b.last {
		keys = append(keys, k)
	}
	for _, k := range keys {
		id := b.last[k]
		if s, ok := seen[k]; ok && decode.LaterID(s, id) {
			id = s
		}
		keys = append(keys, id)
	}
	return keys
}

// listen waits for entries on one connection until ctx ends or no stream is left.
func (l *listener) listen(ctx context.Context, name string, b *blockingRead) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.reads[name] == b {
			delete(l.reads, name)
		}
	}()
	seen := make(map[string]string)
	for ctx.Err() == nil {
		streams := l.streams(b, seen)
		if len(streams) == 0 {
			return
		}
		within, cancel := context.WithTimeout(ctx, blockFor+connect.Timeout)
		got, err := b.node.XRead(within, &redis.XReadArgs{Streams: streams, Count: 1, Block: blockFor}).Result()
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
		case err != nil: // refreshes go on reading the streams; in a cluster a slot may have moved
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
func (r *reader) listen(ctx context.Context) {
	want := make(map[string]*blockingRead)
	perNode := make(map[string]int)
	n, refused := 0, r.listener.lack() != ""
	for _, t := range r.limiters.visible {
		t.blocking = false
		t.busy = t.Rate() > busyRate || t.busy && t.Rate() > quietAgain
		key, id, ok := t.Stream()
		if !ok || refused || t.busy || n >= maxListened {
			continue
		}
		name, node := r.link.nodeOf(ctx, key)
		if node == nil {
			continue
		}
		b := want[name]
		if b == nil {
			addr, clustered := r.link.addressOf(node)
			if clustered && perNode[addr] >= readsPerNode {
				continue
			}
			perNode[addr]++
			b = &blockingRead{node: node, last: make(map[string]string)}
			want[name] = b
		}
		b.last[key], t.blocking = id, true
		n++
	}
	r.listener.follow(want)
}
