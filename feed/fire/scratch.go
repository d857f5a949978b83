package fire

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/safetext"
)

// aimed returns an order as it is sent: with Scratch, to the copy of its key.
func aimed(s model.Order) model.Order {
	if !s.Scratch {
		return s
	}
	s.Key, s.Scratch = layout.ScratchKey(s.Key), false
	if s.Target.Base != "" {
		s.Target.Base = layout.ScratchKey(s.Target.Base)
	}
	return s
}

// scratchWords returns the commands that copy the keys of the order of to those of s. The copy
// expires after two windows, unless a request sets the expiry anew.
func scratchWords(of, s model.Order, now limiter.Instant) (list [][]any) {
	lasts := max(2*s.Target.Limit.Window, time.Second).Milliseconds()
	w := foreign.For(&s.Target)
	to := kept(w, s.Key, s.Target, now)
	for n, from := range kept(w, of.Key, of.Target, now) {
		expire := []any{"pexpire", to[n], lasts}
		if w != nil { // the copied expiry is the end of the window
			expire = append(expire, "nx")
		}
		list = append(list, []any{"copy", from, to[n], "replace"}, expire)
	}
	return list
}

// kept returns the Redis keys that hold a limiter's state at now; w is nil for one of ratescope's own library.
func kept(w *foreign.Writer, key string, t model.Target, now limiter.Instant) (keys []string) {
	if w == nil {
		return t.Keys(key, now)
	}
	for _, f := range w.Fetch(key, &t, now) {
		keys = append(keys, f.Key)
	}
	return keys
}

// copyScratch copies the keys of the order of to those of s.
func (l *link) copyScratch(ctx context.Context, of, s model.Order, now limiter.Instant) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	_, err := l.client().TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, words := range scratchWords(of, s, now) {
			p.Do(ctx, words...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("nothing is fired: %s cannot be copied: %s", safetext.Clean(of.Key), connect.Explain(err, l.endpoint.Shown))
	}
	return nil
}
