package fire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/decode"
	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/model"
)

// storedLimit changes a limit that its library keeps in Redis.
type storedLimit struct {
	client redis.UniversalClient
	target *model.Target
	at     model.StoredLimit
	now    func() limiter.Instant // the server's clock
}

// storedOf returns the stored limit that the change of an order raises; nil if it raises none.
// client may be nil if only the keys are needed.
func storedOf(s model.Order, client redis.UniversalClient, offset func() time.Duration) *storedLimit {
	at, ok := s.Target.StoredLimit(s.Key)
	if !ok || s.Change.Kind != model.Give {
		return nil
	}
	return &storedLimit{client: client, target: &s.Target, at: at, now: func() limiter.Instant { return limiter.InstantOf(time.Now().Add(offset())) }}
}

// keys returns the keys that a change writes.
func (l *storedLimit) keys() []string {
	var keys []string
	for _, f := range foreign.FetchStored(l.target, l.at) {
		keys = append(keys, f.Key)
	}
	return keys
}

// stepped is a changed limit, with the contents of its keys before and after it in the same
// transaction.
type stepped struct {
	foreign.Raised
	before, after []savedKey
}

// raise raises the limit by units, or lowers it for negative units, in a transaction that fails if
// its keys have changed since they were read. If was is not nil, nothing is written unless the
// stored limit equals it.
func (l *storedLimit) raise(ctx context.Context, units int64, was *limiter.Limit) (done stepped, err error) {
	keys := l.keys()
	for range mostExchanges {
		err = l.client.Watch(ctx, func(tx *redis.Tx) error {
			if done.Raised, err = l.work(ctx, tx, units); err != nil {
				return err
			}
			if was != nil && done.Was != *was {
				return &changedLimit{written: *was, held: done.Was}
			}
			if err := done.Check(); err != nil {
				return err
			}
			done.before, done.after, err = exchangeSaved(ctx, tx, keys, func(p redis.Pipeliner) {
				for _, words := range done.Commands {
					p.Do(ctx, words...)
				}
			})
			return err
		}, keys...)
		if !errors.Is(err, redis.TxFailedErr) {
			return done, err
		}
	}
	return done, errBusy
}

// work reads the keys and computes the commands that change the limit.
func (l *storedLimit) work(ctx context.Context, c redis.Cmdable, units int64) (foreign.Raised, error) {
	fetched := foreign.FetchStored(l.target, l.at)
	asked := make([]*decode.Pending, len(fetched))
	if _, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n, f := range fetched {
			asked[n] = decode.Ask(ctx, p, f)
		}
		return nil
	}); err != nil && !errors.Is(err, redis.Nil) && !replied(err) {
		return foreign.Raised{}, fmt.Errorf("nothing was written, its key cannot be read: %w", err)
	}
	held := make([]decode.Sample, len(asked))
	for n, a := range asked {
		var err error
		if held[n], err = a.Sample(); err != nil {
			return foreign.Raised{}, err
		}
	}
	return foreign.RaiseStored(l.target, held, units, l.now())
}

// changedLimit is the error of a limit that another program has changed since an action.
type changedLimit struct{ written, held limiter.Limit }

// Error implements error.
func (e *changedLimit) Error() string {
	return fmt.Sprintf("another program has set the limit since: it was %s after it, and is %s now", model.LimitText(e.written), model.LimitText(e.held))
}

// give carries out the change of an action: it raises the limit by units.
func (l *storedLimit) give(ctx context.Context, act *action, units int64, done *model.Changed) error {
	raised, err := l.raise(ctx, units, nil)
	if err != nil {
		return err
	}
	act.exact, act.left = raised.before, raised.after
	act.raised = &raisedLine{Units: units, From: raised.Was, To: raised.Is}
	done.Units, done.Written = units, l.keys()
	done.Raise = &model.Raise{From: raised.Was, To: raised.Is, Whose: l.at.Whose}
	return nil
}

// takeBack lowers the limit by the units by which an action raised it, and keeps the requests
// counted since. It fails if another program has changed the limit since.
func (l *storedLimit) takeBack(ctx context.Context, was *raisedLine) (model.Raise, error) {
	back, err := l.raise(ctx, -was.Units, &was.To)
	return model.Raise{From: back.Was, To: back.Is, Whose: l.at.Whose}, err
}

// putLimitBack lowers the limit that an action raised, and keeps the requests counted since.
func (i *Injector) putLimitBack(ctx context.Context, u *Undone, f *found) error {
	if f.first.Target == nil {
		return errNoPlace
	}
	l := storedOf(model.Order{Key: f.first.name(), Target: *f.first.Target, Change: model.Change{Kind: model.Give}}, i.link.client(), i.link.offset)
	if l == nil {
		return errNoPlace
	}
	ctx, cancel := context.WithTimeout(ctx, i.link.timeout)
	defer cancel()
	back, err := l.takeBack(ctx, f.last.Raise)
	if err == nil {
		u.Lowered = &back
	}
	return err
}

// errNoPlace is the error of an action whose limit cannot be found again.
var errNoPlace = errors.New("its lines in the audit file do not say where its limit is kept")

// preview returns the commands that raise the limit, computed from the present contents of its
// keys.
func (l *storedLimit) preview(ctx context.Context, units int64) ([]string, error) {
	r, err := l.work(ctx, l.client, units)
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		return nil, err
	}
	watch := []any{"watch"}
	for _, k := range l.keys() {
		watch = append(watch, k)
	}
	lines := []string{written(watch), "MULTI"}
	for _, words := range r.Commands {
		for n, word := range words {
			if text, ok := word.(string); ok && strings.ContainsFunc(text, unicode.IsControl) {
				words[n] = fmt.Sprintf("<%d bytes>", len(text)) // a binary value, which no person reads
			}
		}
		lines = append(lines, written(words))
	}
	return append(lines, "EXEC"), nil
}

// raisedLine is the change of a stored limit in the audit file.
type raisedLine struct {
	Units int64         `json:"units"`
	From  limiter.Limit `json:"from"`
	To    limiter.Limit `json:"to"`
}
