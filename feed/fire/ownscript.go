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

	"ratescope/limiter"
	"ratescope/model"
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
		return limiter.Decision{}, fmt.Errorf("%w: the script failed on its way, so that the request may have been counted: %w", limiter.ErrUnknownOutcome, err)
	case err != nil:
		return limiter.Decision{}, unsure(err)
	}
	admits, err := o.order.Target.Script.Admits(reply)
	if err != nil {
		return limiter.Decision{}, fmt.Errorf("%w: %w", limiter.ErrUnknownOutcome, err)
	}
	return limiter.Decision{Allowed: admits, Cost: o.order.Cost, At: at}, nil
}

// request returns the keys and the arguments of a request at an instant.
func (o *ownScript) request(at limiter.Instant) (keys []string, args []any, err error) {
	s := &o.order
	keys, words, err := s.Target.Script.Expand(s.Key, s.Target.Limit, at, s.Cost, rand.Text())
	if err != nil {
		return nil, nil, err
	}
	for _, k := range keys {
		if !slices.Contains(o.keys, k) {
			return nil, nil, errors.New("nothing was written: a window has begun whose keys were not saved before the first request, fire anew")
		}
	}
	for _, w := range words {
		args = append(args, w)
	}
	return keys, args, nil
}

// preview returns the command of the first request, and what it wrote on a copy of its keys.
func (o *ownScript) preview(ctx context.Context) ([]string, error) {
	at := o.link.now()
	keys, args, err := o.request(at)
	if err != nil {
		return nil, err
	}
	words := []any{"evalsha", o.lua.digest, strconv.Itoa(len(keys))}
	for _, k := range keys {
		words = append(words, k)
	}
	return []string{written(append(words, args...)), o.link.dryRun(ctx, o.lua.text, keys, args, at)}, nil
}
