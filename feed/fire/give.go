package fire

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"ratescope/model"
)

// savingClient sends each command in a transaction that also saves the contents of keys before
// and after it, so that no request of another client comes in between.
type savingClient struct {
	scripts       *scriptClient
	keys          []string
	before, after []savedKey // contents of the keys around the last command
}

// Process implements redisstore.Client.
func (c *savingClient) Process(ctx context.Context, cmd redis.Cmder) (err error) {
	if c.scripts.unknown(ctx, cmd) {
		cmd.SetErr(errNoScript)
		return errNoScript
	}
	c.before, c.after, err = exchangeSaved(ctx, c.scripts, c.keys, func(p redis.Pipeliner) { _ = p.Process(ctx, cmd) })
	if err == nil {
		err = cmd.Err()
	}
	return err
}

// transactor is a client, or a transaction that watches keys.
type transactor interface {
	TxPipelined(ctx context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error)
}

// exchangeSaved runs the commands that do adds, and in the same transaction saves the contents of
// the keys before and after them.
func exchangeSaved(ctx context.Context, c transactor, keys []string, do func(redis.Pipeliner)) (before, after []savedKey, err error) {
	type held struct {
		dump   *redis.StringCmd
		expiry *redis.DurationCmd
	}
	var was, is []held
	save := func(p redis.Pipeliner) (list []held) {
		for _, k := range keys {
			list = append(list, held{p.Dump(ctx, k), p.PExpireTime(ctx, k)})
		}
		return list
	}
	if _, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		was = save(p)
		do(p)
		is = save(p)
		return nil
	}); err != nil && !errors.Is(err, redis.Nil) {
		return nil, nil, err
	}
	for n, k := range keys {
		before, after = append(before, savedOf(k, was[n].dump, was[n].expiry)), append(after, savedOf(k, is[n].dump, is[n].expiry))
		after[n].Dump = nil
	}
	return before, after, nil
}

// give takes units off the count of a limiter of ratescope's own library, and in the same
// transaction saves the contents of its keys before and after.
func give(ctx context.Context, to *link, act *action, s model.Order, done *model.Changed) error {
	l, err := to.limiter(s.Target)
	if err != nil {
		return err
	}
	before, err := l.Peek(ctx, s.Key, s.Target.Limit, 0)
	if err != nil {
		return err
	}
	saving := &savingClient{scripts: to.scripts}
	for _, was := range act.before {
		if name, err := strconv.Unquote(was.Key); err == nil && was.Unsaved == "" {
			saving.keys = append(saving.keys, name)
		}
	}
	if l, err = to.storeOn(saving, s.Target); err != nil {
		return err
	}
	after, err := l.Refund(ctx, s.Key, s.Target.Limit, s.Change.Units)
	if err != nil {
		return err
	}
	act.exact, act.left = replaced(act.before, saving.before), replaced(act.before, saving.after)
	if done.Units = max(before.Used-after.Used, 0); done.Units > 0 {
		done.Written = keysOf(s, act.begun)
	}
	return nil
}

// replaced returns list with the keys that by has too replaced by those of by.
func replaced(list, by []savedKey) []savedKey {
	list = slices.Clone(list)
	for n := range list {
		for _, is := range by {
			if is.Key == list[n].Key {
				is.Holds = ""
				list[n] = is
			}
		}
	}
	return list
}
