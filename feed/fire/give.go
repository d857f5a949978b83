package fire

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"ratescope/model"
)

// saving returns the sender that sends each command in a transaction which also saves the contents of keys
// around it, so that no request of another client comes in between.
func (l *link) saving(keys []string, before, after *[]savedKey) sender {
	return sender{l, func(ctx context.Context, cmd redis.Cmder) (err error) {
		*before, *after, err = l.exchangeSaved(ctx, keys, func(p redis.Pipeliner) { _ = p.Process(ctx, cmd) })
		return cmp.Or(cmd.Err(), err)
	}}
}

// exchangeSaved runs the commands that do adds, and in the same transaction saves the contents of
// the keys before and after them.
func (l *link) exchangeSaved(ctx context.Context, keys []string, do func(redis.Pipeliner)) (before, after []savedKey, err error) {
	type asked struct {
		dump   *redis.StringCmd
		expiry *redis.DurationCmd
	}
	var was, is []asked
	save := func(p redis.Pipeliner) (list []asked) {
		for _, k := range keys {
			list = append(list, asked{p.Dump(ctx, k), p.PExpireTime(ctx, k)})
		}
		return list
	}
	if _, err := l.client().TxPipelined(ctx, func(p redis.Pipeliner) error {
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
	l, err := to.storeOn(to.plainly(), s.Target)
	if err != nil {
		return err
	}
	before, err := l.Peek(ctx, s.Key, s.Target.Limit, 0)
	if err != nil {
		return err
	}
	var keys []string
	for _, was := range act.before {
		if was.Unsaved == "" {
			keys = append(keys, string(was.Key))
		}
	}
	var found, left []savedKey
	if l, err = to.storeOn(to.saving(keys, &found, &left), s.Target); err != nil {
		return err
	}
	after, err := l.Refund(ctx, s.Key, s.Target.Limit, s.Change.Units)
	if err != nil {
		return err
	}
	act.exact, act.left = replaced(act.before, found), replaced(act.before, left)
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
