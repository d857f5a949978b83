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
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
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
	if w := foreign.For(&t); w != nil {
		return w.Keys(key, &t, now)
	}
	return append(counted(key, t, now), layout.DeniedKey(key), layout.BlockedKey(key), layout.EndsKey(key))
}

// counted returns the keys that keep the state of the limiter t, of those that requests may write.
func counted(key string, t model.Target, now limiter.Instant) (keys []string) {
	if w := foreign.For(&t); w != nil || t.Described {
		return touched(key, t, now)
	}
	for n := range 3 {
		for _, k := range t.Keys(key, now.Add(time.Duration(n)*t.Limit.Window)) {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// save returns the present contents of keys.
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
	type asked struct {
		dump   *redis.StringCmd
		expiry *redis.DurationCmd
		amount redis.Cmder
	}
	list := make([]asked, len(keys))
	_, err = l.client().Pipelined(ctx, func(p redis.Pipeliner) error {
		for n, k := range keys {
			if sizes[n].Val() <= maxSaved {
				list[n].dump = p.Dump(ctx, k)
			}
			list[n].expiry = p.PExpireTime(ctx, k)
			if a, ok := amounts[types[n].Val()]; ok {
				list[n].amount = p.Do(ctx, slices.Insert(slices.Clone(a.words), 1, any(k))...)
			}
		}
		return nil
	})
	if err != nil && !replied(err) {
		return nil, err
	}
	saved := make([]savedKey, len(keys))
	for n, k := range keys {
		saved[n] = savedOf(k, list[n].dump, list[n].expiry)
		saved[n].Holds = holds(types[n].Val(), list[n].amount)
	}
	return saved, nil
}

// amounts holds, by type, the command that asks how much a key holds, and the unit of its answer.
var amounts = map[string]struct {
	words []any
	unit  string
}{
	"zset": {[]any{"zcard"}, " members"}, "stream": {[]any{"xlen"}, " entries"}, "hash": {[]any{"hlen"}, " fields"},
	"list": {[]any{"llen"}, " elements"}, "string": {[]any{"getrange", 0, 24}, ""}, // as long as the longest number
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
	return kind + ", " + text + amounts[kind].unit
}

// replied reports whether err is an error reply of the server, not a lost connection.
func replied(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// savedOf returns the contents of a key from the answers to DUMP and PEXPIRETIME. Redis before
// version 7 has no PEXPIRETIME, so that nothing can be taken back there.
func savedOf(key string, dump *redis.StringCmd, expiry *redis.DurationCmd) savedKey {
	s := savedKey{Key: quoted(key)}
	if dump == nil {
		s.Unsaved = "it is too large"
		return s
	}
	text, err := dump.Result()
	switch {
	case errors.Is(err, redis.Nil):
		return s
	case err != nil:
		s.Unsaved = err.Error()
		return s
	}
	sum := sha1.Sum([]byte(text))
	s.Dump, s.Digest = []byte(text), hex.EncodeToString(sum[:])
	at, err := expiry.Result()
	if err != nil {
		s.Dump, s.Unsaved = nil, "the server does not tell when it expires"
	}
	s.Expires = max(at.Milliseconds(), 0) // negative answers mean that it never expires
	return s
}

// mark takes the marks of the keys before the first request. If the server refuses, nothing is traced.
func (i *Injector) mark(ctx context.Context, s model.Order, tr *trace) error {
	ctx, cancel := context.WithTimeout(ctx, i.link.timeout)
	defer cancel()
	err := tr.take(ctx, 1)
	if err != nil && !replied(err) {
		return fmt.Errorf("%s: %s", s.Nothing(), connect.Explain(err, i.link.endpoint.Shown))
	}
	if err != nil {
		tr.keys = nil
	}
	return nil
}

// begin writes the first line of an order to the audit file, with the contents of its keys. tr is nil for a
// change.
func (i *Injector) begin(ctx context.Context, s model.Order, tr *trace) (*action, error) {
	act := i.audit.newAction(i.link.endpoint.Shown, i.link.endpoint.DB(), s)
	act.begun, act.trace = i.link.now(), tr
	if tr != nil && !layout.IsScratch(s.Key) { // before the keys are saved, so that a write between the two is noticed
		if err := i.mark(ctx, s, tr); err != nil {
			return nil, err
		}
	}
	var err error
	if act.before, err = i.link.save(ctx, keysOf(s, act.begun)); err != nil {
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
	if err := i.audit.append(line); err != nil {
		return nil, i.audit.unwritable(err)
	}
	return act, nil
}

// end writes the last line of an order to the audit file, with the outcomes and digests of the
// keys' present contents, by which undo finds out whether another program has written since.
func (i *Injector) end(act *action, s model.Order, outcomes model.Outcomes) error {
	line := act.line
	line.Outcome, line.Outcomes, line.Error = ended, &outcomes, act.failed
	line.Raise = act.raised
	if act.exact != nil {
		line.Before, line.After = act.exact, act.left
	} else if after, err := i.link.save(context.Background(), namesOf(act.before)); err == nil {
		for n := range after {
			after[n].Dump = nil
		}
		line.After, line.Others = after, act.trace.others(context.Background())
	}
	if err := i.audit.append(line); err != nil {
		return i.audit.unwritable(err)
	}
	return nil
}

// namesOf returns the names of saved keys.
func namesOf(list []savedKey) (names []string) {
	for _, k := range list {
		names = append(names, string(k.Key))
	}
	return names
}
