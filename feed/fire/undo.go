package fire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/safetext"
)

// Undone describes an action that was taken back.
type Undone = model.TakenBack

// takingBack takes back the actions of an audit file.
type takingBack struct {
	*link
	audit      *audit
	permission *permission
}

// back returns the takingBack of the injector's audit file and server.
func (i *Injector) back() takingBack { return takingBack{i.link, &i.audit, i.permission} }

// restore restores the contents of keys, all or none. ARGV holds for each of the KEYS the digest
// that it must have now ("" for no key), the dump to restore ("" to remove the key) and its expiry
// in milliseconds since the epoch (0 for none). The script returns the first key whose digest
// differs, because another program has written to it, or false if there is none.
var restore = newScript(`
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

// Undo takes back an action: its keys get the values and expiries that they had before its first
// request, and the keys that it created are removed. It fails, with one sentence, if another
// program has written while the action fired or since, if the values were not saved, and if the
// action is not over or was taken back before. An action whose program was killed is withdrawn.
func (i *Injector) Undo(ctx context.Context, id string) (Undone, error) {
	return i.back().undo(ctx, id, i.reason)
}

func (i takingBack) undo(ctx context.Context, id, reason string) (Undone, error) {
	f, err := i.audited(id)
	if err != nil {
		return Undone{}, err
	}
	first, last := f.first, f.last
	if !f.ended { // what its keys held after it is not known
		return i.withdraw(ctx, id, reason)
	}
	if first.Server != i.endpoint.Shown || first.Database != i.endpoint.DB() {
		return Undone{}, fmt.Errorf("%s wrote to %s, database %d, and not to %s: name that server with --redis", id, first.Server, first.Database, i.endpoint.Shown)
	}
	u := Undone{Action: id, Key: first.Key, Change: first.Change}
	if last.Outcomes != nil {
		u.Requests = int64(last.Outcomes.Total())
	}
	changed, err := i.changes(ctx, heldBefore(first, last), last.After, &u)
	if err == nil {
		err = lossless(first, last)
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
		since, err = "", i.putLimitBack(ctx, &u, first, last)
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

// lossless returns nil if restoring the contents from before an action loses no request of other
// clients, and else one sentence.
func lossless(first, last entry) error {
	if first.Change != "" || last.Others == noOthers || layout.IsScratch(first.name()) { // other clients do not use scratch copies
		return nil
	}
	remedy := "--withdraw takes off its own and keeps them"
	if first.Target != nil && first.Target.Described {
		remedy = "look at it with ratescope peek"
	}
	return fmt.Errorf("%s cannot be taken back: %s, whose requests would be lost: %s", first.Action, cmp.Or(last.Others, maybe), remedy)
}

// TakeBack takes an action back for a screen, as Undo or Withdraw does. On a production server it
// requires the key's name and a reason, as an order does.
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
	return u, err
}

// heldBefore returns the contents of an action's keys before it.
func heldBefore(first, last entry) []savedKey {
	if last.Before != nil { // saved in the transaction of a change
		return last.Before
	}
	return first.Before
}

// putBack restores keys, unless another program has written to one of them since: it then returns
// the first such key, and changes none.
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

// audited returns an action of the audit file. It fails if firing is
// not permitted now, because taking back writes as well.
func (i takingBack) audited(id string) (found, error) {
	if err := i.permission.Armed(); err != nil {
		return found{}, err
	}
	if err := i.audit.open(); err != nil {
		return found{}, err
	}
	return i.audit.find(id)
}

// KeyOf returns the key of an action in the audit file. It fails, as Undo does, if firing is not
// permitted or the action is unknown, not over or taken back.
func (i *Injector) KeyOf(id string) (string, error) {
	f, err := i.back().audited(id)
	return f.first.name(), err
}

// undoing writes to the audit file that an action is about to be taken back, and returns the line,
// to which the caller adds an error if that fails.
func (i takingBack) undoing(first entry, reason string) (entry, error) {
	line := entry{Action: first.Action, Server: first.Server, Database: first.Database, Key: first.Key, KeyQuoted: first.KeyQuoted, Outcome: undone, Reason: reason, person: whoRuns()}
	if err := i.audit.append(line); err != nil {
		return line, i.audit.unwritable(err)
	}
	return line, nil
}

// difference returns the end of a sentence with the contents of a key after an action and now; ""
// if they are unknown.
func (i takingBack) difference(ctx context.Context, key string, after []savedKey) string {
	now, err := i.save(ctx, []string{key})
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
		if string(was.Key) == key {
			return fmt.Sprintf(" (it held %s after it, and holds %s now)", words(was), words(now[0]))
		}
	}
	return ""
}

// change holds the KEYS and ARGV of restore.
type change struct {
	keys []string
	args []any
}

// changes returns what has to be written to take an action back, and lists the keys in u. Keys that
// the action did not change are left out.
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
		key := string(was.Key)
		if was.Key != is.Key {
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

// age returns a clause with the time at which a line was written.
func age(at string) string {
	t, err := time.Parse(stamp, at)
	if err != nil {
		return "at an unknown time"
	}
	return "at " + t.UTC().Format(time.DateTime) + " UTC"
}
