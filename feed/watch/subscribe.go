package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// subscribe gives the subscriber the keys on screen, and marks the trackers whose changes are
// announced: these need no polling between two refreshes.
func (r *reader) subscribe(ctx context.Context) {
	want := make(map[string]*subscription)
	now := r.link.clock.at(time.Now())
	for _, t := range r.limiters.visible {
		t.announced, t.node = false, ""
		keys, class := t.Keys(now)
		if t.blocking || t.busy || len(keys) == 0 {
			continue
		}
		_, node := r.link.nodeOf(ctx, keys[0])
		single, ok := node.(*redis.Client)
		if !ok {
			continue
		}
		t.node, _ = r.link.addressOf(node)
		sub := want[t.node]
		if sub == nil {
			sub = &subscription{node: single, want: make(map[string]subject)}
			want[t.node] = sub
		}
		if len(sub.want) >= 3*maxSubjects {
			continue
		}
		channels := make([]string, len(keys))
		for i, k := range keys {
			channels[i] = fmt.Sprintf("__keyspace@%d__:%s", r.subscriber.db, k)
			sub.want[channels[i]] = subject{t.Name, class}
		}
		t.announced = r.subscriber.trusts(t.node, channels[:1], class)
	}
	r.subscriber.follow(want)
}
