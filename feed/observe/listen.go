package observe

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/pace"
	"ratescope/feed/shape"
)

// listener waits for news of the streams on screen with XREAD BLOCK, so that a request is
// seen when it comes and not at the next refresh. What it hears is a hint to read, never
// the count.
//
// A single server needs one connection for all streams. A cluster takes no command with
// keys of several slots, not even of one node, so that there every slot needs a connection
// of its own: the most important mostEars of a node have one, the others are polled.
type listener struct {
	hints *hints
	spent atomic.Int64 // of the server's time, in ns, not told yet
	turn  atomic.Int64 // what one turn of the server costs, in ns

	mu     sync.Mutex
	ears   map[string]*ear
	change chan struct{}
	deaf   string // what would allow to listen, where that is forbidden
}

// ear is what one connection listens to.
type ear struct {
	node   redis.UniversalClient
	last   map[string]string // stream → id of the last entry read; empty ends it
	change chan struct{}
	runs   bool
}

const (
	mostListened = 64 // streams
	mostEars     = 4  // connections to a node of a cluster
	blockFor     = time.Second
	hintGap      = 10 * time.Millisecond // between two hints, at least
	hintGapDemo  = 100 * time.Millisecond

	// Where requests come often, hints save nothing and cost the server more than polling,
	// so that a busier stream than this many entries a second is polled.
	tooBusy, calmAgain = 40, 20

	// listenPrice is the least that one XREAD takes of a server beside its streams: it is
	// parsed, it blocks and is woken (measured on Redis 7.0).
	listenPrice = 10 * time.Microsecond
	streamPrice = 500 * time.Nanosecond
)

func newListener(h *hints) *listener {
	return &listener{hints: h, ears: make(map[string]*ear), change: make(chan struct{}, 1)}
}

// follow says which streams matter, by what ear, and how far they have been read.
func (l *listener) follow(want map[string]*ear) {
	l.mu.Lock()
	if l.deaf != "" {
		want = nil
	}
	for name, e := range l.ears {
		if want[name] == nil {
			e.last = nil
			poke(e.change)
		}
	}
	for name, w := range want {
		e := l.ears[name]
		if e == nil {
			e = w
			e.change = make(chan struct{}, 1)
			l.ears[name] = e
		}
		e.last = w.last
		poke(e.change)
	}
	l.mu.Unlock()
	poke(l.change)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// cost returns what listening took of the server since the call before.
func (l *listener) cost() time.Duration { return time.Duration(l.spent.Swap(0)) }

// lack says why streams are not listened to; "" when they are.
func (l *listener) lack() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deaf == "" {
		return ""
	}
	return "streams may not be listened to by this user, so that they are polled: " + l.deaf
}

// run listens until ctx ends.
func (l *listener) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		l.mu.Lock()
		for name, e := range l.ears {
			if !e.runs {
				e.runs = true
				all.Go(func() { l.listen(ctx, name, e) })
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
func (l *listener) streams(e *ear, heard map[string]string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := make([]string, 0, 2*len(e.last))
	for k := range e.last {
		keys = append(keys, k)
	}
	for _, k := range keys {
		id := e.last[k]
		if h, ok := heard[k]; ok && shape.LaterID(h, id) {
			id = h
		}
		keys = append(keys, id)
	}
	return keys
}

// listen waits for news by one ear until ctx ends or nothing is left to listen to.
func (l *listener) listen(ctx context.Context, name string, e *ear) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.ears[name] == e {
			delete(l.ears, name)
		}
	}()
	heard := make(map[string]string)
	for ctx.Err() == nil {
		streams := l.streams(e, heard)
		if len(streams) == 0 {
			return
		}
		within, cancel := context.WithTimeout(ctx, blockFor+connect.Timeout)
		got, err := e.node.XRead(within, &redis.XReadArgs{Streams: streams, Count: 1, Block: blockFor}).Result()
		cancel()
		l.spent.Add(max(l.turn.Load(), int64(listenPrice)) + int64(time.Duration(len(streams)/2)*streamPrice))
		pause := hintGap
		switch {
		case err == redis.Nil:
			pause = 0
		case connect.Forbidden(err) == "xread":
			l.mu.Lock()
			l.deaf = connect.Remedy(err)
			l.mu.Unlock()
			return
		case err != nil: // polling does as well; in a cluster a slot may have moved
			pause = time.Second
		default:
			for _, s := range got {
				l.hints.add(s.Stream)
				if n := len(s.Messages); n > 0 {
					heard[s.Stream] = s.Messages[n-1].ID
				}
			}
		}
		if len(heard) > 4*mostListened {
			clear(heard)
		}
		if pace.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// listen tells the listener which streams are on screen, in their order. Those that it
// hears need no polling.
func (w *observer) listen(ctx context.Context) {
	want := make(map[string]*ear)
	perNode := make(map[string]int)
	n, deaf := 0, w.listener.lack() != ""
	for _, l := range w.close {
		l.heard = false
		l.busy = l.Rate() > tooBusy || l.busy && l.Rate() > calmAgain
		key, id, ok := l.Stream()
		if !ok || deaf || l.busy || n >= mostListened {
			continue
		}
		name, node := w.earFor(ctx, key)
		if node == nil {
			continue
		}
		e := want[name]
		if e == nil {
			addr, clustered := w.addressOf(node)
			if clustered && perNode[addr] >= mostEars {
				continue
			}
			perNode[addr]++
			e = &ear{node: node, last: make(map[string]string)}
			want[name] = e
		}
		e.last[key], l.heard = id, true
		n++
	}
	w.listener.follow(want)
}

// earFor names the connection that may listen to a key, and its node; nil when it is not
// known which node holds the key.
func (w *observer) earFor(ctx context.Context, key string) (string, redis.UniversalClient) {
	node, err := w.reads.For(ctx, key)
	switch {
	case err != nil:
		return "", nil
	case node == nil:
		return "", w.client
	}
	return node.Options().Addr + "/" + hashTag(key), node
}

// hashTag returns the part of a key that decides about its slot, by the rule of Redis
// Cluster: what stands between the first { and the next }, unless that is nothing.
func hashTag(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}

// addressOf tells the nodes of a cluster apart.
func (w *observer) addressOf(node redis.UniversalClient) (addr string, clustered bool) {
	if _, clustered = w.client.(*redis.ClusterClient); !clustered {
		return "", false
	}
	n, ok := node.(*redis.Client)
	if !ok {
		return "", true
	}
	return n.Options().Addr, true
}
