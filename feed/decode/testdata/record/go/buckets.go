package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redigo "github.com/gomodule/redigo/redis"
	"github.com/mennanov/limiters"
	"github.com/sethvargo/go-redisstore"
	"github.com/vearne/ratelimit"
	"github.com/vearne/ratelimit/counter"
	"github.com/vearne/ratelimit/leakybucket"
	"github.com/vearne/ratelimit/tokenbucket"

	"recorder"
)

func mennanov() []recorder.Scenario {
	base := recorder.Library{
		Name: "mennanov-limiters", Version: version("github.com/mennanov/limiters"), Client: "go-redis " + version(goRedis), Call: "Limit(ctx)",
		InRedis: []string{"window"},
	}
	said := func(wait time.Duration, err error) (recorder.Answer, error) {
		if err != nil && !errors.Is(err, limiters.ErrLimitExhausted) {
			return recorder.Answer{}, err
		}
		a := recorder.Said(err == nil, map[string]any{"wait_ns": wait, "error": fmt.Sprint(err)})
		a.RetryAfterMS = ms(wait)
		return a, nil
	}
	fixed := base
	fixed.Algorithm, fixed.Denied = "fixed-window", "partly"
	fixed.Notes = []string{"{prefix}<window start in ns>; PEXPIRE the rest of the window", "the first refused request of a process is counted, further ones are refused from its memory"}
	fixed.Open = func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
		lim := limiters.NewFixedWindow(int64(c.Limit), c.Window(), limiters.NewFixedWindowRedis(client(addr, db), "alice"), limiters.NewSystemClock())
		return func(int64) (recorder.Answer, error) { return said(lim.Limit(context.Background())) }, nil
	}
	sliding := base
	sliding.Algorithm, sliding.Denied = "sliding-window", "charged"
	sliding.Notes = []string{"{prefix}<window start in ns>; PEXPIRE the rest of the window and one window more", "prev * weight + cur - limit >= epsilon is refused, after the request was counted",
		"the wait of a refusal is the library's own and reckons without the counted refusals to come"}
	sliding.Open = func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
		lim := limiters.NewSlidingWindow(int64(c.Limit), c.Window(), limiters.NewSlidingWindowRedis(client(addr, db), "alice"), limiters.NewSystemClock(), 1e-9)
		return func(int64) (recorder.Answer, error) { return said(lim.Limit(context.Background())) }, nil
	}
	token := base
	token.Algorithm, token.Denied, token.Call = "token-bucket", "free", "Take(ctx, %d)"
	token.InRedis = []string{}
	token.Notes = []string{"{prefix}last in ns and {prefix}available, an integer; TTL as the application chose", "one token per window / limit, whole tokens only, capacity is burst",
		"the wait of a refusal is whole intervals, although a part of one may have passed"}
	token.Open = func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
		race, _ := c.Other["race_check"].(bool)
		cl := client(addr, db)
		var lock limiters.DistLocker = limiters.NewLockNoop()
		if name, ok := c.Other["lock"].(string); ok {
			lock = limiters.NewLockRedis(goredis.NewPool(cl), name)
		}
		lim := limiters.NewTokenBucket(int64(*c.Burst), c.Window()/time.Duration(c.Limit), lock,
			limiters.NewTokenBucketRedis(cl, "alice", 10*time.Second, race), limiters.NewSystemClock(), limiters.NewStdLogger())
		return func(cost int64) (recorder.Answer, error) { return said(lim.Take(context.Background(), cost)) }, nil
	}
	leaky := base
	leaky.Algorithm, leaky.Denied = "leaky-bucket", "free"
	leaky.InRedis = []string{}
	leaky.Notes = []string{"{prefix}last is the ns at which the last queued request may run", "an admitted request may have to wait: the wait stands in retry_after_ms",
		"refused when floor(wait / interval) >= capacity (burst)"}
	leaky.Open = func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
		race, _ := c.Other["race_check"].(bool)
		lim := limiters.NewLeakyBucket(int64(*c.Burst), c.Window()/time.Duration(c.Limit), limiters.NewLockNoop(),
			limiters.NewLeakyBucketRedis(client(addr, db), "alice", 10*time.Second, race), limiters.NewSystemClock(), limiters.NewStdLogger())
		return func(int64) (recorder.Answer, error) { return said(lim.Limit(context.Background())) }, nil
	}
	buffer := base
	buffer.Algorithm, buffer.Denied, buffer.Call = "concurrency", "free", "Limit(ctx, id)"
	buffer.InRedis = []string{}
	buffer.Notes = []string{"a sorted set of requests under way, score ns, without TTL; window_ms is the time after which a request counts as lost", "no Done is called here"}
	buffer.Open = func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
		lim := limiters.NewConcurrentBuffer(limiters.NewLockNoop(), limiters.NewConcurrentBufferRedis(client(addr, db), "buffer:alice", c.Window(), limiters.NewSystemClock()),
			int64(c.Limit), limiters.NewStdLogger())
		n := 0
		return func(int64) (recorder.Answer, error) {
			n++
			return said(0, lim.Limit(context.Background(), fmt.Sprintf("request-%d", n)))
		}, nil
	}
	five := recorder.Per(5, 4000)
	var all []recorder.Scenario
	all = append(all, fixed.Scenarios(
		recorder.Variant{Name: "fixed", Configured: five, Story: recorder.Single},
		recorder.Variant{Name: "fixed-minute", Configured: recorder.Per(100, 60000), Story: recorder.Realistic})...)
	all = append(all, sliding.Scenarios(
		recorder.Variant{Name: "sliding", Configured: recorder.Per(8, 4000), Story: recorder.Sliding},
		recorder.Variant{Name: "sliding-whole", Configured: five, Story: recorder.Single})...)
	all = append(all, token.Scenarios(
		recorder.Variant{Name: "token", Configured: recorder.Per(1, 1000).WithBurst(5), Story: recorder.Bucket},
		recorder.Variant{Name: "token-race-check", Configured: recorder.Per(4, 1000).WithBurst(6).With("race_check", true), Story: recorder.Bucket},
		recorder.Variant{Name: "token-lock", Configured: recorder.Per(2, 1000).WithBurst(4).With("lock", "lock:alice"), Story: recorder.Bucket,
			Notes: []string{"the lock is a redsync mutex, held during a call only"}})...)
	all = append(all, leaky.Scenarios(
		recorder.Variant{Name: "leaky", Configured: recorder.Per(2, 1000).WithBurst(4), Story: recorder.Leaky},
		recorder.Variant{Name: "leaky-race-check", Configured: recorder.Per(2, 1000).WithBurst(4).With("race_check", true), Story: recorder.Leaky,
			Notes: []string{"with the race check the TTL is a thousand times what was configured"}})...)
	return append(all, buffer.Scenarios(recorder.Variant{Name: "concurrent-buffer", Configured: recorder.Per(3, 2000), Story: recorder.Single})...)
}

func goRedisStore() []recorder.Scenario {
	l := recorder.Library{
		Name: "go-redisstore", Version: version("github.com/sethvargo/go-redisstore"), Client: "redigo " + version("github.com/gomodule/redigo"),
		Algorithm: "fixed-window", Denied: "free", Call: "Take(ctx, \"alice\")", InRedis: []string{"limit", "window"},
		Notes: []string{"hash: s start ns, t ticks since, k tokens left, m limit; i interval ns only after the first refill", "windows begin with the first request and follow each other: tick floor((now - s) / i)",
			"TTL 3 * floor(window in seconds) on every admitted request, 30 s where that is 0 or nothing was admitted", "the clock is the client's, in ns; Lua's doubles drop below 256 ns"},
		Open: func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
			store, err := redisstore.New(&redisstore.Config{Tokens: uint64(c.Limit), Interval: c.Window(),
				Dial: func() (redigo.Conn, error) { return redigo.Dial("tcp", addr, redigo.DialDatabase(db)) }})
			if err != nil {
				return nil, err
			}
			return func(int64) (recorder.Answer, error) {
				limit, remaining, reset, ok, err := store.Take(context.Background(), "alice")
				if err != nil {
					return recorder.Answer{}, err
				}
				a := recorder.Said(ok, map[string]any{"limit": limit, "remaining": remaining, "reset": reset, "ok": ok})
				a.Limit, a.Remaining, a.ResetAfterMS = recorder.Number(limit), recorder.Number(remaining), ms(time.Until(time.Unix(0, int64(reset))))
				return a, nil
			}, nil
		},
	}
	return l.Scenarios(
		recorder.Variant{Name: "whole", Configured: recorder.Per(5, 4000), Story: recorder.Single},
		recorder.Variant{Name: "minute", Configured: recorder.Per(100, 60000), Story: recorder.Realistic},
	)
}

func vearne() []recorder.Scenario {
	base := recorder.Library{Name: "vearne-ratelimit", Version: version("github.com/vearne/ratelimit"), Client: "go-redis " + version(goRedis),
		Denied: "free", Call: "Take(ctx)", InRedis: []string{}}
	ask := func(lim ratelimit.Limiter, err error) (recorder.Ask, error) {
		if err != nil {
			return nil, err
		}
		return func(int64) (recorder.Answer, error) {
			ok, err := lim.Take(context.Background())
			return recorder.Said(ok, ok), err
		}, nil
	}
	counters := base
	counters.Algorithm = "fixed-window"
	counters.InRedis = []string{"window"}
	counters.Notes = []string{"<key>:<floor(us / window)>, counted up to the limit; TTL 3 windows in seconds", "a process takes a batch at once and spends it without asking Redis"}
	counters.Open = func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
		batch, _ := c.Other["batch"].(int)
		return ask(counter.NewCounterRateLimiter(context.Background(), client(addr, db), "key:alice", c.Window(), int(c.Limit), max(batch, 1), counter.WithAntiDDos(false)))
	}
	leaky := base
	leaky.Algorithm = "leaky-bucket"
	leaky.Notes = []string{"the value is the us of the last admitted request, without TTL", "refused until more than window / limit has passed since; nothing is saved up"}
	leaky.Open = func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
		return ask(leakybucket.NewLeakyBucketLimiter(context.Background(), client(addr, db), "key:leaky:alice", c.Window(), int(c.Limit), leakybucket.WithAntiDDos(false)))
	}
	token := base
	token.Algorithm, token.Denied = "token-bucket", "partly"
	token.Notes = []string{"hash: token_count, updateTime in us; without TTL", "updateTime moves only when at least one token came in, so that parts of a token are added again and again",
		"with fewer tokens than the batch all that is left is taken; a batch of 1 wants more than 1"}
	token.Open = func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
		return ask(tokenbucket.NewTokenBucketRateLimiter(context.Background(), client(addr, db), "key:token:alice", c.Window(), int(c.Limit), int(*c.Burst), 1, tokenbucket.WithAntiDDos(false)))
	}
	var all []recorder.Scenario
	all = append(all, counters.Scenarios(
		recorder.Variant{Name: "counter", Configured: recorder.Per(5, 4000), Story: recorder.Single},
		recorder.Variant{Name: "counter-batch", Configured: recorder.Per(10, 4000).With("batch", 4), Story: recorder.Single,
			Notes: []string{"the peek takes a batch, too: its rest is spent in the steps after it, which issue no commands"}})...)
	all = append(all, leaky.Scenarios(recorder.Variant{Name: "leaky", Configured: recorder.Per(2, 1000), Story: recorder.Single})...)
	return append(all, token.Scenarios(recorder.Variant{Name: "token", Configured: recorder.Per(2, 1000).WithBurst(5), Story: recorder.BucketSingle})...)
}
