package fire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/fire/foreign"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/safetext"
)

// TakeBack takes an action back: its keys get the values and expiries that they had before its first
// request, and the keys that it created are removed. It fails, with one sentence, if another program has
// written while the action fired or since, if the values were not saved, and if the action is not over or
// was taken back before.
//
// With Withdraw, or if the program of the action was killed, the charges are then taken off the present
// values: members of a log by their instants, and counts from the counters of their windows. For streams,
// buckets and GCRA it refunds at most the units that must still be charged. Charges that have left the
// window need no withdrawal. The expiry of a log then follows from its newest remaining member; other
// expiries stay as they are.
//
// On a production server an injector that is armed by hand requires the key's name and a reason, as an
// order does.
func (i *Injector) TakeBack(ctx context.Context, t model.TakeBack) (model.TakenBack, error) {
	f, err := i.audited(t.Action)
	if err == nil {
		err = i.permitBack(f.first.name(), t.Named, t.Reason)
	}
	if err != nil {
		return model.TakenBack{}, err
	}
	t.Reason = cmp.Or(strings.TrimSpace(t.Reason), i.o.Reason)
	u, err := i.takeBack(ctx, t, &f)
	i.o.Sent(f.first.name())
	return u, err
}

// KeyOf returns the key of an action in the audit file. It fails, as Undo does, if firing is not
// permitted or the action is unknown, not over or taken back.
func (i *Injector) KeyOf(id string) (string, error) {
	f, err := i.audited(id)
	return f.first.name(), err
}

// audited returns an action of the audit file. It fails if firing is
// not permitted now, because taking back writes as well.
func (i *Injector) audited(id string) (found, error) {
	if err := i.Armed(); err != nil {
		return found{}, err
	}
	if err := i.audit.open(); err != nil {
		return found{}, err
	}
	return i.audit.find(id)
}

func (i *Injector) takeBack(ctx context.Context, t model.TakeBack, f *found) (model.TakenBack, error) {
	u := model.TakenBack{Action: t.Action, Key: f.first.name(), Change: f.first.Change, Withdrawn: t.Withdraw || !f.ended, Open: f.open}
	if all := f.last.Outcomes; all != nil { // one that failed wrote nothing
		u.Requests = int64(all.Total() - all.Failed)
	}
	if err := f.possible(i.link.endpoint, u.Withdrawn); err != nil {
		return model.TakenBack{}, err
	}
	whole := u
	keys, args, err := f.changes(func() (time.Time, error) { return i.link.client().Time(ctx).Result() }, &whole)
	if err == nil {
		err = i.audit.lossless(f)
	}
	if err != nil && !u.Withdrawn {
		return model.TakenBack{}, err
	}
	line := entry{Action: t.Action, Server: f.first.Server, Database: f.first.Database, Key: f.first.Key, KeyQuoted: f.first.KeyQuoted,
		Outcome: undone, Reason: t.Reason, person: whoRuns()}
	if err := i.audit.append(line); err != nil { // before it is done
		return model.TakenBack{}, err
	}
	since := ""
	if err == nil && f.ended {
		since, err = i.link.putBack(ctx, keys, args)
	}
	switch restored := err == nil && since == "" && f.ended; {
	case restored && u.Withdrawn && len(whole.Restored)+len(whole.Removed) > 0:
		whole.Units = collect.Sum(f.charges, func(c charge) int64 { return c.cost })
		return whole, nil
	case restored:
		whole.Open = nil // what the keys held before holds none of them
		return whole, nil
	case u.Withdrawn:
		w := &withdrawal{i.link, foreign.For(f.first.Target), u.Key, *f.first.Target, f.charges, f.last.After}
		u.Units, err = w.take(ctx)
	case err == nil && f.last.Raise != nil:
		given := model.Order{Key: u.Key, Target: *cmp.Or(f.first.Target, &model.Target{}), Change: model.Change{Kind: model.Give}}
		u.Lowered, err = storedOf(i.link, given).lower(ctx, f.last.Raise)
	case err == nil:
		who, remedy := i.audit.rival(f)
		err = fmt.Errorf("%s has written to %s since, whose requests would be lost%s: %s", who, safetext.Clean(since),
			i.link.difference(ctx, since, f.last.After), cmp.Or(remedy, "look at it with ratescope peek"))
	}
	if err == nil {
		return u, nil
	}
	line.Error = err.Error()
	return model.TakenBack{}, errors.Join(fmt.Errorf("%s cannot be taken back: %w", t.Action, err), i.audit.append(line))
}

// possible returns an error if the action cannot be taken back at a server, or not be withdrawn.
func (f *found) possible(e *connect.Endpoint, withdraw bool) error {
	id, first := f.first.Action, &f.first
	switch {
	case first.Server != e.Shown || first.Database != e.DB():
		return fmt.Errorf("%s wrote to %s, database %d, and not to %s: %s", id, first.Server, first.Database, e.Shown,
			collect.If(first.URL != "", "only that application can take it back", "name that server with --redis"))
	case !withdraw:
	case first.Change != "":
		return fmt.Errorf("%s sent no requests that could be withdrawn, it changed the key (%s): take it back without --withdraw", id,
			first.Change)
	case first.Target == nil:
		return fmt.Errorf("%s cannot be withdrawn: the audit file does not say how its key was limited", id)
	case first.Target.Described:
		remedy := "take it back without --withdraw"
		if !f.ended {
			held := collect.Map(first.Before, func(k savedKey) string { return safetext.Clean(string(k.Key)) + " held " + k.words() })
			remedy = "what its keys held after it is not known, so look at them with ratescope peek and correct them by hand: before it, " +
				strings.Join(held, "; ")
		}
		return fmt.Errorf("%s cannot be withdrawn, because what the program's own script charged is not known: %s", id, remedy)
	}
	return nil
}

// lossless returns nil if restoring the contents from before an action loses no request of other
// clients, and else one sentence.
func (a *audit) lossless(f *found) error {
	if f.first.Change != "" || f.last.Others == noOthers || layout.IsScratch(f.first.name()) { // other clients do not use scratch copies
		return nil
	}
	remedy := "--withdraw takes off its own and keeps them"
	if t := f.first.Target; t == nil || t.Described {
		remedy = "look at it with ratescope peek"
	}
	wrote := collect.If(f.last.Others == someOthers, "has written while it was fired", "may have written while it was fired")
	who, first := a.rival(f)
	return fmt.Errorf("%s cannot be taken back: %s %s, whose requests would be lost: %s", f.first.Action, who, wrote, cmp.Or(first, remedy))
}

// putBack restores keys, unless another program has written to one of them since: it then returns
// the first such key, and changes none. args are the ARGV of restore.
func (l *link) putBack(ctx context.Context, keys []string, args []any) (since string, err error) {
	if len(keys) == 0 {
		return "", nil
	}
	held, err := l.plainly().run(ctx, restore, keys, args...).Text()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return held, err
}

// difference returns the end of a sentence with the contents of a key after an action and now; ""
// if they are unknown.
func (l *link) difference(ctx context.Context, key string, after []savedKey) string {
	now, err := l.save(ctx, []string{key})
	if err != nil {
		return ""
	}
	for _, was := range after {
		if string(was.Key) == key {
			return fmt.Sprintf(" (it held %s after it, and holds %s now)", was.words(), now[0].words())
		}
	}
	return ""
}

// words returns what a saved key held, as the end of a clause.
func (s *savedKey) words() string {
	if s.Digest == "" && s.Holds == "" && s.Unsaved == "" {
		return "nothing"
	}
	text := cmp.Or(s.Holds, "another value")
	if s.Expires > 0 {
		text += ", until " + time.UnixMilli(s.Expires).UTC().Format("15:04:05.000")
	}
	return text
}

// changes returns what has to be written to take the action back, as KEYS and ARGV of restore, and lists the keys in u. Keys that
// the action did not change are left out. clock tells the server's time.
func (f *found) changes(clock func() (time.Time, error), u *model.TakenBack) (keys []string, args []any, err error) {
	before, after := f.first.Before, f.last.After
	if f.last.Before != nil { // saved in the transaction of a change
		before = f.last.Before
	}
	if len(before) == 0 || len(after) != len(before) {
		return nil, nil, fmt.Errorf("%s cannot be taken back: what its keys held was not saved", u.Action)
	}
	now, err := clock()
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be taken back: %w", u.Action, err)
	}
	for n, was := range before {
		is := after[n]
		key := string(was.Key)
		if was.Key != is.Key {
			return nil, nil, fmt.Errorf("%s cannot be taken back: its lines in the audit file do not agree", u.Action)
		}
		if why := cmp.Or(was.Unsaved, is.Unsaved); why != "" {
			return nil, nil, fmt.Errorf("%s cannot be taken back: what %s held was not saved, because %s", u.Action,
				safetext.Clean(key), why)
		}
		past := func(s savedKey) bool { return s.Expires > 0 && s.Expires <= now.UnixMilli() }
		switch {
		case was.Digest == is.Digest && was.Expires == is.Expires:
			continue
		case past(is):
			u.Expired = append(u.Expired, key)
			continue
		case was.Digest == "" || past(was):
			u.Removed = append(u.Removed, key)
			args = append(args, is.Digest, "", 0)
		default:
			u.Restored = append(u.Restored, key)
			args = append(args, is.Digest, string(was.Dump), was.Expires)
		}
		keys = append(keys, key)
	}
	return keys, args, nil
}

// age returns a clause with the time at which a line was written.
func age(at string) string {
	t, err := time.Parse(stamp, at)
	if err != nil {
		return "at an unknown time"
	}
	return "at " + t.UTC().Format(time.DateTime) + " UTC"
}
