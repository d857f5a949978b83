package fire

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/fire/foreign"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// askNewest asks for a mark by which askNewer can later count the members, entries or elements
// added to a key since; nil for other types.
func askNewest(ctx context.Context, p redis.Pipeliner, kind, key string) redis.Cmder {
	switch kind {
	case "zset":
		return p.ZRangeWithScores(ctx, key, -1, -1)
	case "stream":
		return p.XInfoStream(ctx, key)
	case "list":
		return p.LIndex(ctx, key, 0)
	}
	return nil
}

// newestOf returns the mark that askNewest asked for: the highest score of a sorted set, the
// number of entries ever added to a stream, or the newest element of a list; "" if unknown.
func newestOf(asked redis.Cmder) string {
	if asked == nil || asked.Err() != nil {
		return ""
	}
	switch c := asked.(type) {
	case *redis.ZSliceCmd:
		if list := c.Val(); len(list) == 1 {
			return strconv.FormatFloat(list[0].Score, 'g', -1, 64)
		}
	case *redis.XInfoStreamCmd:
		if n := c.Val().EntriesAdded; n > 0 { // servers before Redis 7 do not count them
			return strconv.FormatInt(n, 10)
		}
	case *redis.StringCmd:
		return c.Val()
	}
	return ""
}

// askNewer asks how many members, entries or elements were added to a key after was was saved,
// however many of the earlier ones have expired; nil if that cannot be found out.
func askNewer(ctx context.Context, p redis.Pipeliner, kind, key string, was savedKey) redis.Cmder {
	existed := was.Digest != ""
	switch {
	case was.Unsaved != "" || existed && was.Newest == "":
	case kind == "zset" && !existed:
		return p.ZCard(ctx, key)
	case kind == "zset":
		return p.ZCount(ctx, key, "("+was.Newest, "+inf")
	case kind == "stream":
		return p.XInfoStream(ctx, key)
	case kind == "list" && !existed:
		return p.LLen(ctx, key)
	case kind == "list":
		return p.LPos(ctx, key, was.Newest, redis.LPosArgs{})
	}
	return nil
}

// newerOf returns the number that askNewer asked for; nil if unknown.
func newerOf(asked redis.Cmder, was savedKey) *int64 {
	if asked == nil || asked.Err() != nil {
		return nil
	}
	n := int64(-1)
	switch c := asked.(type) {
	case *redis.IntCmd:
		n = c.Val()
	case *redis.XInfoStreamCmd:
		before, err := strconv.ParseInt(was.Newest, 10, 64)
		if was.Digest != "" && err != nil {
			return nil
		}
		n = c.Val().EntriesAdded - before
	}
	if n < 0 { // the key was deleted and created again
		return nil
	}
	return &n
}

// added returns how many members, entries or elements were added to the keys of a log or a stream
// while an action fired; ok is false if that is unknown. That is so for a sorted set if the action
// lasted longer than the window, because members may have come and gone meanwhile.
func added(key, aside string, t model.Target, after []savedKey, charged []charge) (all int64, ok bool) {
	if t.Algorithm.Kind() != limiter.KindLog || len(charged) == 0 {
		return 0, false
	}
	gone := charged[len(charged)-1].at.Sub(charged[0].at) >= max(t.Limit.Window, t.Window)
	for _, k := range after {
		if k.Digest == "" || countsNothing(k, key, aside) {
			continue
		}
		if k.Newer == nil || gone && k.Type == "zset" {
			return 0, false
		}
		all += *k.Newer
	}
	return all, true
}

// asCounted reports whether each counter holds after an action exactly its earlier count plus the
// charges of the action, leaving out counters that have expired. ok is false if that cannot be
// found out, for example because neither the names nor the expiries of the counters show their
// windows. now is the present time by this machine's clock.
func asCounted(key, aside string, t model.Target, before, after []savedKey, charged []charge, now time.Time) (same, ok bool) {
	w := foreign.For(&t)
	named := w == nil && t.Convention.Alignment == limiter.AlignEpoch || w != nil && w.Named
	kind := t.Algorithm.Kind()
	if kind != limiter.KindWindow && kind != limiter.KindWeighted || !named && (w == nil || !w.Anchored()) || len(before) != len(after) {
		return false, false
	}
	for n, is := range after {
		was := before[n]
		if is.Key != was.Key {
			return false, false
		}
		if countsNothing(is, key, aside) || is.Digest == "" && (was.Digest == "" || was.Expires > 0 && was.Expires <= now.UnixMilli()) {
			continue // an expired counter has nothing to compare
		}
		held, known := was.number()
		counts, also := is.number()
		if !known || !also {
			return false, false
		}
		made := limiter.Instant(0) // when the counter was created, if that was during the action
		if !named && was.Expires != is.Expires {
			held, made = 0, limiter.Instant(is.Expires*1000).Add(-t.Limit.Window)
		}
		for _, c := range charged {
			if foreign.CountedSince(made, c.at, c.first()) && strconv.Quote(counterOf(key, t, w, c)) == is.Key {
				held += c.cost
			}
		}
		if counts != held {
			return false, true
		}
	}
	return true, true
}

// counterOf returns the key of the counter to which a charge was added.
func counterOf(key string, t model.Target, w *foreign.Writer, c charge) string {
	if w != nil {
		return w.Fetch(key, &t, c.at)[0].Key
	}
	return layout.Counter(t.Algorithm, key, t.Layout, c.at.Floor(t.Limit.Window))
}
