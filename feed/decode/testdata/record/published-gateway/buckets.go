package main

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"recorder"
)

// twoKeyBucket is the token bucket of Stripe and of Spring Cloud Gateway: what is left and
// the second of the last call, in two strings.
func twoKeyBucket(name, stamp string) rule {
	return func(c recorder.Configured, s store, cost int64) recorder.Answer {
		rate, capacity := c.Limit*1000/c.WindowMS, *c.Burst
		now := s.seconds()
		last := s.number(capacity, "GET", name)
		refreshed := s.number(0, "GET", stamp)
		tokens := min(capacity, last+max(0, now-refreshed)*rate)
		allowed := tokens >= float64(cost)
		if allowed {
			tokens -= float64(cost)
		}
		if ttl := math.Floor(capacity / rate * 2); ttl > 0 {
			s.do("SETEX", name, plain(ttl), plain(tokens))
			s.do("SETEX", stamp, plain(ttl), plain(now))
		}
		return answer(allowed, num(capacity), num(math.Floor(tokens)), nil, nil, map[string]any{"allowed": allowed, "tokens_left": math.Floor(tokens)})
	}
}

func springCloudGateway() []recorder.Scenario {
	l := library("spring-cloud-gateway", "5.0.4 (2026-08)", "token-bucket", "partly", "isAllowed(route, id), %d requested tokens", []string{},
		twoKeyBucket("request_rate_limiter.{route1.alice}.tokens", "request_rate_limiter.{route1.alice}.timestamp"),
		"limit and window_ms are replenishRate, burst is burstCapacity", "the server's clock in whole seconds",
		"a refused request moves the timestamp and stores the refilled tokens", "TTL floor(2 * burstCapacity / replenishRate) on every call; nothing is stored when that is 0")
	return l.Scenarios(
		recorder.Variant{Name: "whole", Configured: recorder.Per(1, 1000).WithBurst(5), Story: recorder.Bucket},
		recorder.Variant{Name: "fast", Configured: recorder.Per(10, 1000).WithBurst(20), Story: recorder.Bucket},
		recorder.Variant{Name: "no-route", Configured: recorder.Per(2, 1000).WithBurst(6), Story: recorder.Bucket,
			Notes: []string{"names of releases before the route became part of them"},
			Open:  opening(twoKeyBucket("request_rate_limiter.{alice}.tokens", "request_rate_limiter.{alice}.timestamp"))},
		recorder.Variant{Name: "nothing-stored", Configured: recorder.Per(100, 1000).WithBurst(40), Story: recorder.Realistic,
			Notes: []string{"floor(2 * 40 / 100) is 0: no key, every request is admitted"}},
	)
}

func stripe() []recorder.Scenario {
	l := library("stripe", "gist 2017", "token-bucket", "partly", "request_rate_limiter, %d tokens", []string{},
		twoKeyBucket("request_rate_limiter.alice.tokens", "request_rate_limiter.alice.timestamp"),
		"the clock is the client's, in whole seconds", "TTL floor(2 * capacity / rate) on every call")
	concurrent := library("stripe", "gist 2017", "concurrency", "free", "concurrent_requests_limiter", []string{},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			now, key := time.Now().Unix(), "concurrent_requests_limiter.alice"
			s.do("ZREMRANGEBYSCORE", key, "-inf", now-int64(c.WindowMS/1000))
			count := s.number(0, "ZCARD", key)
			allowed := count < c.Limit
			if allowed {
				id := make([]byte, 4)
				rand.Read(id)
				s.do("ZADD", key, now, id)
			}
			return answer(allowed, nil, nil, nil, nil, map[string]any{"allowed": allowed, "count": count})
		}, "requests under way: members are 4 random bytes, scores the second of their beginning, no TTL", "window_ms is after how long one counts as lost")
	return append(l.Scenarios(
		recorder.Variant{Name: "request-rate", Configured: recorder.Per(1, 1000).WithBurst(5), Story: recorder.Bucket},
	), concurrent.Scenarios(
		recorder.Variant{Name: "concurrent", Configured: recorder.Per(3, 4000), Story: recorder.Single},
	)...)
}

// bucket4jLimit is one bandwidth of a Bucket4j bucket and its state.
type bucket4jLimit struct {
	capacity, initial, periodNS, tokens int64
	intervally                          bool
	last, size, rounding                int64
}

func (b *bucket4jLimit) refill(now int64) {
	if b.intervally {
		now -= (now - b.last) % b.periodNS
	}
	if now <= b.last {
		return
	}
	passed := now - b.last
	b.last = now
	if b.size >= b.capacity {
		return
	}
	size := b.size
	if passed > b.periodNS {
		size += passed / b.periodNS * b.tokens
		passed %= b.periodNS
	}
	parts := b.tokens*passed + b.rounding
	size += parts / b.periodNS
	b.size, b.rounding = size, parts%b.periodNS
	if size >= b.capacity {
		b.size, b.rounding = b.capacity, 0
	}
}

// wait returns the nanoseconds until n tokens are there.
func (b *bucket4jLimit) wait(n, now int64) int64 {
	deficit := n - b.size
	if deficit <= 0 {
		return 0
	}
	if b.intervally {
		periods := (deficit + b.tokens - 1) / b.tokens
		return b.last + periods*b.periodNS - now
	}
	return (b.periodNS*deficit - b.rounding) / b.tokens
}

func encodeBucket4j(limits []*bucket4jLimit, consumed int64) []byte {
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.BigEndian, v)
		}
	}
	put(int32(1), int32(1), int32(len(limits)))
	for _, l := range limits {
		put(int32(1), l.capacity, l.initial, l.periodNS, l.tokens, l.intervally, int64(math.MinInt64), false, false)
	}
	put(int32(3), int32(1), int32(3*len(limits)))
	for _, l := range limits {
		put(l.last, l.size, l.rounding)
	}
	put(int32(1), consumed)
	return b.Bytes()
}

func decodeBucket4j(raw []byte, limits []*bucket4jLimit) (consumed int64) {
	state := raw[len(raw)-12-24*len(limits):]
	for i, l := range limits {
		l.last = int64(binary.BigEndian.Uint64(state[24*i:]))
		l.size = int64(binary.BigEndian.Uint64(state[24*i+8:]))
		l.rounding = int64(binary.BigEndian.Uint64(state[24*i+16:]))
	}
	return int64(binary.BigEndian.Uint64(raw[len(raw)-8:]))
}

func bucket4j() []recorder.Scenario {
	rule := func(c recorder.Configured, s store, cost int64) recorder.Answer {
		now := time.Now().UnixMilli() * 1e6
		capacity := int64(c.Limit)
		if c.Burst != nil {
			capacity = int64(*c.Burst)
		}
		intervally, _ := c.Other["intervally"].(bool)
		limits := []*bucket4jLimit{{capacity: capacity, initial: capacity, periodNS: int64(c.WindowMS * 1e6), tokens: int64(c.Limit), intervally: intervally, last: now, size: capacity}}
		if second, ok := c.Other["and_per_minute"].(int); ok {
			n := int64(second)
			limits = append(limits, &bucket4jLimit{capacity: n, initial: n, periodNS: 60e9, tokens: n, last: now, size: n})
		}
		key, consumed := "alice", int64(0)
		old := s.do("GET", key)
		if raw, ok := old.(string); ok {
			consumed = decodeBucket4j([]byte(raw), limits)
		}
		left, wait := int64(math.MaxInt64), int64(0)
		for _, l := range limits {
			l.refill(now)
			left, wait = min(left, l.size), max(wait, l.wait(cost, now))
		}
		if cost > left {
			return answer(false, nil, num(float64(left)), num(float64(wait)/1e6), nil, map[string]any{"consumed": false, "remainingTokens": left, "nanosToWaitForRefill": wait})
		}
		for _, l := range limits {
			l.size -= cost
		}
		words := []any{"SET", key, encodeBucket4j(limits, consumed+cost)}
		if ttl, ok := c.Other["ttl_ms"].(int); ok {
			words = append(words, "PX", ttl)
		}
		s.do(words...)
		return answer(true, nil, num(float64(left-cost)), num(0), nil, map[string]any{"consumed": true, "remainingTokens": left - cost, "nanosToWaitForRefill": 0})
	}
	l := library("bucket4j", "8.19.0", "token-bucket", "free", "tryConsumeAndReturnRemaining(%d)", []string{"limit", "window", "burst"}, rule,
		"the key is what the application chose, without a prefix", "the value is binary, big-endian, and holds the limits, the state and the total consumed",
		"the clock is the client's in ms, kept in ns", "compare and swap: GET, then SET where the value is the same")
	return l.Scenarios(
		recorder.Variant{Name: "greedy", Configured: recorder.Per(5, 4000), Story: recorder.Whole},
		recorder.Variant{Name: "greedy-ttl", Configured: recorder.Per(3, 3000).WithBurst(8).With("ttl_ms", 10000), Story: recorder.WholeBurst},
		recorder.Variant{Name: "intervally", Configured: recorder.Per(5, 4000).With("intervally", true), Story: recorder.Whole},
		recorder.Variant{Name: "two-limits", Configured: recorder.Per(5, 4000).With("and_per_minute", 8), Story: recorder.Over},
	)
}

func traefik() []recorder.Scenario {
	l := library("traefik", "3.7.13", "token-bucket", "partly", "Allow(ctx, source)", []string{},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			rate, burst := c.Limit*1000/c.WindowMS, *c.Burst // per second
			delay, ttl := 500*time.Millisecond, 1
			if rate >= 1 {
				delay, ttl = time.Second/(time.Duration(rate)*2), 2
			} else {
				ttl += int(1 / rate)
			}
			now, key := float64(time.Now().UnixMicro()), "rate:limit@file:10.0.0.1"
			state, _ := s.do("HGETALL", key).([]any)
			last, tokens := 0.0, 0.0
			if len(state) == 4 {
				last, tokens = number(state[1], 0), number(state[3], 0)
			}
			per := rate / 1e6
			tokens = min(tokens+per*(now-min(last, now)), burst) - 1
			wait := 0.0
			if tokens < 0 {
				if wait = -tokens / per; wait > float64(delay.Microseconds()) {
					tokens = min(tokens+1, burst)
				}
			}
			s.do("HSET", key, "last", plain(now), "tokens", lua(tokens))
			s.do("EXPIRE", key, ttl)
			allowed := wait <= float64(delay.Microseconds())
			return answer(allowed, nil, nil, num(wait/1000), nil, map[string]any{"ok": true, "delay_us": wait, "tokens": tokens})
		},
		"hash of last (us) and tokens (a fraction, negative while a request waits)", "a request that needs to wait at most 1/(2 * rate), or 0.5 s below 1/s, is admitted after that wait; others are refused",
		"a refused request stores the refilled tokens and the instant: nothing is lost by it", "TTL 2 s from 1/s on, else 1 + floor(1/rate)",
		"HGETALL on a small hash answers in the order of the first HSET: last, tokens")
	return l.Scenarios(
		recorder.Variant{Name: "whole", Configured: recorder.Per(1, 1000).WithBurst(4), Story: recorder.BucketSingle},
		recorder.Variant{Name: "fast", Configured: recorder.Per(10, 1000).WithBurst(20), Story: recorder.BucketSingle},
		recorder.Variant{Name: "slow", Configured: recorder.Per(1, 4000).WithBurst(3), Story: recorder.BucketSingle},
	)
}

func redisCell() []recorder.Scenario {
	ceil := func(ns int64) float64 {
		if ns < 0 {
			return -1
		}
		if ns%1e9 >= 1e6 {
			return float64(ns/1e9 + 1)
		}
		return float64(ns / 1e9)
	}
	l := library("redis-cell", "0.4", "gcra", "free", "CL.THROTTLE alice max_burst count period %d", []string{},
		func(c recorder.Configured, s store, cost int64) recorder.Answer {
			interval := int64(c.WindowMS*1e6) / int64(c.Limit)
			tolerance := interval * int64(*c.Burst)
			now := time.Now().UnixNano()
			tat := now
			if old, ok := s.do("GET", "alice").(string); ok {
				tat, _ = strconv.ParseInt(old, 10, 64)
			}
			next := max(now, tat) + interval*cost
			retry, ttl := int64(-1), next-now
			limited := now < next-tolerance
			if limited {
				if interval*cost <= tolerance {
					retry = next - tolerance - now
				}
				ttl = tat - now
			} else {
				s.do("SET", "alice", next)
				s.do("PEXPIRE", "alice", ttl/1e6)
			}
			remaining := int64(0)
			if room := tolerance - ttl; room > -interval {
				remaining = room / interval
			}
			reply := []float64{0, *c.Burst, float64(remaining), -1, ceil(ttl)}
			if limited {
				reply[0] = 1
			}
			reply[3] = ceil(retry)
			return answer(!limited, num(reply[1]), num(reply[2]), num(max(reply[3], 0)*1000), num(reply[4]*1000), reply)
		},
		"burst is max_burst + 1", "CL.THROTTLE writes through the module interface: SET and PEXPIRE stand for that", "TTL is TAT - now in ms, rounded down",
		"retry and reset are in seconds, rounded up where at least a millisecond is left over", "the clock is the host's")
	return l.Scenarios(
		recorder.Variant{Name: "whole", Configured: recorder.Per(5, 4000).WithBurst(5), Story: recorder.Whole},
		recorder.Variant{Name: "burst", Configured: recorder.Per(3, 3000).WithBurst(8), Story: recorder.WholeBurst},
		recorder.Variant{Name: "minute", Configured: recorder.Per(30, 60000).WithBurst(16), Story: recorder.RealisticCost},
	)
}

// permit packs a request as Redisson does: the length of its id, the id, the permits.
func permit(cost int64) []byte {
	b := make([]byte, 21)
	b[0] = 16
	rand.Read(b[1:17])
	binary.LittleEndian.PutUint32(b[17:], uint32(cost))
	return b
}

func redisson() []recorder.Scenario {
	rule := func(c recorder.Configured, s store, cost int64) recorder.Answer {
		key, value, permits := "limiter:alice", "{limiter:alice}:value", "{limiter:alice}:permits"
		if id, ok := c.Other["client_id"].(string); ok {
			value, permits = value+":"+id, permits+":"+id
			s.do("HSETNX", key, "type", 1)
		}
		keep, _ := c.Other["keep_alive_ms"].(int)
		s.do("HSETNX", key, "rate", plain(c.Limit))
		s.do("HSETNX", key, "interval", plain(c.WindowMS))
		s.do("HSETNX", key, "keepAliveTime", keep)
		s.do("HSETNX", key, "type", 0)
		now := time.Now().UnixMilli()
		take := func() {
			s.do("ZADD", permits, now, permit(cost))
			s.do("DECRBY", value, cost)
		}
		allowed, delay, current := true, 0.0, s.number(-1, "GET", value)
		if current < 0 {
			s.do("SET", value, plain(c.Limit))
			take()
		} else {
			if released := s.released(permits, now-int64(c.WindowMS)); released > 0 {
				current = min(current+released, c.Limit)
				s.do("SET", value, plain(current))
			}
			if allowed = current >= float64(cost); allowed {
				take()
			} else {
				first := s.c.ZRangeWithScores(s.ctx, permits, 0, 0).Val()
				delay = 3 + c.WindowMS - (float64(now) - first[0].Score)
			}
		}
		if keep > 0 {
			for _, k := range []string{key, value, permits} {
				s.do("PEXPIRE", k, keep)
			}
		}
		return answer(allowed, nil, nil, num(delay), nil, map[string]any{"acquired": allowed, "delay_ms": delay})
	}
	l := library("redisson", "4.7.0", "sliding-log", "free", "tryAcquire(%d)", []string{"limit", "window"}, rule,
		"hash: rate, interval (ms), keepAliveTime, type 0 overall or 1 per client", "value is what was left after the last call; permits that have expired since come on top",
		"a permit expires when its age is the interval or more", "the library's delay is 3 ms more than the age of the oldest permit asks for, whatever the cost",
		"the clock is the client's in ms", "the setting commands stand in every step; the library sends them once")
	return l.Scenarios(
		recorder.Variant{Name: "overall", Configured: recorder.Per(5, 4000), Story: recorder.Whole},
		recorder.Variant{Name: "keep-alive", Configured: recorder.Per(3, 3000).With("keep_alive_ms", 20000), Story: recorder.Single},
		recorder.Variant{Name: "per-client", Configured: recorder.Per(5, 4000).With("client_id", "6d1b5b4c-6d4c-4f0e-9a53-2b8f1d7c0e11"), Story: recorder.Whole},
	)
}

// released removes the permits that are as old as the instant and returns how many they are.
func (s store) released(permits string, until int64) (n float64) {
	by := &redis.ZRangeBy{Min: "0", Max: plain(float64(until))}
	for _, m := range s.c.ZRangeByScore(s.ctx, permits, by).Val() {
		n += float64(binary.LittleEndian.Uint32([]byte(m[1+m[0]:])))
	}
	if n > 0 {
		s.do("ZREMRANGEBYSCORE", permits, 0, until)
	}
	return n
}
