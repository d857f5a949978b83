package fire

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/safetext"
)

// Change carries out the change of an order: it frees the key, gives units back, blocks the key
// or ends a block. As with Fire, the injector has to be armed, the change is in the audit file
// before anything is written, and it is never sent twice. The transaction that removes a value
// also saves it, so that Undo can restore it.
func (i *Injector) Change(ctx context.Context, s model.Order) (model.Changed, error) {
	if s.Target.Described {
		return model.Changed{}, errors.New("nothing is changed: a rule tells its layout, and how its program changes its keys is not known")
	}
	if err := i.admit(ctx, &s, s.Change.Check); err != nil {
		return model.Changed{}, err
	}
	if _, err := i.previewChange(ctx, s); err != nil {
		return model.Changed{}, fmt.Errorf("nothing is changed: %w", err)
	}
	if err := i.audit.open(); err != nil {
		return model.Changed{}, err
	}
	act, err := i.begin(ctx, s, nil)
	if err != nil {
		return model.Changed{}, err
	}
	done := model.Changed{Action: act.id}
	if i.o.Ready != nil {
		i.o.Ready()
	}
	if err = i.carryOut(ctx, act, s, &done); err != nil {
		act.failed = err.Error()
		what := "%s is not changed (%s): %s"
		if !replied(err) {
			what = "whether %s was changed (%s) is not known: %s"
		}
		err = fmt.Errorf(what, safetext.Clean(s.Key), s.Change, connect.Explain(err, i.link.endpoint.Shown))
	}
	if i.o.Sent != nil {
		i.o.Sent(s.Key)
	}
	return done, errors.Join(err, i.end(act, s, model.Outcomes{}))
}

// carryOut sends the commands of a change.
func (i *Injector) carryOut(ctx context.Context, act *action, s model.Order, done *model.Changed) error {
	ctx, cancel := context.WithTimeout(ctx, i.link.timeout)
	defer cancel()
	switch s.Change.Kind {
	case model.Give:
		if stored := storedOf(i.link, s); stored != nil {
			return stored.give(ctx, act, s.Change.Units, done)
		}
		return give(ctx, i.link, act, s, done)
	case model.Block:
		key := layout.BlockedKey(s.Key)
		now, err := i.link.client().Time(ctx).Result()
		if err != nil {
			return err
		}
		done.Written = []string{key}
		return i.link.client().Process(ctx, redis.NewStatusCmd(ctx, blockWords(s, now)...))
	}
	return i.remove(ctx, act, done)
}

// blockWords returns the command that blocks a key from now on, which is a time of the server's
// clock. The limiter's script writes the same.
func blockWords(s model.Order, now time.Time) []any {
	return []any{"set", layout.BlockedKey(s.Key), strconv.FormatInt(now.Add(s.Change.For).UnixMicro(), 10), "px", strconv.FormatInt(s.Change.For.Milliseconds(), 10)}
}

// remove unlinks the keys of an action that exist, and in the same transaction saves their
// values, except those that are too large.
func (i *Injector) remove(ctx context.Context, act *action, done *model.Changed) error {
	var saved, keys []string // a key that is too large is removed and not saved
	for _, was := range act.before {
		switch key := string(was.Key); {
		case was.Unsaved == "" && was.Digest != "":
			saved, keys = append(saved, key), append(keys, key)
		case was.Unsaved != "" && was.Holds != "":
			keys = append(keys, key)
			done.Unsaved = append(done.Unsaved, fmt.Sprintf("%s: %s", safetext.Clean(key), was.Unsaved))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	before, after, err := i.link.exchangeSaved(ctx, saved, func(p redis.Pipeliner) {
		for _, k := range keys {
			p.Unlink(ctx, k)
		}
	})
	if err != nil {
		return err
	}
	act.exact, act.left = replaced(act.before, before), replaced(act.before, after)
	done.Removed = keys
	return nil
}

// changed returns the keys that the change of an order may write from now on.
func changed(s model.Order, now limiter.Instant) []string {
	if s.Change.Kind == model.Block || s.Change.Kind == model.Unblock {
		return []string{layout.BlockedKey(s.Key)}
	}
	if stored := storedOf(nil, s); stored != nil {
		return stored.keys()
	}
	keys := kept(foreign.For(&s.Target), s.Key, s.Target, now)
	if s.Change.Kind != model.Free || foreign.For(&s.Target) != nil {
		return keys
	}
	if s.Target.Convention.Alignment == limiter.AlignFirstRequest {
		keys = append(keys, layout.EndsKey(s.Key))
	}
	return append(keys, layout.BlockedKey(s.Key))
}

// previewChange returns the commands of a change without sending them.
func (i *Injector) previewChange(ctx context.Context, s model.Order) ([]string, error) {
	now := i.link.now()
	switch s.Change.Kind {
	case model.Give:
		if stored := storedOf(i.link, s); stored != nil {
			ctx, cancel := context.WithTimeout(ctx, i.link.timeout)
			defer cancel()
			return stored.preview(ctx, s.Change.Units)
		}
		p := &preview{}
		l, err := i.link.storeOn(p, s.Target)
		if err != nil {
			return nil, err
		}
		if _, err := l.Refund(ctx, s.Key, s.Target.Limit, s.Change.Units); err != nil && !errors.Is(err, errPreview) && len(p.commands) == 0 {
			return nil, err
		}
		return p.commands, nil
	case model.Block:
		return []string{written(blockWords(s, now.Time()))}, nil
	}
	lines := []string{"MULTI"}
	for _, k := range keysOf(s, now) {
		lines = append(lines, written([]any{"dump", k}), written([]any{"pexpiretime", k}), written([]any{"unlink", k}))
	}
	return append(lines, "EXEC"), nil
}
