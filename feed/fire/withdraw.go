package fire

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/safetext"
)

// maxWithdrawn bounds the charges that one call of withdrawLog removes.
const maxWithdrawn = 500

// withdrawal takes the charges of an action off the present values of its keys.
type withdrawal struct {
	link    *link
	writer  *foreign.Writer // nil for a limiter of ratescope's own library
	key     string
	target  model.Target
	charged []charge   // oldest first
	after   []savedKey // contents of the keys after the action
}

// take takes the charges off, and returns how many units.
func (w *withdrawal) take(ctx context.Context) (units int64, err error) {
	if len(w.charged) == 0 {
		return 0, nil
	}
	switch a := w.target.Algorithm; {
	case a == limiter.SlidingLog && (w.writer != nil || w.target.Layout == (layout.Layout{})):
		return w.fromLog(ctx)
	case (a == limiter.FixedWindow || a == limiter.SlidingWindow) && (w.writer != nil || w.target.Convention.Alignment == convention.Epoch):
		return w.fromCounters(ctx)
	}
	return w.refund(ctx)
}

// fromLog removes the charges from a log, and returns how many units.
func (w *withdrawal) fromLog(ctx context.Context) (units int64, err error) {
	for part := range slices.Chunk(w.charged, maxWithdrawn) {
		var args []any
		name := w.key
		for _, c := range part {
			member := any(int64(c.at))
			if w.writer != nil {
				name, member = w.writer.Fetch(w.key, &w.target, c.at)[0].Key, foreign.ListedAs(c.at)
			}
			args = append(args, member, c.cost)
		}
		gone, err := w.link.plainly().run(ctx, withdrawLog, []string{name}, args...).Int64()
		if units += gone; err != nil {
			return units, err
		}
	}
	if units > 0 && w.writer == nil {
		err = w.mend(ctx)
	}
	return units, err
}

// mend takes back the effect of the requests on the expiry of a log.
func (w *withdrawal) mend(ctx context.Context) error {
	newest := w.charged[len(w.charged)-1].at
	for _, is := range w.after {
		if string(is.Key) == w.key && is.Expires > 0 {
			return w.link.plainly().run(ctx, mendLog, []string{w.key}, int64(newest), is.Expires-newest.Millis()).Err()
		}
	}
	return nil
}

// blocked returns an error if the limiter blocks now, because lower counts would not end the block.
func (w *withdrawal) blocked(ctx context.Context) error {
	if w.writer == nil || !w.writer.Blocks {
		return nil
	}
	block := w.writer.Fetch(w.key, &w.target, w.charged[len(w.charged)-1].at)[1].Key
	n, err := w.link.client().Exists(ctx, block).Result()
	if err == nil && n > 0 {
		err = fmt.Errorf("another program has written since, and %s denies everything until it expires, however much is withdrawn: free "+
			"the key", safetext.Clean(block))
	}
	return err
}

// fromCounters takes the charges off the counters that still hold them, and returns how many units.
func (w *withdrawal) fromCounters(ctx context.Context) (int64, error) {
	if err := w.blocked(ctx); err != nil {
		return 0, err
	}
	client, t := w.link.client(), &w.target
	now, err := client.Time(ctx).Result()
	if err != nil {
		return 0, err
	}
	expires := map[string]limiter.Instant{}
	units := map[string]int64{}
	for _, c := range w.charged {
		if w.writer == nil {
			units[layout.Counter(t.Algorithm, w.key, t.Layout, c.at.Floor(t.Limit.Window))] += c.cost
			continue
		}
		fetched := w.writer.Fetch(w.key, t, c.at)
		counted := foreign.Counted{Target: t, At: c.at, Now: limiter.InstantOf(now), First: c.used == c.cost}
		for _, f := range fetched {
			at, known := expires[f.Key]
			if !known {
				if at, err = expiryOf(ctx, client, f.Key); err != nil {
					return 0, err
				}
				expires[f.Key] = at
			}
			counted.Expires = append(counted.Expires, at)
		}
		if n, ok := w.writer.Holder(counted); ok {
			units[fetched[n].Key] += c.cost
		}
	}
	if len(units) == 0 {
		return 0, nil
	}
	keys := slices.Collect(maps.Keys(units))
	counts := collect.Map(keys, func(k string) any { return units[k] })
	return w.link.plainly().run(ctx, withdrawCounts, keys, counts...).Int64()
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
func (w *withdrawal) refund(ctx context.Context) (int64, error) {
	by, limit := w.link.plainly(), w.target.Limit
	if w.writer != nil {
		now, err := w.link.client().Time(ctx).Result()
		n := w.still(limiter.InstantOf(now))
		if err != nil || n <= 0 {
			return 0, err
		}
		d, err := w.link.work(ctx, by, w.writer, model.Order{Key: w.key, Target: w.target, Cost: n},
			func(r *foreign.Request) (foreign.Written, error) { return w.writer.Refund(r, n) })
		return d.Cost, err
	}
	l, err := w.link.storeOn(by, w.target)
	if err != nil {
		return 0, err
	}
	d, err := l.Peek(ctx, w.key, limit, 0)
	if err != nil {
		return 0, err
	}
	n := min(w.still(d.At), d.Used)
	if n <= 0 {
		return 0, nil
	}
	after, err := l.Refund(ctx, w.key, limit, n)
	return max(d.Used-after.Used, 0), err
}

// still returns how many units of the charges the key must still hold at now: the charges within
// the window and, for algorithms that drain, at most the units that cannot have drained.
func (w *withdrawal) still(now limiter.Instant) (n int64) {
	limit, first := w.target.Limit, w.charged[0]
	for _, c := range w.charged {
		if now.Sub(c.at) < limit.Window {
			n += c.cost
		}
	}
	if w.target.Algorithm.Bursts() && limit.Count > 0 {
		drained := float64(limit.Count) * float64(now.Sub(first.at)) / float64(limit.Window)
		idle := int64(drained) - (first.used - first.cost)
		n = min(n, n-idle)
	}
	return n
}
