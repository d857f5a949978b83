package fire

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/safetext"
)

// withdrawLog removes members of the sorted set KEYS[1]: ARGV holds pairs of a score and the number
// of members with this score to remove. To the limiter, members of the same score are alike. The
// script returns how many members it removed.
var withdrawLog = newScript(`
local gone = 0
for i = 1, #ARGV, 2 do
  local members = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[i], ARGV[i], 'LIMIT', '0', ARGV[i + 1])
  if #members > 0 then gone = gone + redis.call('ZREM', KEYS[1], unpack(members)) end
end
return gone
`)

// withdrawCounts takes ARGV[i] off the counter KEYS[i], if it still exists, but not below 0. A
// counter that reaches 0 is removed, because without the action it would not exist. Expiries stay
// as they are. The script returns how much it took off in all.
var withdrawCounts = newScript(`
local gone = 0
for i, key in ipairs(KEYS) do
  local held = tonumber(redis.call('GET', key) or '0')
  local n = math.min(held, tonumber(ARGV[i]))
  if n > 0 then
    gone = gone + n
    if held == n then redis.call('DEL', key) else redis.call('DECRBY', key, n) end
  end
end
return gone
`)

// maxWithdrawn bounds the charges that one call of withdrawLog removes.
const maxWithdrawn = 500

// Withdraw takes back the charges of an action. If no other program has written to its keys, their
// earlier values and expiries are restored, as Undo does. Otherwise the charges are taken off the
// present values: members of a log by their instants, and counts from the counters of their
// windows. For streams, buckets and GCRA it refunds at most the units that must still be charged.
// Charges that have left the window need no withdrawal.
//
// The expiry of a log then follows from its newest remaining member; other expiries stay as they
// are. Withdraw returns the action and how many units were taken off. It fails if the action was
// taken back before.
func (i *Injector) Withdraw(ctx context.Context, id string) (Undone, error) {
	return i.back().withdraw(ctx, id, i.reason)
}

func (i takingBack) withdraw(ctx context.Context, id, reason string) (Undone, error) {
	f, err := i.audited(id)
	if err != nil {
		return Undone{}, err
	}
	first, last := f.first, f.last
	if first.Change != "" {
		return Undone{}, fmt.Errorf("%s sent no requests that could be withdrawn, it changed the key (%s): take it back without --withdraw", id, first.Change)
	}
	key, t, err := i.subject(first)
	switch {
	case err != nil:
		return Undone{}, err
	case t.Described:
		return Undone{}, fmt.Errorf("%s cannot be withdrawn: what the program's own script charged is not known, so that its keys can only be "+
			"restored as a whole, by undo of an action that came to its end", id)
	}
	charged, err := i.audit.charges(id, deniedCharged(&t))
	if err != nil {
		return Undone{}, err
	}
	u := Undone{Action: id, Key: key, Withdrawn: true, Open: f.open}
	if last.Outcomes != nil {
		u.Requests = int64(last.Outcomes.Total())
	}
	line, err := i.undoing(first, reason)
	if err != nil {
		return Undone{}, err
	}
	if f.ended && lossless(first, last) == nil && i.whole(ctx, first, last, &u) {
		if len(u.Restored)+len(u.Removed) > 0 {
			for _, c := range charged {
				u.Units += c.cost
			}
		}
		return u, nil
	}
	if u.Units, err = i.takeOff(ctx, key, t, charged); err == nil && u.Units > 0 {
		err = i.mend(ctx, key, t, last, charged)
	}
	if err != nil {
		line.Error = err.Error()
		return Undone{}, errors.Join(fmt.Errorf("%s cannot be taken back: %w", id, err), i.audit.append(line))
	}
	return u, nil
}

// whole restores all keys of an action, and reports whether it did. It does not if another program
// has written since, or if the earlier contents were not saved.
func (i takingBack) whole(ctx context.Context, first, last entry, u *Undone) bool {
	at := *u
	changed, err := i.changes(ctx, heldBefore(first, last), last.After, &at)
	if err != nil {
		return false
	}
	since, err := i.putBack(ctx, changed)
	if err != nil || since != "" {
		return false
	}
	*u = at
	return true
}

// mendLog sets the expiry of the sorted set KEYS[1] to the one that its newest remaining member set
// when it was added. ARGV holds the score of the newest member that was removed, and the time from
// a member to the expiry that it sets, in milliseconds. If there is a newer member, it has set the
// expiry itself, and nothing is changed.
var mendLog = newScript(`
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2]
if newest and tonumber(newest) < tonumber(ARGV[1]) and redis.call('PTTL', KEYS[1]) > 0 then
  return redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', math.floor(tonumber(newest) / 1000) + tonumber(ARGV[2])))
end
return 0
`)

// mend takes back the effect of an action's requests on the expiry of a log.
func (i takingBack) mend(ctx context.Context, key string, t model.Target, last entry, charged []charge) error {
	if t.Algorithm != limiter.SlidingLog || t.Layout != (layout.Layout{}) || t.Library != "" && t.Library != model.OwnLibrary {
		return nil
	}
	for _, is := range last.After {
		if string(is.Key) == key && is.Expires > 0 {
			newest := charged[len(charged)-1].at
			return i.run(ctx, mendLog, []string{key}, int64(newest), is.Expires-newest.Millis()).Err()
		}
	}
	return nil
}

// subject returns the key of an action, and its target.
func (i takingBack) subject(first entry) (string, model.Target, error) {
	switch {
	case first.Server != i.endpoint.Shown || first.Database != i.endpoint.DB():
		return "", model.Target{}, fmt.Errorf("%s wrote to %s, database %d, and not to %s: name that server with --redis", first.Action, first.Server, first.Database, i.endpoint.Shown)
	case first.Target == nil:
		return "", model.Target{}, fmt.Errorf("%s cannot be withdrawn: the audit file does not say how its key was limited", first.Action)
	}
	return first.name(), *first.Target, nil
}

// takeOff takes charges off a key's present value, and returns how many units it took off.
func (i takingBack) takeOff(ctx context.Context, key string, t model.Target, charged []charge) (units int64, err error) {
	if len(charged) == 0 {
		return 0, nil
	}
	if w := foreign.For(&t); w != nil {
		return i.takeOffLibrary(ctx, w, key, t, charged)
	}
	switch {
	case t.Algorithm == limiter.SlidingLog && t.Layout == (layout.Layout{}):
		for len(charged) > 0 {
			n := min(len(charged), maxWithdrawn)
			var args []any
			for _, c := range charged[:n] {
				args = append(args, int64(c.at), c.cost)
			}
			gone, err := i.run(ctx, withdrawLog, []string{key}, args...).Int64()
			if units += gone; err != nil {
				return units, err
			}
			charged = charged[n:]
		}
		return units, nil
	case (t.Algorithm == limiter.FixedWindow || t.Algorithm == limiter.SlidingWindow) && t.Convention.Alignment == limiter.AlignEpoch:
		counts := map[string]int64{}
		var keys []string
		for _, c := range charged {
			name := layout.Counter(t.Algorithm, key, t.Layout, c.at.Floor(t.Limit.Window))
			if counts[name] == 0 {
				keys = append(keys, name)
			}
			counts[name] += c.cost
		}
		args := make([]any, len(keys))
		for n, k := range keys {
			args[n] = counts[k]
		}
		return i.run(ctx, withdrawCounts, keys, args...).Int64()
	}
	return i.refund(ctx, key, t, charged)
}

// withdrawListed removes elements of the list KEYS[1]: ARGV holds pairs of an element and how often
// to remove it. The script returns how many elements it removed.
var withdrawListed = newScript(`
local gone = 0
for i = 1, #ARGV, 2 do gone = gone + redis.call('LREM', KEYS[1], ARGV[i + 1], ARGV[i]) end
return gone
`)

// takeOffLibrary takes charges off a limiter of another library: instants from a list, counts from
// the counters that still hold them and, for limiters that drain, the units that must still be
// charged.
func (i takingBack) takeOffLibrary(ctx context.Context, w *foreign.Writer, key string, t model.Target, charged []charge) (units int64, err error) {
	switch t.Algorithm {
	case limiter.SlidingLog:
		for part := range slices.Chunk(charged, maxWithdrawn) {
			var args []any
			for _, c := range part {
				args = append(args, foreign.ListedAs(c.at), c.cost)
			}
			gone, err := i.run(ctx, withdrawListed, []string{w.Fetch(key, &t, part[0].at)[0].Key}, args...).Int64()
			if units += gone; err != nil {
				return units, err
			}
		}
		return units, nil
	case limiter.FixedWindow, limiter.SlidingWindow:
		if why := i.blocked(ctx, w, key, t, charged[len(charged)-1].at); why != nil {
			return 0, why
		}
		keys, counts, err := i.countsOf(ctx, w, key, t, charged)
		if err != nil || len(keys) == 0 {
			return 0, err
		}
		return i.run(ctx, withdrawCounts, keys, counts...).Int64()
	}
	now, err := i.client().Time(ctx).Result()
	if err != nil {
		return 0, err
	}
	n := stillCharged(t, charged, limiter.InstantOf(now))
	if n <= 0 {
		return 0, nil
	}
	d, err := i.work(ctx, i.plainly(), w, model.Order{Key: key, Target: t, Cost: n}, func(r *foreign.Request) (foreign.Written, error) { return w.Refund(r, n) })
	return d.Cost, err
}

// blocked returns an error if the limiter blocks now, because lower counts would not end the block;
// at is the instant of the latest charge.
func (i takingBack) blocked(ctx context.Context, w *foreign.Writer, key string, t model.Target, at limiter.Instant) error {
	if !w.Blocks {
		return nil
	}
	block := w.Fetch(key, &t, at)[1].Key
	n, err := i.client().Exists(ctx, block).Result()
	if err == nil && n > 0 {
		err = fmt.Errorf("another program has written since, and %s denies everything until it expires, however much is withdrawn: free the key", safetext.Clean(block))
	}
	return err
}

// countsOf returns the counters of a limiter that still hold charges, and how many units of them
// each counter holds.
func (i takingBack) countsOf(ctx context.Context, w *foreign.Writer, key string, t model.Target, charged []charge) (keys []string, counts []any, err error) {
	client := i.client()
	now, err := client.Time(ctx).Result()
	if err != nil {
		return nil, nil, err
	}
	expires := map[string]limiter.Instant{}
	units := map[string]int64{}
	for _, c := range charged {
		fetched := w.Fetch(key, &t, c.at)
		counted := foreign.Counted{Target: &t, At: c.at, Now: limiter.InstantOf(now), First: c.first()}
		for _, f := range fetched {
			at, known := expires[f.Key]
			if !known {
				if at, err = expiryOf(ctx, client, f.Key); err != nil {
					return nil, nil, err
				}
				expires[f.Key] = at
			}
			counted.Expires = append(counted.Expires, at)
		}
		n, ok := w.Holder(counted)
		if !ok {
			continue
		}
		k := fetched[n].Key
		if units[k] == 0 {
			keys = append(keys, k)
		}
		units[k] += c.cost
	}
	for _, k := range keys {
		counts = append(counts, units[k])
	}
	return keys, counts, nil
}

// expiryOf returns when a key expires, in the form of foreign.Counted.Expires.
func expiryOf(ctx context.Context, client redis.UniversalClient, key string) (limiter.Instant, error) {
	at, err := client.PExpireTime(ctx, key).Result()
	switch {
	case err != nil:
		return 0, err
	case at == -2: // go-redis returns negative answers unchanged
		return foreign.Absent, nil
	case at < 0:
		return foreign.Immortal, nil
	}
	return limiter.Instant(at.Microseconds()), nil
}

// refund gives the units back that must still be charged, and returns how many.
func (i takingBack) refund(ctx context.Context, key string, t model.Target, charged []charge) (int64, error) {
	l, err := i.storeOn(i.plainly(), t)
	if err != nil {
		return 0, err
	}
	d, err := l.Peek(ctx, key, t.Limit, 0)
	if err != nil {
		return 0, err
	}
	n := min(stillCharged(t, charged, d.At), d.Used)
	if n <= 0 {
		return 0, nil
	}
	after, err := l.Refund(ctx, key, t.Limit, n)
	return max(d.Used-after.Used, 0), err
}

// stillCharged returns how many units of the charges the key must still hold at now: the charges
// within the window and, for algorithms that drain, at most the units that cannot have drained.
func stillCharged(t model.Target, charged []charge, now limiter.Instant) (n int64) {
	for _, c := range charged {
		if now.Sub(c.at) < t.Limit.Window {
			n += c.cost
		}
	}
	if t.Algorithm.Bursts() && t.Limit.Count > 0 {
		drained := float64(t.Limit.Count) * float64(now.Sub(charged[0].at)) / float64(t.Limit.Window)
		idle := int64(drained) - (charged[0].used - charged[0].cost)
		n = min(n, n-idle)
	}
	return n
}
