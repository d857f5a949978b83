package fire

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
)

// savedKey holds the contents of a Redis key at one moment. A key that did not exist has neither
// Dump nor Digest.
type savedKey struct {
	Key     quoted `json:"key"`
	Dump    []byte `json:"dump,omitempty"`   // as DUMP serializes it
	Digest  string `json:"digest,omitempty"` // SHA-1 of the dump
	Expires int64  `json:"expires_at_ms,omitempty"`
	Unsaved string `json:"unsaved,omitempty"` // why the value was not saved
	Holds   string `json:"holds,omitempty"`   // the contents in words: "zset, 12 members"
}

// quoted is the name of a key, which Go quotes in the audit file.
type quoted string

// MarshalText quotes the name.
func (q quoted) MarshalText() ([]byte, error) { return strconv.AppendQuote(nil, string(q)), nil }

// UnmarshalText reads a name that was quoted, and takes another text as it is.
func (q *quoted) UnmarshalText(text []byte) error {
	if name, err := strconv.Unquote(string(text)); err == nil {
		text = []byte(name)
	}
	*q = quoted(text)
	return nil
}

// maxSaved is the memory of a key in bytes above which its value is not saved, because
// serializing it would keep the server busy.
const maxSaved = 256 << 10

// touched returns the keys that requests at t may write within two windows from now on.
func touched(key string, t model.Target, now limiter.Instant) []string {
	if t.Described {
		if t.Script == nil || t.Script.Expand == nil {
			return nil
		}
		keys, _ := scriptKeys(key, &t, now) // an order with an error is refused before
		return keys
	}
	keys := counted(key, t, now)
	if foreign.For(&t) != nil {
		return keys
	}
	return append(keys, layout.DeniedKey(key), layout.BlockedKey(key), layout.EndsKey(key))
}

// counted returns the keys that keep the state of the limiter t, of those that requests may write.
func counted(key string, t model.Target, now limiter.Instant) (keys []string) {
	if t.Described {
		return touched(key, t, now)
	}
	for n := range 3 {
		for _, k := range kept(foreign.For(&t), key, t, now.Add(time.Duration(n)*max(t.Limit.Window, t.Window))) {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

func (l *link) save(ctx context.Context, keys []string) ([]savedKey, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	sizes, types := make([]*redis.IntCmd, len(keys)), make([]*redis.StatusCmd, len(keys))
	_, err := l.client().Pipelined(ctx, func(p redis.Pipeliner) error {
		for n, k := range keys {
			sizes[n], types[n] = p.MemoryUsage(ctx, k), p.Type(ctx, k)
		}
		return nil
	})
	if err != nil && !replied(err) {
		return nil, err
	}
	list := make([]asked, len(keys))
	_, err = l.client().Pipelined(ctx, func(p redis.Pipeliner) error {
		for n, k := range keys {
			if sizes[n].Val() <= maxSaved {
				list[n].dump = p.Dump(ctx, k)
			}
			list[n].expiry = p.PExpireTime(ctx, k)
			if a := kinds[types[n].Val()]; a.amount != nil {
				list[n].amount = p.Do(ctx, slices.Insert(slices.Clone(a.amount), 1, any(k))...)
			}
		}
		return nil
	})
	if err != nil && !replied(err) {
		return nil, err
	}
	saved := make([]savedKey, len(keys))
	for n, k := range keys {
		saved[n] = list[n].saved(k)
		saved[n].Holds = holds(types[n].Val(), list[n].amount)
	}
	return saved, nil
}

// kinds holds, by type, the commands that ask how much a key holds, with the unit of the answer, and for the whole of it, and
// the command that writes it anew, "" for none. The key comes second.
var kinds = map[string]struct {
	amount []any
	unit   string
	read   []any
	write  string
}{
	"string": {[]any{"getrange", 0, 24}, "", []any{"get"}, "set"}, // as long as the longest number
	"hash":   {[]any{"hlen"}, " fields", []any{"hgetall"}, "hset"},
	"list":   {[]any{"llen"}, " elements", []any{"lrange", 0, -1}, "rpush"},
	"set":    {nil, "", []any{"smembers"}, "sadd"},
	"zset":   {[]any{"zcard"}, " members", []any{"zrange", 0, -1, "withscores"}, "zadd"},
	"stream": {[]any{"xlen"}, " entries", nil, ""},
}

// holds returns what a key holds in words; "" if it does not exist, or that is not known.
func holds(kind string, amount redis.Cmder) string {
	c, ok := amount.(*redis.Cmd)
	if !ok || c.Err() != nil {
		return ""
	}
	text := fmt.Sprint(c.Val())
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return kind // text, which may be secret
	}
	return kind + ", " + text + kinds[kind].unit
}

// replied reports whether err is an error reply of the server, not a lost connection.
func replied(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// asked is DUMP and PEXPIRETIME of a key, and how much it holds. A key that is too large has no dump.
type asked struct {
	dump   *redis.StringCmd
	expiry *redis.DurationCmd
	amount redis.Cmder
}

// saved returns the contents of a key from the answers. Redis before version 7 has no PEXPIRETIME, so that nothing can be taken back
// there.
func (a asked) saved(key string) savedKey {
	s := savedKey{Key: quoted(key)}
	if a.dump == nil {
		s.Unsaved = "it is too large"
		return s
	}
	text, err := a.dump.Result()
	switch {
	case errors.Is(err, redis.Nil):
		return s
	case err != nil:
		s.Unsaved = err.Error()
		return s
	}
	sum := sha1.Sum([]byte(text))
	s.Dump, s.Digest = []byte(text), hex.EncodeToString(sum[:])
	at, err := a.expiry.Result()
	if err != nil {
		s.Dump, s.Unsaved = nil, "the server does not tell when it expires"
	}
	s.Expires = max(at.Milliseconds(), 0) // negative answers mean that it never expires
	return s
}

// begin writes the first line of an order to the audit file, with the contents of its keys. tr is nil for a
// change.
func (i *Injector) begin(ctx context.Context, s model.Order, tr *trace) (*action, error) {
	if err := i.audit.open(); err != nil {
		return nil, err
	}
	act := i.audit.newAction(i.link.endpoint.Shown, i.link.endpoint.DB(), s)
	act.begun, act.trace = i.link.now(), tr
	if tr != nil && !layout.IsScratch(s.Key) { // before the keys are saved, so that a write between the two is noticed
		if err := tr.begin(ctx, s.Nothing()); err != nil {
			return nil, err
		}
	}
	var err error
	if act.before, err = i.link.save(ctx, i.Keys(s, act.begun)); err != nil {
		return nil, fmt.Errorf("%s: %s", s.Nothing(), connect.Explain(err, i.link.endpoint.Shown))
	}
	if tr != nil && slices.ContainsFunc(act.before, func(k savedKey) bool { return k.Unsaved != "" }) {
		tr.keys = nil // nothing could be restored
	}
	line := act.line
	line.Outcome, line.Before, line.person = begun, act.before, whoRuns()
	line.Reason, line.Number, line.Rate, line.Library = cmp.Or(s.Reason, i.o.Reason), s.N, s.Rate, s.Target.Library
	line.Ticket, line.Target = lineOf(s.Ticket), &s.Target
	if s.Shape.Kind != model.Even {
		line.Shape = s.Shape.String()
	}
	line.Change = s.Change.String()
	return act, i.audit.append(line)
}

// end writes the last line of an order to the audit file, with the outcomes and digests of the
// keys' present contents, by which undo finds out whether another program has written since.
func (i *Injector) end(act *action, outcomes model.Outcomes) error {
	line := act.line
	line.Outcome, line.Outcomes, line.Error = ended, &outcomes, act.failed
	line.Raise = act.raised
	names := collect.Map(act.before, func(k savedKey) string { return string(k.Key) })
	if act.exact != nil {
		line.Before, line.After = act.exact, act.left
	} else if after, err := i.link.save(context.Background(), names); err == nil {
		for n := range after {
			after[n].Dump = nil
		}
		line.After, line.Others = after, act.trace.others(context.Background())
	}
	return i.audit.append(line)
}

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

// begin takes the marks before the first request. If the server refuses, nothing is traced. nothing begins the sentence of the error.
func (t *trace) begin(ctx context.Context, nothing string) error {
	ctx, cancel := context.WithTimeout(ctx, t.link.timeout)
	defer cancel()
	err := t.take(ctx, 1)
	if err != nil && !replied(err) {
		return fmt.Errorf("%s: %s", nothing, connect.Explain(err, t.link.endpoint.Shown))
	}
	if err != nil {
		t.keys = nil
	}
	return nil
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
