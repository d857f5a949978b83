package fire

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/model"
)

// trace finds out whether another program writes to the keys of an action while it is fired. Each request is
// sent in a transaction with a mark of each key before and after it. If there is no other writer, each
// request finds the keys as an earlier one, or the time before the action, has left them. It is safe for
// concurrent use; nil traces nothing.
type trace struct {
	link *link
	keys []string // whose marks are taken; nil if they cannot be
	kind string   // Redis type of keys that may be too large to be read whole; "" for none

	mu      sync.Mutex
	balance map[string]map[mark]int // by key: how often it was left so, less how often it was found so
	lost    bool                    // a request has no answer, so that its marks are missing
}

// mark identifies the contents of a key.
type mark struct {
	digest  [sha1.Size]byte
	expires int64 // in milliseconds since the epoch; -1 never, absent if there is no key
}

const absent = -2

// markedBy holds the commands whose answers are the mark of a key, by kind: a log changes its length or its
// newest entry with each write.
var markedBy = map[string][][]any{
	"":       {{"dump"}},
	"zset":   {{"zcard"}, {"zrange", -1, -1, "withscores"}},
	"stream": {{"xlen"}, {"xrevrange", "+", "-", "count", 1}},
	"list":   {{"llen"}, {"lindex", 0}},
}

// newTrace returns the trace of an order, whose marks are not taken yet.
func (l *link) newTrace(s model.Order) *trace {
	t := &trace{link: l, keys: counted(s.Key, s.Target, l.now()), balance: map[string]map[mark]int{}}
	w := foreign.For(&s.Target)
	switch {
	case s.Target.Described:
	case w != nil:
		t.kind = w.Type
	case s.Target.Algorithm == limiter.SlidingLog:
		t.kind = "zset"
	case s.Target.Algorithm == limiter.StreamCounter:
		t.kind = "stream"
	}
	return t
}

// ask adds the commands for the marks of keys to a transaction; a mark is read of each list once it is done.
func (t *trace) ask(ctx context.Context, p redis.Pipeliner, keys []string) (asked [][]*redis.Cmd) {
	for _, k := range keys {
		var list []*redis.Cmd
		for _, words := range append(markedBy[t.kind], []any{"pexpiretime"}) {
			list = append(list, p.Do(ctx, slices.Insert(slices.Clone(words), 1, any(k))...))
		}
		asked = append(asked, list)
	}
	return asked
}

// note adds n to the balance of the marks that were asked for.
func (t *trace) note(keys []string, asked [][]*redis.Cmd, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, list := range asked {
		var text strings.Builder
		for _, c := range list {
			if err := c.Err(); err != nil && !errors.Is(err, redis.Nil) {
				t.lost = true
				return
			}
			fmt.Fprintf(&text, "%v\n", c.Val())
		}
		m := mark{expires: absent}
		if at, _ := list[len(list)-1].Int64(); at != absent {
			m = mark{sha1.Sum([]byte(text.String())), at}
		}
		if t.balance[keys[i]] == nil {
			t.balance[keys[i]] = map[mark]int{}
		}
		t.balance[keys[i]][m] += n
	}
}

// send sends a command, in a transaction with the marks of the keys around it.
func (t *trace) send(ctx context.Context, cmd redis.Cmder) error {
	client := t.link.client()
	if t.keys == nil || !strings.HasPrefix(cmd.Name(), "eval") {
		return client.Process(ctx, cmd)
	}
	keys := t.keys
	if t.link.clustered() { // a transaction has one slot, that of the command's first key
		keys = inSlot(keys, model.HashSlot(fmt.Sprint(cmd.Args()[3])))
	}
	var before, after [][]*redis.Cmd
	_, err := client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		before = t.ask(ctx, p, keys)
		_ = p.Process(ctx, cmd)
		after = t.ask(ctx, p, keys)
		return nil
	})
	t.note(keys, before, -1)
	t.note(keys, after, 1)
	if cmd.Err() == nil && err != nil && !replied(err) {
		cmd.SetErr(err)
	}
	return cmd.Err()
}

// inSlot returns the keys that lie in a slot of a cluster.
func inSlot(keys []string, slot int) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return model.HashSlot(k) != slot })
}

// take takes the marks of all keys before the first request, with n 1, or after the last one, with n -1.
func (t *trace) take(ctx context.Context, n int) error {
	left := t.keys
	for len(left) > 0 {
		keys := left
		if t.link.clustered() {
			keys = inSlot(left, model.HashSlot(left[0]))
		}
		left = slices.DeleteFunc(slices.Clone(left), func(k string) bool { return slices.Contains(keys, k) })
		var asked [][]*redis.Cmd
		_, err := t.link.client().TxPipelined(ctx, func(p redis.Pipeliner) error {
			asked = t.ask(ctx, p, keys)
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		t.note(keys, asked, n)
	}
	return nil
}

// Words about other writers in the audit file; "" if there is nothing known about them.
const (
	noOthers   = "none"
	someOthers = "some"
)

// others returns the word about other writers while the action was fired, from the marks after the last
// request.
func (t *trace) others(ctx context.Context) string {
	if t == nil || t.keys == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, t.link.timeout)
	defer cancel()
	if t.take(ctx, -1) != nil {
		return ""
	}
	return t.verdict(t.link.now().Millis())
}

// verdict returns the word of others at a time in milliseconds since the epoch. A key that has expired is no
// sign of another writer.
func (t *trace) verdict(now int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, states := range t.balance {
		gone := 0
		for m, n := range states {
			if m.expires == absent || m.expires >= 0 && m.expires <= now {
				gone += n
			} else if n != 0 {
				gone = n
				break
			}
		}
		switch {
		case gone != 0 && t.lost:
			return ""
		case gone != 0:
			return someOthers
		}
	}
	return noOthers
}
