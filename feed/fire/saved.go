package fire

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	Key     string `json:"key"`              // quoted as Go quotes strings
	Dump    []byte `json:"dump,omitempty"`   // as DUMP serializes it
	Digest  string `json:"digest,omitempty"` // SHA-1 of the dump
	Expires int64  `json:"expires_at_ms,omitempty"`
	Unsaved string `json:"unsaved,omitempty"` // why the value was not saved
	Holds   string `json:"holds,omitempty"`   // the contents in words: "zset, 12 members"
	Type    string `json:"type,omitempty"`    // the Redis type
	Count   *int64 `json:"count,omitempty"`   // members, entries, elements or fields, or the number in a string
	Newest  string `json:"newest,omitempty"`  // the mark of a log or a stream; see newestOf
	Newer   *int64 `json:"newer,omitempty"`   // after an action: entries added since the mark; see newerOf
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
	keys := []string{layout.DeniedKey(key), layout.BlockedKey(key), layout.EndsKey(key)}
	for _, at := range [...]limiter.Instant{now, now.Add(t.Limit.Window), now.Add(2 * t.Limit.Window)} {
		for _, k := range t.Keys(key, at) {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// save returns the present contents of keys. since is what an earlier save of the same keys
// returned, or nil.
func (l *link) save(ctx context.Context, keys []string, since []savedKey) ([]savedKey, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	client := l.client()
	sizes, types := make([]*redis.IntCmd, len(keys)), make([]*redis.StatusCmd, len(keys))
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n, k := range keys {
			sizes[n], types[n] = p.MemoryUsage(ctx, k), p.Type(ctx, k)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) && !replied(err) {
		return nil, err
	}
	dumps, expiries, counts := make([]*redis.StringCmd, len(keys)), make([]*redis.DurationCmd, len(keys)), make([]redis.Cmder, len(keys))
	newest, newer := make([]redis.Cmder, len(keys)), make([]redis.Cmder, len(keys))
	_, err = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		// Counts are read before the first dump and after the second one, so that a request of
		// another client that comes between a count and a dump is seen as one during the action.
		for n, k := range keys {
			kind := types[n].Val()
			if since == nil {
				counts[n], newest[n] = count(ctx, p, kind, k), askNewest(ctx, p, kind, k)
			}
			if sizes[n].Val() <= maxSaved {
				dumps[n] = p.Dump(ctx, k)
			}
			expiries[n] = p.PExpireTime(ctx, k)
			if since != nil {
				counts[n], newer[n] = count(ctx, p, kind, k), askNewer(ctx, p, kind, k, since[n])
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) && !replied(err) {
		return nil, err
	}
	saved := make([]savedKey, len(keys))
	for n, k := range keys {
		saved[n] = savedOf(k, dumps[n], expiries[n])
		saved[n].describe(types[n].Val(), counts[n])
		if saved[n].Newest = newestOf(newest[n]); since != nil {
			saved[n].Newer = newerOf(newer[n], since[n])
		}
	}
	return saved, nil
}

// count asks how many members, entries or fields a key has, or for a string's value; nil for types
// that no limiter uses.
func count(ctx context.Context, p redis.Pipeliner, kind, key string) redis.Cmder {
	switch kind {
	case "zset":
		return p.ZCard(ctx, key)
	case "stream":
		return p.XLen(ctx, key)
	case "hash":
		return p.HLen(ctx, key)
	case "list":
		return p.LLen(ctx, key)
	case "string":
		return p.GetRange(ctx, key, 0, maxNumber)
	}
	return nil
}

// maxNumber is the length in bytes of the longest number that is read.
const maxNumber = 24

// describe notes the type of a key and the answer of count. A key that does not exist, or of which that is not
// known, stays as it is.
func (s *savedKey) describe(kind string, counted redis.Cmder) {
	if counted == nil || counted.Err() != nil {
		return
	}
	s.Type, s.Holds = kind, kind
	switch c := counted.(type) {
	case *redis.IntCmd:
		n, unit := c.Val(), map[string]string{"zset": "members", "stream": "entries", "hash": "fields", "list": "elements"}[kind]
		s.Count, s.Holds = &n, fmt.Sprintf("%s, %d %s", kind, n, unit)
	case *redis.StringCmd:
		if n, err := strconv.ParseInt(c.Val(), 10, 64); err == nil {
			s.Count = &n
		}
		if _, err := strconv.ParseFloat(c.Val(), 64); err == nil {
			s.Holds = kind + ", " + c.Val()
		}
	}
}

// UnmarshalJSON reads a key of a line, also of one that was written before lines had Type and Count.
func (s *savedKey) UnmarshalJSON(data []byte) error {
	type plain savedKey
	if err := json.Unmarshal(data, (*plain)(s)); err != nil || s.Type != "" {
		return err
	}
	s.fromWords()
	return nil
}

// fromWords sets Type and Count from Holds.
func (s *savedKey) fromWords() {
	kind, text, _ := strings.Cut(s.Holds, ", ")
	text, _, _ = strings.Cut(text, " ")
	s.Type = kind
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		s.Count = &n
	}
}

// replied reports whether err is an error reply of the server, not a lost connection.
func replied(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// savedOf returns the contents of a key from the answers to DUMP and PEXPIRETIME. Redis before
// version 7 has no PEXPIRETIME, so that nothing can be taken back there.
func savedOf(key string, dump *redis.StringCmd, expiry *redis.DurationCmd) savedKey {
	s := savedKey{Key: strconv.Quote(key)}
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

// begin writes the first line of an order to the audit file, with the contents of its keys.
func (i *Injector) begin(ctx context.Context, s model.Order) (*action, error) {
	act := i.audit.newAction(i.link.endpoint.Shown, i.link.endpoint.DB(), s)
	act.begun = i.link.now()
	if s.Change.Kind == model.NoChange {
		to := aimed(s)
		// Read before the keys are saved, so that a request between the two is noticed.
		act.line.AsNew = int64(asNewOf(ctx, i.link, to.Key, to.Target))
	}
	before, err := i.link.save(ctx, keysOf(s, act.begun), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", nothing(s), connect.Explain(err, i.link.endpoint.Shown))
	}
	act.before = before
	line := act.line
	line.Outcome, line.Before, line.person = begun, before, whoRuns()
	line.Reason, line.Number, line.Rate, line.Library = cmp.Or(s.Reason, i.reason), s.N, s.Rate, s.Target.Library
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
	} else if act.before != nil {
		keys := make([]string, 0, len(act.before))
		for _, k := range act.before {
			if name, err := strconv.Unquote(k.Key); err == nil {
				keys = append(keys, name)
			}
		}
		after, err := i.link.save(context.Background(), keys, act.before)
		if err == nil {
			if act.ended != nil {
				act.ended(after)
			}
			for n := range after {
				after[n].Dump = nil
			}
			line.After = after
		}
	}
	if err := i.audit.append(line); err != nil {
		return i.audit.unwritable(err)
	}
	return nil
}
