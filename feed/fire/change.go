package fire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/safetext"
)

// Change carries out the change of an order: it frees the key, gives units back, blocks the key
// or ends a block. As with Fire, the injector has to be armed, the change is in the audit file
// before anything is written, and it is never sent twice. The transaction that removes a value
// also saves it, so that Undo can restore it.
func (i *Injector) Change(ctx context.Context, s model.Order) (model.Changed, error) {
	if s.Target.Described && (s.Change.Kind != model.Free || !s.Target.Plain()) {
		return model.Changed{}, errors.New("nothing is changed: a rule tells its layout, and how its program changes its keys is not known")
	}
	if err := i.admit(ctx, &s, s.Change.Check); err != nil {
		return model.Changed{}, err
	}
	if _, err := i.link.previewChange(ctx, s); err != nil {
		return model.Changed{}, fmt.Errorf("nothing is changed: %w", err)
	}
	act, err := i.begin(ctx, s, nil)
	if err != nil {
		return model.Changed{}, err
	}
	c := &changing{link: i.link, order: s, act: act, done: model.Changed{Action: act.id}}
	i.o.Ready()
	if err = c.carryOut(ctx); err != nil {
		act.failed = err.Error()
		what := collect.If(!replied(err), "whether %s was changed (%s) is not known: %s", "%s is not changed (%s): %s")
		err = fmt.Errorf(what, safetext.Clean(s.Key), s.Change, connect.Explain(err, i.link.endpoint.Shown))
	}
	i.o.Sent(s.Key)
	return c.done, errors.Join(err, i.end(act, model.Outcomes{}))
}

// changing is the change of an order that is being carried out.
type changing struct {
	link  *link
	order model.Order
	act   *action
	done  model.Changed
}

func (c *changing) carryOut(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.link.timeout)
	defer cancel()
	switch c.order.Change.Kind {
	case model.Give:
		if stored := storedOf(c.link, c.order); stored != nil {
			return stored.give(ctx, c.act, c.order.Change.Units, &c.done)
		}
		return c.give(ctx)
	case model.Block:
		now, err := c.link.client().Time(ctx).Result()
		if err != nil {
			return err
		}
		c.done.Written = []string{layout.BlockedKey(c.order.Key)}
		return c.link.client().Process(ctx, redis.NewStatusCmd(ctx, blockWords(c.order, now)...))
	}
	return c.remove(ctx)
}

// blockWords returns the command that blocks a key from now on, which is a time of the server's
// clock. The limiter's script writes the same.
func blockWords(s model.Order, now time.Time) []any {
	return []any{"set", layout.BlockedKey(s.Key), strconv.FormatInt(now.Add(s.Change.For).UnixMicro(), 10), "px",
		strconv.FormatInt(s.Change.For.Milliseconds(), 10)}
}

// remove unlinks the keys of the action that exist, and in the same transaction saves their
// values, except those that are too large.
func (c *changing) remove(ctx context.Context) error {
	var saved, keys []string // a key that is too large is removed and not saved
	for _, was := range c.act.before {
		switch key := string(was.Key); {
		case was.Unsaved == "" && was.Digest != "":
			saved, keys = append(saved, key), append(keys, key)
		case was.Unsaved != "" && was.Holds != "":
			keys = append(keys, key)
			c.done.Unsaved = append(c.done.Unsaved, fmt.Sprintf("%s: %s", safetext.Clean(key), was.Unsaved))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	before, after, err := c.link.exchangeSaved(ctx, saved, func(p redis.Pipeliner) {
		for _, k := range keys {
			p.Unlink(ctx, k)
		}
	})
	if err != nil {
		return err
	}
	c.act.exact, c.act.left = replaced(c.act.before, before), replaced(c.act.before, after)
	c.done.Removed = keys
	return nil
}

// changed returns the keys that the change of an order may write from now on.
func changed(s model.Order, now limiter.Instant) []string {
	if s.Change.Kind == model.Block || s.Change.Kind == model.Unblock {
		return []string{layout.BlockedKey(s.Key)}
	}
	if s.Target.Described {
		keys, _, _ := s.Target.Script.Expand(s.Key, s.Target.Limit, now, 1, "a") // a name with an error was refused at its preview
		return keys
	}
	if stored := storedOf(nil, s); stored != nil {
		return stored.keys()
	}
	keys := kept(foreign.For(&s.Target), s.Key, s.Target, now)
	if s.Change.Kind != model.Free || foreign.For(&s.Target) != nil {
		return keys
	}
	if s.Target.Convention.Alignment == convention.FirstRequest {
		keys = append(keys, layout.EndsKey(s.Key))
	}
	return append(keys, layout.BlockedKey(s.Key))
}

// previewChange returns the commands of the change of an order.
func (l *link) previewChange(ctx context.Context, s model.Order) ([]string, error) {
	now := l.now()
	switch s.Change.Kind {
	case model.Give:
		if stored := storedOf(l, s); stored != nil {
			ctx, cancel := context.WithTimeout(ctx, l.timeout)
			defer cancel()
			return stored.preview(ctx, s.Change.Units)
		}
		return l.previewOwn(s, func(store *redisstore.Store) (limiter.Decision, error) {
			return store.Refund(ctx, s.Key, s.Target.Limit, s.Change.Units)
		})
	case model.Block:
		return []string{written(blockWords(s, now.Time()))}, nil
	}
	lines := []string{"MULTI"}
	for _, k := range changed(s, now) {
		lines = append(lines, written([]any{"dump", k}), written([]any{"pexpiretime", k}), written([]any{"unlink", k}))
	}
	return append(lines, "EXEC"), nil
}

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
	var was, is []asked
	save := func(p redis.Pipeliner) []asked {
		return collect.Map(keys, func(k string) asked { return asked{dump: p.Dump(ctx, k), expiry: p.PExpireTime(ctx, k)} })
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
		before, after = append(before, was[n].saved(k)), append(after, is[n].saved(k))
		after[n].Dump = nil
	}
	return before, after, nil
}

// give takes units off the count of a limiter of ratescope's own library, and in the same
// transaction saves the contents of its keys before and after.
func (c *changing) give(ctx context.Context) error {
	act, s := c.act, &c.order
	l, err := c.link.storeOn(c.link.plainly(), s.Target)
	if err != nil {
		return err
	}
	before, err := l.Peek(ctx, s.Key, s.Target.Limit, 0)
	if err != nil {
		return err
	}
	saved := collect.Only(act.before, func(was savedKey) bool { return was.Unsaved == "" })
	keys := collect.Map(saved, func(was savedKey) string { return string(was.Key) })
	var found, left []savedKey
	if l, err = c.link.storeOn(c.link.saving(keys, &found, &left), s.Target); err != nil {
		return err
	}
	after, err := l.Refund(ctx, s.Key, s.Target.Limit, s.Change.Units)
	if err != nil {
		return err
	}
	act.exact, act.left = replaced(act.before, found), replaced(act.before, left)
	if c.done.Units = max(before.Used-after.Used, 0); c.done.Units > 0 {
		c.done.Written = changed(*s, act.begun)
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

// storedLimit changes a limit that its library keeps in Redis.
type storedLimit struct {
	link  *link
	order model.Order
	at    model.StoredLimit
}

// storedOf returns the stored limit that the change of an order raises; nil if it raises none. The link may be nil
// if only the keys are needed.
func storedOf(l *link, s model.Order) *storedLimit {
	at, ok := s.Target.StoredLimit(s.Key)
	if !ok || s.Change.Kind != model.Give {
		return nil
	}
	return &storedLimit{l, s, at}
}

func (l *storedLimit) keys() []string {
	return kept(foreign.Stored(l.at), l.order.Key, l.order.Target, 0)
}

// stepped is a changed limit, with the contents of its keys before and after it in the same
// transaction.
type stepped struct {
	foreign.Raised
	before, after []savedKey
}

// raise raises the limit by units, or lowers it for negative units, if its keys have not changed since they
// were read. If was is not nil, nothing is written unless the stored limit equals it.
func (l *storedLimit) raise(ctx context.Context, units int64, was *limiter.Limit) (done stepped, err error) {
	by := l.link.saving(l.keys(), &done.before, &done.after)
	_, err = l.link.work(ctx, by, foreign.Stored(l.at), l.order, func(r *foreign.Request) (w foreign.Written, err error) {
		if done.Raised, err = foreign.RaiseStored(r, units); err != nil {
			return w, err
		}
		if was != nil && done.Was != *was {
			return w, &changedLimit{written: *was, held: done.Was}
		}
		return foreign.Written{Commands: done.Commands}, done.Check()
	})
	return done, err
}

// changedLimit is the error of a limit that another program has changed since an action.
type changedLimit struct{ written, held limiter.Limit }

// Error implements error.
func (e *changedLimit) Error() string {
	return fmt.Sprintf("another program has set the limit since: it was %s after it, and is %s now", model.LimitText(e.written),
		model.LimitText(e.held))
}

// give carries out the change of an action: it raises the limit by units.
func (l *storedLimit) give(ctx context.Context, act *action, units int64, done *model.Changed) error {
	raised, err := l.raise(ctx, units, nil)
	if err != nil {
		return err
	}
	act.exact, act.left = raised.before, raised.after
	act.raised = &model.Raise{Units: units, From: raised.Was, To: raised.Is, Whose: l.at.Whose}
	done.Units, done.Written, done.Raise = units, l.keys(), act.raised
	return nil
}

// lower takes back what an action raised the limit by, and keeps the requests counted since. It fails if another
// program has changed the limit since, and for nil, a limit of which it is not known where it is kept.
func (l *storedLimit) lower(ctx context.Context, raised *model.Raise) (*model.Raise, error) {
	if l == nil {
		return nil, errors.New("its lines in the audit file do not say where its limit is kept")
	}
	ctx, cancel := context.WithTimeout(ctx, l.link.timeout)
	defer cancel()
	back, err := l.raise(ctx, -raised.Units, &raised.To)
	return &model.Raise{From: back.Was, To: back.Is, Whose: l.at.Whose}, err
}

// preview returns the commands that raise the limit, computed from the present contents of its
// keys.
func (l *storedLimit) preview(ctx context.Context, units int64) ([]string, error) {
	r := &foreign.Request{Target: &l.order.Target, At: l.link.now()}
	if _, err := l.link.read(ctx, l.link.client(), foreign.Stored(l.at), l.order.Key, r); err != nil {
		return nil, err
	}
	raised, err := foreign.RaiseStored(r, units)
	if err == nil {
		err = raised.Check()
	}
	if err != nil {
		return nil, err
	}
	watch := append([]any{"watch"}, collect.Map(l.keys(), func(k string) any { return k })...)
	lines := []string{written(watch), "MULTI"}
	for _, words := range raised.Commands {
		for n, word := range words {
			if text, ok := word.(string); ok && strings.ContainsFunc(text, unicode.IsControl) {
				words[n] = fmt.Sprintf("<%d bytes>", len(text)) // a binary value, which no person reads
			}
		}
		lines = append(lines, written(words))
	}
	return append(lines, "EXEC"), nil
}
