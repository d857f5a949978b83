package observe

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/pace"
	"ratescope/feed/shape"
)

// listener waits for news of the streams on screen with XREAD BLOCK, on one connection, so
// that a request is seen when it comes and not at the next refresh. What it hears is a
// hint to read, never the count. Where requests come often, hints save nothing and cost
// the server more than polling, so that it listens less and less then.
type listener struct {
	client redis.UniversalClient
	heard  chan []string // keys with news

	mu     sync.Mutex
	last   map[string]string // stream → id of the last entry read
	change chan struct{}
}

const (
	mostListened = 32
	blockFor     = 250 * time.Millisecond
	hintGap      = 15 * time.Millisecond  // between two hints, at least
	calm         = 100 * time.Millisecond // a wait for news that is no hurry
	deafAfter    = 8                      // hints in a hurry, in a row, before listening less
)

func newListener(c redis.UniversalClient) *listener {
	return &listener{client: c, heard: make(chan []string, 1), change: make(chan struct{}, 1)}
}

// follow says which streams matter, and how far they have been read.
func (l *listener) follow(last map[string]string) {
	l.mu.Lock()
	l.last = last
	l.mu.Unlock()
	select {
	case l.change <- struct{}{}:
	default:
	}
}

// streams returns the arguments of XREAD: the keys and then their ids.
func (l *listener) streams(heard map[string]string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := make([]string, 0, 2*len(l.last))
	for k := range l.last {
		keys = append(keys, k)
	}
	for _, k := range keys {
		id := l.last[k]
		if h, ok := heard[k]; ok && shape.LaterID(h, id) {
			id = h
		}
		keys = append(keys, id)
	}
	return keys
}

// run listens until ctx ends.
func (l *listener) run(ctx context.Context) {
	if _, ok := l.client.(*redis.Client); !ok {
		return // in a cluster every node would need a connection of its own
	}
	heard := make(map[string]string)
	eager := 0
	for ctx.Err() == nil {
		streams := l.streams(heard)
		if len(streams) == 0 {
			select {
			case <-ctx.Done():
			case <-l.change:
			}
			continue
		}
		within, cancel := context.WithTimeout(ctx, blockFor+connect.Timeout)
		begun := time.Now()
		got, err := l.client.XRead(within, &redis.XReadArgs{Streams: streams, Count: 1, Block: blockFor}).Result()
		cancel()
		pause := hintGap
		switch {
		case err == redis.Nil:
			eager, pause = 0, 0
		case connect.Code(err) == "NOPERM" || connect.Code(err) == "ERR":
			return // polling does as well
		case err != nil:
			pause = time.Second
		default:
			var keys []string
			for _, s := range got {
				keys = append(keys, s.Stream)
				if n := len(s.Messages); n > 0 {
					heard[s.Stream] = s.Messages[n-1].ID
				}
			}
			select {
			case l.heard <- keys:
			default:
			}
			if eager++; time.Since(begun) > calm {
				eager = 0
			}
			if eager > deafAfter {
				pause = blockFor
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

// listen tells the listener which streams are on screen.
func (w *observer) listen() {
	last := make(map[string]string)
	for _, l := range w.looks {
		if key, id, ok := l.Stream(); ok && l.rank == onScreen && len(last) < mostListened {
			last[key] = id
		}
	}
	w.listener.follow(last)
}
