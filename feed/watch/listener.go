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
// request is seen when it comes and not at the next refresh. An entry is a reason to read,
// never the count.
//
// A single server needs one connection for all streams. A cluster takes no command with
// keys of several slots, not even of one node, so that there every slot needs a connection
// of its own: the most important readsPerNode of a node have one, the others are polled.
type listener struct {
	wakeups wakeups
	spent   atomic.Int64 // of the server's time, in ns, not taken yet
	turn    atomic.Int64 // what one round trip costs the server, in ns

	mu      sync.Mutex
	reads   map[string]*blockingRead
	change  handoff.Signal
	refused string // what would allow to listen, where that is forbidden
}

// blockingRead is what one connection waits for.
type blockingRead struct {
	node    redis.UniversalClient
	last    map[string]string // stream → id of the last entry read; empty ends it
	running bool
}

const (
	maxListened  = 64 // streams
	readsPerNode = 4  // connections to a node of a cluster
	blockFor     = time.Second

	// Where requests come often, a wakeup saves nothing and costs the server more than polling,
	// so that a busier stream than this many entries a second is polled.
	busyRate, quietAgain = 40, 20

	// readPrice is the least that one XREAD takes of a server beside its streams: it is
	// parsed, it blocks and is woken (measured on Redis 7.0).
	readPrice   = 10 * time.Microsecond
	streamPrice = 500 * time.Nanosecond
)

func newListener(w wakeups) *listener {
	return &listener{wakeups: w, reads: make(map[string]*blockingRead), change: handoff.NewSignal()}
}

// follow says which streams matter, by which connection, and how far they have been read.
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

// cost returns what listening took of the server since the call before.
func (l *listener) cost() time.Duration { return time.Duration(l.spent.Swap(0)) }

// lack says why streams are not listened to; "" when they are.
func (l *listener) lack() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == "" {
		return ""
	}
	return "streams may not be listened to by this user, so that they are polled: " + l.refused
}

// run listens until ctx ends, in goroutines of the group.
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

// streams returns the arguments of XREAD: the keys and then their ids.
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
		case err != nil: // polling does as well; in a cluster a slot may have moved
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

// listen says to the listener which streams are on screen, in their order. Those that it
// waits for need no polling.
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
