package fire

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/safetext"
)

// maxWithdrawn bounds the charges that one call of withdrawLog removes.
const maxWithdrawn = 500

// withdraw takes the charges of an action off the present values of its keys, and returns how many units.
func (i *Injector) withdraw(ctx context.Context, f *found) (units int64, err error) {
	key, t, charged := f.first.name(), *f.first.Target, f.charges
	if len(charged) == 0 {
		return 0, nil
	}
	w := foreign.For(&t)
	switch a := t.Algorithm; {
	case a == limiter.SlidingLog && (w != nil || t.Layout == (layout.Layout{})):
		for part := range slices.Chunk(charged, maxWithdrawn) {
			var args []any
			name := key
			for _, c := range part {
				if w == nil {
					args = append(args, int64(c.at), c.cost)
					continue
				}
				name = w.Fetch(key, &t, c.at)[0].Key
				args = append(args, foreign.ListedAs(c.at), c.cost)
			}
			gone, err := i.link.plainly().run(ctx, withdrawLog, []string{name}, args...).Int64()
			if units += gone; err != nil {
				return units, err
			}
		}
		if units > 0 && w == nil {
			err = i.mend(ctx, key, f.last.After, charged[len(charged)-1].at)
		}
		return units, err
	case (a == limiter.FixedWindow || a == limiter.SlidingWindow) && (w != nil || t.Convention.Alignment == convention.Epoch):
		keys, counts, err := i.countsOf(ctx, w, key, t, charged)
		if err != nil || len(keys) == 0 {
			return 0, err
		}
		return i.link.plainly().run(ctx, withdrawCounts, keys, counts...).Int64()
	}
	return i.refund(ctx, w, key, t, charged)
}

// mend takes back the effect of an action's requests, of which newest was the last, on the expiry of a log.
func (i *Injector) mend(ctx context.Context, key string, after []savedKey, newest limiter.Instant) error {
	for _, is := range after {
		if string(is.Key) == key && is.Expires > 0 {
			return i.link.plainly().run(ctx, mendLog, []string{key}, int64(newest), is.Expires-newest.Millis()).Err()
		}
	}
	return nil
}

// blocked returns an error if the limiter blocks now, because lower counts would not end the block;
// at is the instant of the latest charge.
func (i *Injector) blocked(ctx context.Context, w *foreign.Writer, key string, t model.Target, at limiter.Instant) error {
	if w == nil || !w.Blocks {
		return nil
	}
	block := w.Fetch(key, &t, at)[1].Key
	n, err := i.link.client().Exists(ctx, block).Result()
	if err == nil && n > 0 {
		err = fmt.Errorf("another program has written since, and %s denies everything until it expires, however much is withdrawn: free "+
			"the key", safetext.Clean(block))
	}
	return err
}

// countsOf returns the counters of a limiter that still hold charges, and how many units of them
// each counter holds. w is nil for a limiter of ratescope's own library.
func (i *Injector) countsOf(ctx context.Context, w *foreign.Writer, key string, t model.Target, charged []charge) (
	keys []string, counts []any, err error,
) {
	if err := i.blocked(ctx, w, key, t, charged[len(charged)-1].at); err != nil {
		return nil, nil, err
	}
	client := i.link.client()
	now, err := client.Time(ctx).Result()
	if err != nil {
		return nil, nil, err
	}
	expires := map[string]limiter.Instant{}
	units := map[string]int64{}
	for _, c := range charged {
		if w == nil {
			units[layout.Counter(t.Algorithm, key, t.Layout, c.at.Floor(t.Limit.Window))] += c.cost
			continue
		}
		fetched := w.Fetch(key, &t, c.at)
		counted := foreign.Counted{Target: &t, At: c.at, Now: limiter.InstantOf(now), First: c.used == c.cost}
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
		if n, ok := w.Holder(counted); ok {
			units[fetched[n].Key] += c.cost
		}
	}
	for k, n := range units {
		keys, counts = append(keys, k), append(counts, n)
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
func (i *Injector) refund(ctx context.Context, w *foreign.Writer, key string, t model.Target, charged []charge) (int64, error) {
	if w != nil {
		now, err := i.link.client().Time(ctx).Result()
		n := stillCharged(t, charged, limiter.InstantOf(now))
		if err != nil || n <= 0 {
			return 0, err
		}
		d, err := i.link.work(ctx, i.link.plainly(), w, model.Order{Key: key, Target: t, Cost: n},
			func(r *foreign.Request) (foreign.Written, error) { return w.Refund(r, n) })
		return d.Cost, err
	}
	l, err := i.link.storeOn(i.link.plainly(), t)
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
