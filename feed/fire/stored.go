package fire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/model"
)

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

// keys returns the keys that a change writes.
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
	l := storedOf(i.link, model.Order{Key: f.first.name(), Target: *f.first.Target, Change: model.Change{Kind: model.Give}})
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
	watch := []any{"watch"}
	for _, k := range l.keys() {
		watch = append(watch, k)
	}
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

// raisedLine is the change of a stored limit in the audit file.
type raisedLine struct {
	Units int64         `json:"units"`
	From  limiter.Limit `json:"from"`
	To    limiter.Limit `json:"to"`
}
