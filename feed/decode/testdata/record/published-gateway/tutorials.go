package main

import (
	"fmt"
	"math"
	"time"

	"recorder"
)

// redisTutorials are the limiters that redis.io shows to its readers.
func redisTutorials() []recorder.Scenario {
	const name, version = "redis-tutorial", "redis.io"
	counter := library(name, version, "fixed-window", "free", "request of alice", []string{"window"},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			key := fmt.Sprintf("alice:%d", time.Now().Minute())
			if s.number(0, "GET", key) >= c.Limit {
				return answer(false, nil, nil, nil, nil, map[string]any{"allowed": false})
			}
			pipe := s.c.TxPipeline()
			n := pipe.Incr(s.ctx, key)
			pipe.Expire(s.ctx, key, 59*time.Second)
			if _, err := pipe.Exec(s.ctx); err != nil {
				panic(err)
			}
			return answer(true, nil, nil, nil, nil, map[string]any{"count": n.Val()})
		}, "<user>:<minute of the hour>, INCR and EXPIRE 59 in a transaction, renewed with every admitted request", "the number in the name is 0 to 59: no instant can be read from it alone")
	second := library(name, version, "fixed-window", "charged", "request of 10.0.0.1", []string{"window"},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			key := fmt.Sprintf("10.0.0.1:%d", time.Now().Unix())
			if s.number(0, "GET", key) > c.Limit {
				return answer(false, nil, nil, nil, nil, map[string]any{"allowed": false})
			}
			pipe := s.c.TxPipeline()
			n := pipe.Incr(s.ctx, key)
			pipe.Expire(s.ctx, key, 10*time.Second)
			if _, err := pipe.Exec(s.ctx); err != nil {
				panic(err)
			}
			return answer(true, nil, nil, nil, nil, map[string]any{"count": n.Val()})
		}, "<address>:<Unix second>, INCR and EXPIRE 10: the key outlives its second", "the pattern of the page of INCR: the comparison is > limit, so one more than the limit is admitted")
	first := library(name, version, "fixed-window", "charged", "request of 10.0.0.1", []string{},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			n := s.number(0, "INCR", "rate.limit:10.0.0.1")
			if n == 1 {
				s.do("EXPIRE", "rate.limit:10.0.0.1", plain(c.WindowMS/1000))
			}
			return answer(n <= c.Limit, nil, nil, nil, nil, map[string]any{"count": n})
		}, "INCR, and EXPIRE at the first: the window begins with the first request")
	log := library(name, version, "sliding-log", "free", "request of alice", []string{"window"},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			now := s.c.Time(s.ctx).Val()
			w := int64(c.WindowMS / 1000)
			s.do("ZREMRANGEBYSCORE", "limiter:log:alice", 0, now.Unix()-w)
			if s.number(0, "ZCARD", "limiter:log:alice") >= c.Limit {
				return answer(false, nil, nil, nil, nil, map[string]any{"refused": 1})
			}
			s.do("ZADD", "limiter:log:alice", now.Unix(), fmt.Sprintf("%d%d", now.Unix(), now.Nanosecond()/1000))
			s.do("EXPIRE", "limiter:log:alice", w)
			return answer(true, nil, nil, nil, nil, map[string]any{"refused": 0})
		}, "sorted set: score whole seconds of the server, member seconds and microseconds written together", "an entry as old as the window in whole seconds has left", "EXPIRE with the window on every admitted request")
	multi := library(name, version, "sliding-log", "charged", "request of alice", []string{"window"},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			now, key := time.Now().UnixMilli(), "ratelimit:alice"
			pipe := s.c.TxPipeline()
			pipe.Do(s.ctx, "ZREMRANGEBYSCORE", key, 0, now-int64(c.WindowMS))
			pipe.Do(s.ctx, "ZADD", key, now, fmt.Sprintf("%d-%06x", now, time.Now().UnixNano()&0xffffff))
			n := pipe.ZCard(s.ctx, key)
			pipe.Expire(s.ctx, key, time.Duration(math.Ceil(c.WindowMS/1000))*time.Second)
			if _, err := pipe.Exec(s.ctx); err != nil {
				panic(err)
			}
			allowed := n.Val() <= int64(c.Limit)
			return answer(allowed, nil, nil, nil, nil, map[string]any{"count": n.Val()})
		}, "the widespread form in one transaction: trim, add, count, expire; refused requests are added, too", "member <ms>-<random>, score ms of the client's clock")
	return joined(
		counter.Scenarios(recorder.Variant{Name: "minute-counter", Configured: recorder.Per(5, 60000), Story: overSingle}),
		second.Scenarios(recorder.Variant{Name: "second-counter", Configured: recorder.Per(5, 1000), Story: recorder.Single}),
		first.Scenarios(recorder.Variant{Name: "incr-expire", Configured: recorder.Per(5, 4000), Story: recorder.Single}),
		log.Scenarios(recorder.Variant{Name: "sorted-set", Configured: recorder.Per(5, 4000), Story: recorder.Single}),
		multi.Scenarios(recorder.Variant{Name: "sorted-set-multi", Configured: recorder.Per(5, 4000), Story: recorder.Single}),
	)
}

func increx() []recorder.Scenario {
	l := library("increx", "Redis 8.8", "fixed-window", "free", "INCREX alice BYINT %d UBOUND 5 PX 4000 ENX", []string{},
		func(c recorder.Configured, s store, cost int64) recorder.Answer {
			n := s.number(0, "GET", "alice")
			if n+float64(cost) > c.Limit {
				return answer(false, nil, nil, nil, nil, []float64{n, 0})
			}
			n = s.number(0, "INCRBY", "alice", cost)
			if s.number(-2, "PTTL", "alice") == -1 {
				s.do("PEXPIRE", "alice", plain(c.WindowMS))
			}
			return answer(true, nil, nil, nil, nil, []float64{n, float64(cost)})
		}, "the server used here does not know INCREX: GET, INCRBY and PEXPIRE stand for it", "a refused request leaves value and TTL alone; ENX sets the TTL only where there is none")
	return l.Scenarios(recorder.Variant{Name: "whole", Configured: recorder.Per(5, 4000), Story: recorder.Whole})
}
