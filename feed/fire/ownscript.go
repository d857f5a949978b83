package fire

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/script/sandbox"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/safetext"
)

// ownScript fires the requests of an order by the script of the user's own program. It is safe for
// concurrent use.
type ownScript struct {
	link  *link
	order model.Order
	lua   script
	keys  []string // that the order may write
}

// ownScriptOf returns the ownScript of an order, nil if no rule describes its limiter. The error is one
// sentence without the key.
func (l *link) ownScriptOf(s model.Order) (*ownScript, error) {
	t := &s.Target
	switch {
	case !t.Described:
		return nil, nil
	case t.Script == nil || t.Script.Expand == nil:
		return nil, errors.New("a rule tells its layout, and its script is not known: add script: {file, keys, args, admitted} to the rule")
	case s.Scratch:
		return nil, errors.New("its script is the program's own, which no copy of a key is fired at by: leave --scratch out")
	}
	keys, err := scriptKeys(s.Key, t, l.now())
	if err != nil {
		return nil, err
	}
	for _, k := range keys[1:] {
		if model.HashSlot(k) != model.HashSlot(keys[0]) && l.clustered() {
			return nil, fmt.Errorf("its script is called with %s and %s, which lie in two slots of the cluster: give its keys one {tag}",
				safetext.Clean(keys[0]), safetext.Clean(k))
		}
	}
	return &ownScript{link: l, order: s, lua: newScript(t.Script.Text), keys: keys}, nil
}

// scriptKeys returns the keys that the script of a target may write within two windows from an instant on.
func scriptKeys(name string, t *model.Target, now limiter.Instant) (keys []string, err error) {
	for n := range 3 {
		at := now.Add(time.Duration(n) * max(t.Limit.Window, t.Window))
		some, _, err := t.Script.Expand(name, t.Limit, at, 1, "a")
		if err != nil {
			return nil, err
		}
		other, _, err := t.Script.Expand(name, t.Limit, at, 2, "b")
		if err != nil {
			return nil, err
		}
		if len(some) == 0 || !slices.Equal(some, other) {
			return nil, errors.New("the keys of its script differ from request to request, so that nothing could be taken back: " +
				"say them with {who} and the window of its name")
		}
		for _, k := range some {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys, nil
}

// call runs the script once. A request of which it is not known whether it was counted is a
// limiter.ErrUnknownOutcome.
func (o *ownScript) call(ctx context.Context, by sender) (limiter.Decision, error) {
	at := o.link.now()
	if c, single := o.link.client().(*redis.Client); single {
		now, err := c.Time(ctx).Result()
		if err != nil {
			return limiter.Decision{}, fmt.Errorf("nothing was written, the server's clock cannot be read: %w", err)
		}
		at = limiter.InstantOf(now)
	}
	keys, args, err := o.request(at)
	if err != nil {
		return limiter.Decision{}, err
	}
	reply, err := by.run(ctx, o.lua, keys, args...).Result()
	if errors.Is(err, redis.Nil) {
		reply, err = nil, nil // what Redis makes of a script's false
	}
	switch {
	case err != nil && replied(err) && strings.Contains(err.Error(), "@user_script"):
		return limiter.Decision{}, fmt.Errorf("%w: the script failed on its way, so that the request may have been counted: %w",
			limiter.ErrUnknownOutcome, err)
	case err != nil && replied(err):
		if _, unlike := o.order.Target.Script.Admits(err); unlike == nil { // an error denies
			return limiter.Decision{Cost: o.order.Cost, At: at}, nil
		}
		return limiter.Decision{}, unsure(err)
	case err != nil:
		return limiter.Decision{}, unsure(err)
	}
	admits, err := o.order.Target.Script.Admits(reply)
	if err != nil {
		return limiter.Decision{}, fmt.Errorf("%w: %w", limiter.ErrUnknownOutcome, err)
	}
	return limiter.Decision{Allowed: admits, Cost: o.order.Cost, At: at}, nil
}

func (o *ownScript) request(at limiter.Instant) (keys []string, args []any, err error) {
	s := &o.order
	keys, words, err := s.Target.Script.Expand(s.Key, s.Target.Limit, at, s.Cost, rand.Text())
	if err != nil {
		return nil, nil, err
	}
	for _, k := range keys {
		if !slices.Contains(o.keys, k) {
			return nil, nil, errors.New("nothing was written: a window has begun whose keys were not " +
				"saved before the first request, fire anew")
		}
	}
	return keys, collect.Map(words, func(w string) any { return w }), nil
}

// preview returns the command of the first request, and what it wrote on a copy of its keys.
func (o *ownScript) preview(ctx context.Context) ([]string, error) {
	at := o.link.now()
	keys, args, err := o.request(at)
	if err != nil {
		return nil, err
	}
	words := append([]any{"evalsha", o.lua.digest, strconv.Itoa(len(keys))}, collect.Map(keys, func(k string) any { return k })...)
	return []string{written(append(words, args...)), o.link.dryRun(ctx, o.lua.text, keys, args, at)}, nil
}

// dryRun runs a script on an embedded Redis with a copy of its keys, and returns what it wrote there as one line.
// The server is only read.
func (l *link) dryRun(ctx context.Context, text string, keys []string, args []any, at limiter.Instant) string {
	held, err := l.copies(ctx, keys)
	if err != nil {
		return "it was not tried on a copy: " + err.Error()
	}
	texts := collect.Map(args, func(a any) string { return fmt.Sprint(a) })
	call := slices.Concat([]string{"EVAL", text, strconv.Itoa(len(keys))}, keys, texts)
	var on sandbox.Stage
	defer on.Close()
	ran, err := on.Run(at, held, call)
	if err != nil {
		return "it failed on a copy: " + err.Error()
	}
	var wrote []string
	for _, c := range ran {
		if !connect.IsReadCommand(strings.ToLower(c.Verb())) {
			wrote = append(wrote, c.Text+" = "+c.Answer)
		}
	}
	if wrote == nil {
		return "on a copy it wrote nothing"
	}
	return "on a copy it wrote " + strings.Join(wrote, ", ")
}

// copies returns the commands that write keys of an embedded Redis as they are now. The error is a clause.
func (l *link) copies(ctx context.Context, keys []string) (list [][]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	for _, k := range keys {
		var typ *redis.StatusCmd
		var size *redis.IntCmd
		var left *redis.DurationCmd
		_, err := l.client().Pipelined(ctx, func(p redis.Pipeliner) error {
			typ, size, left = p.Type(ctx, k), p.MemoryUsage(ctx, k), p.PTTL(ctx, k)
			return nil
		})
		if err != nil && !replied(err) {
			return nil, fmt.Errorf("%s", connect.Explain(err, l.endpoint.Shown))
		}
		as := kinds[typ.Val()]
		switch {
		case typ.Val() == "none":
			continue
		case as.write == "":
			return nil, fmt.Errorf("its type is %s", typ.Val())
		case size.Val() > maxSaved:
			return nil, fmt.Errorf("it is too large")
		}
		values, err := l.client().Do(ctx, slices.Insert(slices.Clone(as.read), 1, any(k))...).Result()
		if err != nil {
			return nil, fmt.Errorf("%s", connect.Explain(err, l.endpoint.Shown))
		}
		words := flat([]string{as.write, k}, values)
		if typ.Val() == "zset" { // a member comes before its score, and ZADD takes it after it
			for n := 2; n+1 < len(words); n += 2 {
				words[n], words[n+1] = words[n+1], words[n]
			}
		}
		list = append(list, words)
		if ttl := left.Val(); ttl > 0 {
			list = append(list, []string{"pexpire", k, strconv.FormatInt(ttl.Milliseconds(), 10)})
		}
	}
	return list, nil
}

// flat appends a reply to words, element by element.
func flat(words []string, reply any) []string {
	switch r := reply.(type) {
	case []any:
		for _, v := range r {
			words = flat(words, v)
		}
		return words
	case map[any]any:
		for k, v := range r {
			words = flat(append(words, fmt.Sprint(k)), v)
		}
		return words
	case float64:
		return append(words, strconv.FormatFloat(r, 'f', -1, 64))
	}
	return append(words, fmt.Sprint(reply))
}
