package recorder

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/redis/go-redis/v9"
)

// readKeys reads every key of the database and the server's clock in one transaction.
func readKeys(ctx context.Context, c *redis.Client) (atMS float64, keys []Key, err error) {
	names, err := c.Keys(ctx, "*").Result()
	if err != nil {
		return 0, nil, err
	}
	sort.Strings(names)
	types := make([]string, len(names))
	for i, name := range names {
		if types[i], err = c.Type(ctx, name).Result(); err != nil {
			return 0, nil, err
		}
	}
	tx := c.TxPipeline()
	clock := tx.Time(ctx)
	ttls := make([]*redis.Cmd, len(names))
	values := make([]redis.Cmder, len(names))
	for i, name := range names {
		ttls[i] = tx.Do(ctx, "PTTL", name)
		switch types[i] {
		case "string":
			values[i] = tx.Get(ctx, name)
		case "hash":
			values[i] = tx.HGetAll(ctx, name)
		case "zset":
			values[i] = tx.ZRangeWithScores(ctx, name, 0, -1)
		case "list":
			values[i] = tx.LRange(ctx, name, 0, -1)
		case "set":
			values[i] = tx.SMembers(ctx, name)
		case "stream":
			values[i] = tx.XRange(ctx, name, "-", "+")
		default: // the key expired in between, or a module owns it
			values[i] = tx.Exists(ctx, name)
		}
	}
	if _, err := tx.Exec(ctx); err != nil && err != redis.Nil {
		return 0, nil, err
	}
	keys = []Key{}
	for i, name := range names {
		ttl, _ := ttls[i].Int64()
		if ttl == -2 {
			continue
		}
		keys = append(keys, Key{Key: Text(name), Type: types[i], TTLMS: float64(ttl), Value: value(values[i])})
	}
	return millis(clock.Val()), keys, nil
}

func millis(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }

func value(c redis.Cmder) any {
	switch c := c.(type) {
	case *redis.StringCmd:
		return Text(c.Val())
	case *redis.MapStringStringCmd:
		h := map[string]Text{}
		for f, v := range c.Val() {
			h[f] = Text(v)
		}
		return h
	case *redis.ZSliceCmd:
		z := [][2]any{}
		for _, m := range c.Val() {
			z = append(z, [2]any{Text(m.Member.(string)), m.Score})
		}
		return z
	case *redis.StringSliceCmd:
		l := []Text{}
		for _, e := range c.Val() {
			l = append(l, Text(e))
		}
		return l
	case *redis.XMessageSliceCmd:
		x := [][2]any{}
		for _, m := range c.Val() {
			x = append(x, [2]any{m.ID, m.Values})
		}
		return x
	}
	return nil
}

// state is a copy of a database that can be put back.
type state []saved

type saved struct {
	key, dump string
	expires   int64 // Unix milliseconds, 0 for never
}

func save(ctx context.Context, c *redis.Client) (state, error) {
	names, err := c.Keys(ctx, "*").Result()
	if err != nil {
		return nil, err
	}
	var s state
	for _, name := range names {
		dump, err := c.Dump(ctx, name).Result()
		if err == redis.Nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		at, err := c.Do(ctx, "PEXPIRETIME", name).Int64()
		if err != nil {
			return nil, err
		}
		s = append(s, saved{key: name, dump: dump, expires: max(at, 0)})
	}
	return s, nil
}

// restore puts the copy back; keys that would have expired by now stay away.
func (s state) restore(ctx context.Context, c *redis.Client) error {
	tx := c.TxPipeline()
	tx.FlushDB(ctx)
	for _, k := range s {
		tx.Do(ctx, "RESTORE", k.key, k.expires, k.dump, "REPLACE", "ABSTTL")
	}
	if _, err := tx.Exec(ctx); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}
