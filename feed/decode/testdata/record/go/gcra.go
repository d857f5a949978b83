package main

import (
	"context"
	"time"

	redis6 "github.com/go-redis/redis"
	redis_rate6 "github.com/go-redis/redis_rate"
	"github.com/go-redis/redis_rate/v10"
	"github.com/gomodule/redigo/redis"
	"github.com/throttled/throttled/v2"
	goredisstore "github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/throttled/throttled/v2/store/redigostore"

	"recorder"
)

func redisRate() []recorder.Scenario {
	limit := func(c recorder.Configured) redis_rate.Limit {
		l := redis_rate.Limit{Rate: int(c.Limit), Burst: int(c.Limit), Period: c.Window()}
		if c.Burst != nil {
			l.Burst = int(*c.Burst)
		}
		return l
	}
	said := func(r *redis_rate.Result, allowed bool) recorder.Answer {
		a := recorder.Said(allowed, r)
		a.Limit, a.Remaining, a.ResetAfterMS = recorder.Number(r.Limit.Burst), recorder.Number(r.Remaining), ms(r.ResetAfter)
		a.RetryAfterMS = ms(max(r.RetryAfter, 0))
		return a
	}
	l := recorder.Library{
		Name: "redis-rate", Version: version("github.com/go-redis/redis_rate/v10"), Client: "go-redis " + version(goRedis),
		Algorithm: "gcra", Denied: "free", Call: "AllowN(ctx, \"alice\", limit, %d)", InRedis: []string{},
		Notes: []string{"RetryAfter -1 (admitted) is recorded as 0"},
		Open: func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
			lim := redis_rate.NewLimiter(client(addr, db))
			return func(cost int64) (recorder.Answer, error) {
				r, err := lim.AllowN(context.Background(), "alice", limit(c), int(cost))
				if err != nil {
					return recorder.Answer{}, err
				}
				return said(r, int64(r.Allowed) >= cost), nil
			}, nil
		},
	}
	return l.Scenarios(
		recorder.Variant{Name: "whole", Configured: recorder.Per(5, 4000).WithBurst(5), Story: recorder.Whole},
		recorder.Variant{Name: "burst", Configured: recorder.Per(3, 3000).WithBurst(8), Story: recorder.WholeBurst},
		recorder.Variant{Name: "minute", Configured: recorder.Per(100, 60000).WithBurst(100), Story: recorder.RealisticCost},
		recorder.Variant{Name: "at-most", Configured: recorder.Per(5, 4000).WithBurst(5), Story: recorder.AtMost,
			Call: "AllowAtMost(ctx, \"alice\", limit, %d)", Denied: "partly",
			Notes: []string{"AllowAtMost admits part of the cost; allowed is true when at least 1 was admitted"},
			Open: func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
				lim := redis_rate.NewLimiter(client(addr, db))
				return func(cost int64) (recorder.Answer, error) {
					r, err := lim.AllowAtMost(context.Background(), "alice", limit(c), int(cost))
					if err != nil {
						return recorder.Answer{}, err
					}
					return said(r, r.Allowed > 0), nil
				}, nil
			}},
	)
}

// redisRate6 records the counters of redis_rate before its release 8.
func redisRate6() []recorder.Scenario {
	l := recorder.Library{
		Name: "redis-rate", Version: version("github.com/go-redis/redis_rate"), Client: "go-redis " + version("github.com/go-redis/redis"),
		Algorithm: "fixed-window", Denied: "charged", Call: "AllowN(\"alice\", limit, window, %d)", InRedis: []string{"window"},
		Notes: []string{"rate:<name>-<index>; every request sets the expiry to a window"},
		Open: func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
			lim := redis_rate6.NewLimiter(redis6.NewClient(&redis6.Options{Addr: addr, DB: db}))
			return func(cost int64) (recorder.Answer, error) {
				count, delay, allowed := lim.AllowN("alice", int64(c.Limit), c.Window(), cost)
				a := recorder.Said(allowed, map[string]any{"count": count, "delay_ms": delay.Milliseconds()})
				a.Limit, a.Remaining = recorder.Number(int(c.Limit)), recorder.Number(max(int(c.Limit)-int(count), 0))
				return a, nil
			}, nil
		},
	}
	return l.Scenarios(recorder.Variant{Name: "release-6", Configured: recorder.Per(5, 10000), Story: recorder.Whole})
}

func throttledGCRA() []recorder.Scenario {
	ask := func(c recorder.Configured, store throttled.GCRAStoreCtx) (recorder.Ask, error) {
		quota := throttled.RateQuota{MaxRate: throttled.PerDuration(int(c.Limit), c.Window()), MaxBurst: int(*c.Burst) - 1}
		lim, err := throttled.NewGCRARateLimiterCtx(store, quota)
		if err != nil {
			return nil, err
		}
		return func(cost int64) (recorder.Answer, error) {
			limited, r, err := lim.RateLimitCtx(context.Background(), "alice", int(cost))
			if err != nil {
				return recorder.Answer{}, err
			}
			a := recorder.Said(!limited, r)
			a.Limit, a.Remaining, a.ResetAfterMS = recorder.Number(r.Limit), recorder.Number(r.Remaining), ms(r.ResetAfter)
			a.RetryAfterMS = ms(max(r.RetryAfter, 0))
			return a, nil
		}, nil
	}
	prefix := func(c recorder.Configured) string {
		p, _ := c.Other["prefix"].(string)
		return p
	}
	redigo := func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
		pool := &redis.Pool{MaxIdle: 2, IdleTimeout: time.Minute, Dial: func() (redis.Conn, error) { return redis.Dial("tcp", addr) }}
		store, err := redigostore.NewCtx(pool, prefix(c), db)
		if err != nil {
			return nil, err
		}
		return ask(c, store)
	}
	l := recorder.Library{
		Name: "throttled", Version: version("github.com/throttled/throttled/v2"), Client: "go-redis " + version(goRedis),
		Algorithm: "gcra", Denied: "free", Call: "RateLimitCtx(ctx, \"alice\", %d)", InRedis: []string{},
		Notes: []string{"burst is MaxBurst + 1", "RetryAfter -1 (admitted) is recorded as 0",
			"the TTL is rounded down to whole seconds, at least one: a key can expire up to a second before its instant"},
		Open: func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
			store, err := goredisstore.NewCtx(client(addr, db), prefix(c))
			if err != nil {
				return nil, err
			}
			return ask(c, store)
		},
	}
	redigoNote := []string{"store redigostore on redigo " + version("github.com/gomodule/redigo")}
	return l.Scenarios(
		recorder.Variant{Name: "goredisstore", Configured: recorder.Per(5, 4000).WithBurst(5).With("prefix", "throttled:"), Story: recorder.Whole},
		recorder.Variant{Name: "goredisstore-no-prefix", Configured: recorder.Per(3, 3000).WithBurst(8), Story: recorder.WholeBurst},
		recorder.Variant{Name: "redigostore", Configured: recorder.Per(5, 4000).WithBurst(5).With("prefix", "throttled:"), Story: recorder.Whole, Open: redigo, Notes: redigoNote},
		recorder.Variant{Name: "redigostore-minute", Configured: recorder.Per(100, 60000).WithBurst(100).With("prefix", "api:"), Story: recorder.RealisticCost, Open: redigo, Notes: redigoNote},
		recorder.Variant{Name: "peek", Configured: recorder.Per(20, 60000).WithBurst(6).With("prefix", "throttled:"), Story: recorder.Peeks,
			Notes: []string{"a call with quantity 0 is the library's peek; it writes the key and renews its TTL"}},
	)
}
