package fire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/safetext"
)

// Undone is what was taken back.
type Undone struct {
	Action   string // the id of what was taken back
	Key      string
	Requests int64    // how many requests the action had sent
	Restored []string // the keys that are as they were before
	Removed  []string // the keys that the action had created
	Expired  []string // the keys that have expired since, with what was written to them

	Change string // what had been done to the key; "" where requests were sent

	// Lowered is the limit that was put back where its library keeps it, beside requests that were
	// counted since; nil where no limit was raised, or nothing else was written since.
	Lowered *model.Raise

	Withdrawn bool  // nothing was put back: Units were taken off what the key holds
	Units     int64 // of cost
}

// takingBack takes back what the actions in an audit file wrote to a server.
type takingBack struct {
	*link
	audit      *audit
	permission *permission
}

// back returns what takes back the actions of the injector.
func (i *Injector) back() takingBack { return takingBack{i.link, &i.audit, i.permission} }

// restore puts keys back as they were, all or none: KEYS are the keys, ARGV holds for each the
// digest that it must have now ("" absent), the dump to restore ("" none) and its expiry in
// milliseconds since the epoch (0 none). It returns the first key that another program has
// written to since, or false.
var restore = redis.NewScript(`
for i, key in ipairs(KEYS) do
  local held = redis.call('DUMP', key)
  if (held and redis.sha1hex(held) or '') ~= ARGV[3 * i - 2] then return key end
end
for i, key in ipairs(KEYS) do
  redis.call('DEL', key)
  if ARGV[3 * i - 1] ~= '' then
    redis.call('RESTORE', key, ARGV[3 * i], ARGV[3 * i - 1], 'ABSTTL')
  end
end
return false
`)

// Undo takes back what an action wrote: its keys get the values and expiries that they had
// before its first request, and those that it created are removed. It refuses, with one sentence,
// where another program has written while it was fired or since, where the values were not saved,
// and where the action is unfinished or was taken back already.
func (i *Injector) Undo(ctx context.Context, id string) (Undone, error) {
	return i.back().undo(ctx, id, i.reason)
}

func (i takingBack) undo(ctx context.Context, id, reason string) (Undone, error) {
	first, last, err := i.audited(id)
	if err != nil {
		return Undone{}, err
	}
	if first.Server != i.endpoint.Shown || first.Database != i.endpoint.DB() {
		return Undone{}, fmt.Errorf("%s wrote to %s, database %d, and not to %s: name that server with --redis", id, first.Server, first.Database, i.endpoint.Shown)
	}
	u := Undone{Action: id, Key: first.Key, Change: first.Change}
	if last.Outcomes != nil {
		u.Requests = int64(last.Outcomes.Total())
	}
	changed, err := i.changes(ctx, heldBefore(first, last), last.After, &u)
	if err == nil && first.Change == "" && first.Target != nil {
		err = i.lossless(ctx, first, last)
	}
	if err != nil {
		return Undone{}, err
	}
	line, err := i.undoing(first, reason)
	if err != nil {
		return Undone{}, err
	}
	since, err := i.putBack(ctx, changed)
	if err == nil && since != "" && last.Raise != nil {
		since, err = "", u.putLimitBack(ctx, i, first, last)
	}
	switch {
	case err == nil && since == "":
		return u, nil
	case err != nil:
		line.Error = err.Error()
		return Undone{}, errors.Join(fmt.Errorf("%s cannot be taken back: %w", id, err), i.audit.append(line))
	}
	line.Error = "another program has written since"
	err = fmt.Errorf("%s cannot be taken back: another program has written to %s since, whose requests would be lost%s: look at it with ratescope peek", id, safetext.Clean(since), i.difference(ctx, since, last.After))
	return Undone{}, errors.Join(err, i.audit.append(line))
}

// lossless returns nil where putting back what the keys of an action held before it loses no request of
// other clients, else one sentence with the difference.
func (i takingBack) lossless(ctx context.Context, first, last entry) error {
	key, t, err := i.subject(first)
	if err != nil || layout.IsScratch(key) { // no request of others meets a copy
		return err
	}
	charged, err := i.audit.charges(first.Action, deniedCharged(&t))
	if err != nil {
		return err
	}
	why := amongOthers(key, t, first, last, charged, asNewOf(ctx, i.link, key, t))
	if why == "" {
		return nil
	}
	return fmt.Errorf("%s cannot be taken back: %s, whose requests would be lost: --withdraw takes off its own and keeps them", first.Action, why)
}

// TakeBack takes an action back for a screen, as Undo and Withdraw do. Where it counts as production
// it asks for the name of the key and a reason, as an order does.
func (i *Injector) TakeBack(ctx context.Context, t model.TakeBack) (model.TakenBack, error) {
	key, err := i.KeyOf(t.Action)
	if err != nil {
		return model.TakenBack{}, err
	}
	if err := i.permitBack(key, t.Named, t.Reason); err != nil {
		return model.TakenBack{}, err
	}
	back := i.back().undo
	if t.Withdraw {
		back = i.back().withdraw
	}
	u, err := back(ctx, t.Action, strings.TrimSpace(t.Reason))
	if i.sent != nil {
		i.sent(key)
	}
	return model.TakenBack{Restored: u.Restored, Removed: u.Removed, Expired: u.Expired, Lowered: u.Lowered, Units: u.Units}, err
}

// heldBefore is what the keys of an action held before it.
func heldBefore(first, last entry) []savedKey {
	if last.Before != nil { // of a change, taken in its own transaction
		return last.Before
	}
	return first.Before
}

// putBack makes keys as they were, where no other program has written to them since; it returns
// the first one that one has written to, and then none is changed.
func (i takingBack) putBack(ctx context.Context, c change) (since string, err error) {
	if len(c.keys) == 0 {
		return "", nil
	}
	held, err := i.run(ctx, restore, c.keys, c.args...).Text()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return held, err
}

// audited returns the first and the last line of an action in the audit file. It is an error where
// nothing may be fired, because then nothing may be taken back either.
func (i takingBack) audited(id string) (first, last entry, err error) {
	if err := i.permission.Armed(); err != nil {
		return first, last, err
	}
	if err := i.audit.open(); err != nil {
		return first, last, err
	}
	return i.audit.find(id)
}

// KeyOf returns the key of an action in the audit file. It is an error where that cannot be taken
// back, as it is for Undo.
func (i *Injector) KeyOf(id string) (string, error) {
	first, _, err := i.back().audited(id)
	if err != nil || !first.KeyQuoted {
		return first.Key, err
	}
	return strconv.Unquote(first.Key)
}

// undoing writes the line that says that an action is taken back, before anything is sent, and
// returns it for a line about what went wrong.
func (i takingBack) undoing(first entry, reason string) (entry, error) {
	line := entry{Action: first.Action, Server: first.Server, Database: first.Database, Key: first.Key, KeyQuoted: first.KeyQuoted, Outcome: undone, Reason: reason, person: whoRuns()}
	if err := i.audit.append(line); err != nil {
		return line, i.audit.unwritable(err)
	}
	return line, nil
}

// difference says what a key held after an action and what it holds now, as the end of a sentence;
// "" where that is not known.
func (i takingBack) difference(ctx context.Context, key string, after []savedKey) string {
	now, err := i.save(ctx, []string{key}, nil)
	if err != nil {
		return ""
	}
	words := func(s savedKey) string {
		if s.Digest == "" && s.Holds == "" && s.Unsaved == "" {
			return "nothing"
		}
		text := cmp.Or(s.Holds, "another value")
		if s.Expires > 0 {
			text += ", until " + time.UnixMilli(s.Expires).UTC().Format("15:04:05.000")
		}
		return text
	}
	for _, was := range after {
		if was.Key == strconv.Quote(key) {
			return fmt.Sprintf(" (it held %s after it, and holds %s now)", words(was), words(now[0]))
		}
	}
	return ""
}

// change is what has to be written to take an action back.
type change struct {
	keys []string
	args []any
}

// changes works out what has to be written. Keys that the action did not change stay as they are.
func (i takingBack) changes(ctx context.Context, before, after []savedKey, u *Undone) (change, error) {
	var c change
	if len(before) == 0 || len(after) != len(before) {
		return c, fmt.Errorf("%s cannot be taken back: what its keys held was not saved", u.Action)
	}
	now, err := i.client().Time(ctx).Result()
	if err != nil {
		return c, fmt.Errorf("%s cannot be taken back: %w", u.Action, err)
	}
	for n, was := range before {
		is := after[n]
		key, err := strconv.Unquote(was.Key)
		if err != nil || was.Key != is.Key {
			return c, fmt.Errorf("%s cannot be taken back: its lines in the audit file do not agree", u.Action)
		}
		if why := was.Unsaved + is.Unsaved; why != "" {
			return c, fmt.Errorf("%s cannot be taken back: what %s held was not saved, because %s", u.Action, safetext.Clean(key), why)
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
			c.args = append(c.args, is.Digest, "", 0)
		default:
			u.Restored = append(u.Restored, key)
			c.args = append(c.args, is.Digest, string(was.Dump), was.Expires)
		}
		c.keys = append(c.keys, key)
	}
	return c, nil
}

// age returns when a line was written, as a clause.
func age(at string) string {
	t, err := time.Parse(stamp, at)
	if err != nil {
		return "at an unknown time"
	}
	return "at " + t.UTC().Format(time.DateTime) + " UTC"
}
