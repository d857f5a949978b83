package observe

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// subscribe tells the subscriber which keys are on screen, and finds out of which of them
// it can be trusted to tell: those need not be polled between two refreshes.
func (w *observer) subscribe(ctx context.Context) {
	want := make(map[string]*subscription)
	now := w.clock.at(time.Now())
	for _, l := range w.close {
		l.told, l.at = false, ""
		keys, class := l.Keys(now)
		if l.heard || l.busy || len(keys) == 0 {
			continue
		}
		_, node := w.earFor(ctx, keys[0])
		single, ok := node.(*redis.Client)
		if !ok {
			continue
		}
		l.at, _ = w.addressOf(node)
		sub := want[l.at]
		if sub == nil {
			sub = &subscription{node: single, want: make(map[string]subject)}
			want[l.at] = sub
		}
		if len(sub.want) >= 3*mostSubjects {
			continue
		}
		channels := make([]string, len(keys))
		for i, k := range keys {
			channels[i] = fmt.Sprintf("__keyspace@%d__:%s", w.subscriber.db, k)
			sub.want[channels[i]] = subject{l.Name, class}
		}
		l.told = w.subscriber.trusts(l.at, channels[:1], class)
	}
	w.subscriber.follow(want)
}
