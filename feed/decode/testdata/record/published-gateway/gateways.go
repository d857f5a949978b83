package main

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"recorder"
)

const (
	routeID   = "4e3ad2f1-53b0-4f3c-9b6a-0d4a9f2b7c11"
	serviceID = "c5a1f2d4-8e7b-4a19-b6f0-7d3e2c1b0a98"
)

// kong counts a request in every period, in the order given, and refuses it when one of them
// was full before.
func kong() []recorder.Scenario {
	seconds := map[string]float64{"second": 1, "minute": 60, "hour": 3600, "day": 86400, "month": 2592000, "year": 31536000}
	rule := func(c recorder.Configured, s store, _ int64) recorder.Answer {
		now := time.Now().Unix()
		periods := c.Other["periods"].([]any)
		said, allowed := map[string]any{}, true
		var limit, remaining, reset, span float64
		type usage struct{ limit, left, span, start float64 }
		var all []usage
		for i := 0; i < len(periods); i += 2 {
			name, l := periods[i].(string), float64(periods[i+1].(int))
			w := seconds[name]
			start := float64(now) - math.Mod(float64(now), w)
			if name == "month" || name == "year" {
				t := time.Unix(now, 0).UTC()
				month := t.Month()
				if name == "year" {
					month = 1
				}
				start = float64(time.Date(t.Year(), month, 1, 0, 0, 0, 0, time.UTC).Unix())
			}
			key := fmt.Sprintf("ratelimit:%s:%s:%s:%.0f:%s", routeID, serviceID, "10.0.0.1", start*1000, name)
			n := s.number(0, "INCR", key)
			if n == 1 {
				s.do("EXPIRE", key, plain(w))
			}
			left := l - (n - 1)
			if left <= 0 {
				allowed = false
			}
			all = append(all, usage{l, left, w, start})
		}
		for i, u := range all {
			left := max(0, u.left-1)
			if i == 0 || left < remaining || left == remaining && u.span > span {
				limit, remaining, span = u.limit, left, u.span
				reset = max(1, u.span-(float64(now)-u.start))
			}
		}
		said["RateLimit-Limit"], said["RateLimit-Remaining"], said["RateLimit-Reset"] = limit, remaining, reset
		var retry *float64
		if !allowed {
			said["Retry-After"], retry = reset, num(reset*1000)
		}
		return answer(allowed, num(limit), num(remaining), retry, num(reset*1000), said)
	}
	l := library("kong", "3.x (2026-08)", "fixed-window", "charged", "access of the rate-limiting plugin, policy redis", []string{"window"}, rule,
		"ratelimit:<route>:<service>:<identifier>:<start in ms>:<period>; an id that does not apply is all zeros", "a request is counted before it is judged, in every period, and refused ones stay counted",
		"EXPIRE with the length of the period at the first request: the key outlives its period", "a month starts on its first day and its key lives 30 days", "limit and remaining are those of the tightest period")
	return l.Scenarios(
		recorder.Variant{Name: "second", Configured: recorder.Per(5, 1000).With("periods", []any{"second", 5}), Story: recorder.Single},
		recorder.Variant{Name: "minute-hour", Configured: recorder.Per(4, 60000).With("periods", []any{"minute", 4, "hour", 100}), Story: overSingle},
		recorder.Variant{Name: "day-month-year", Configured: recorder.Per(1000, 86400000).With("periods", []any{"day", 1000, "month", 20000, "year", 200000}), Story: recorder.Realistic},
	)
}

// overSingle goes over a limit without waiting for the next window.
func overSingle(r *recorder.Run) error { return r.Calls(r.Limit() + 2) }

func apisix() []recorder.Scenario {
	const version = "3.x (2026-08)"
	fixed := library("apisix", version, "fixed-window", "charged", "limit-count with cost %d", []string{},
		func(c recorder.Configured, s store, cost int64) recorder.Answer {
			key := "plugin-limit-count:v1:/apisix/routes/1:2947561:10.0.0.1"
			ttl, used := s.number(-2, "PTTL", key), float64(cost)
			if ttl < 0 {
				ttl = c.WindowMS
				s.do("SET", key, cost, "EX", plain(c.WindowMS/1000))
			} else {
				used = s.number(0, "INCRBY", key, cost)
			}
			left := c.Limit - used
			return answer(left >= 0, num(c.Limit), num(max(0, left)), nil, num(ttl), map[string]any{"X-RateLimit-Limit": c.Limit, "X-RateLimit-Remaining": max(0, left), "X-RateLimit-Reset": ttl / 1000})
		}, "plugin-limit-count:v1:<resource>:<configuration's version>:<key>; the value is what was consumed", "a refused request is counted")
	down := fixed
	down.Notes = []string{"releases before v1: plugin-limit-count<key>, the value is what is LEFT and falls below 0", "an INCR by hand gives requests away"}
	down.Open = opening(func(c recorder.Configured, s store, cost int64) recorder.Answer {
		key := "plugin-limit-count/apisix/routes/1:2947561:10.0.0.1"
		ttl, left := s.number(-2, "PTTL", key), c.Limit-float64(cost)
		if ttl < 0 {
			ttl = c.WindowMS
			s.do("SET", key, plain(left), "EX", plain(c.WindowMS/1000))
		} else {
			left = s.number(0, "INCRBY", key, -cost)
		}
		return answer(left >= 0, num(c.Limit), num(max(0, left)), nil, num(ttl), map[string]any{"remaining": left, "reset": ttl / 1000})
	})
	sliding := library("apisix", version, "sliding-window", "free", "limit-count, window_type sliding, cost %d", []string{},
		func(c recorder.Configured, s store, cost int64) recorder.Answer {
			w := c.WindowMS / 1000
			now := float64(time.Now().UnixMilli()) / 1000
			index := math.Floor(now / w)
			name := func(i float64) string {
				return fmt.Sprintf("plugin-limit-count:/apisix/routes/1:2947561:10.0.0.1.%.0f.counter", i)
			}
			rest := w - math.Mod(now, w)
			last := min(s.number(0, "GET", name(index-1)), c.Limit)
			exists := s.number(-2, "PTTL", name(index)) >= 0
			cur := 0.0
			if exists {
				cur = s.number(0, "GET", name(index))
			}
			round := func(f float64) float64 { return math.Ceil(f*100) / 100 }
			if cur >= c.Limit || last/w*rest+cur >= c.Limit {
				delay := rest
				if cur < c.Limit && last > 0 {
					delay = max(0, rest-(c.Limit-cur)/(last/w))
				}
				return answer(false, num(c.Limit), num(0), num(round(delay)*1000), nil, map[string]any{"rejected": true, "reset": round(delay)})
			}
			if exists {
				cur = s.number(0, "INCRBY", name(index), cost)
			} else {
				cur = float64(cost)
				s.do("SET", name(index), cost, "EX", plain(2*w))
			}
			left := math.Floor(c.Limit - cur - last/w*rest)
			return answer(true, num(c.Limit), num(left), nil, num(round(rest)*1000), map[string]any{"remaining": left, "reset": round(rest)})
		}, "<plugin>:<key>.<floor(s / window)>.counter, EX 2 windows", "the previous count is capped at the limit; refused when it, weighted, and the current reach the limit, whatever the cost",
		"a cost above what is left is admitted and overshoots", "the clock is the client's in ms")
	req := library("apisix", version, "leaky-bucket", "free", "limit-req", []string{},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			key, rate, burst := "limit_req:/apisix/routes/1:2947561:10.0.0.1", c.Limit*1000/c.WindowMS*1000, *c.Burst*1000
			now, excess := float64(time.Now().UnixMilli()), 0.0
			state := s.do("HMGET", key, "excess", "last").([]any)
			if state[0] != nil && state[1] != nil {
				excess = max(number(state[0], 0)-rate*math.Abs(now-number(state[1], 0))/1000+1000, 0)
				if excess > burst {
					return answer(false, nil, nil, nil, nil, map[string]any{"rejected": true, "excess": excess / 1000})
				}
			}
			s.do("HSET", key, "excess", lua(excess), "last", plain(now))
			s.do("EXPIRE", key, plain(math.Ceil(burst/rate)+1))
			return answer(true, nil, nil, num(excess/rate*1000), nil, map[string]any{"delay_s": excess / rate, "excess": excess / 1000})
		}, "hash of excess (thousandths of a request) and last (ms)", "the first request sets excess 0; each further one adds 1000 and drains rate * ms / 1000; above burst it is refused",
		"an admitted request may have to wait excess / rate: the wait stands in retry_after_ms", "TTL ceil(burst / rate) + 1 s")
	conn := library("apisix", version, "concurrency", "free", "limit-conn", []string{},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			key, now := "limit_conn:/apisix/routes/1:2947561:10.0.0.1", time.Now().Unix()
			s.do("ZREMRANGEBYSCORE", key, 0, now)
			count := s.number(0, "ZCARD", key)
			if count >= c.Limit {
				return answer(false, nil, nil, nil, nil, map[string]any{"rejected": true, "connections": count})
			}
			ttl := int64(c.WindowMS / 1000)
			s.do("ZADD", key, now+ttl, fmt.Sprintf("%x", time.Now().UnixNano()))
			s.do("EXPIRE", key, ttl)
			return answer(true, nil, nil, nil, nil, map[string]any{"connections": count + 1})
		}, "requests under way, not a rate: the score is the second at which one counts as lost (window_ms from its beginning), in the future")
	return joined(
		fixed.Scenarios(recorder.Variant{Name: "limit-count", Configured: recorder.Per(5, 4000), Story: recorder.Whole},
			recorder.Variant{Name: "limit-count-minute", Configured: recorder.Per(100, 60000), Story: recorder.RealisticCost}),
		down.Scenarios(recorder.Variant{Name: "limit-count-left", Configured: recorder.Per(5, 4000), Story: recorder.Whole}),
		sliding.Scenarios(recorder.Variant{Name: "limit-count-sliding", Configured: recorder.Per(8, 4000), Story: recorder.Sliding},
			recorder.Variant{Name: "limit-count-sliding-whole", Configured: recorder.Per(5, 4000), Story: recorder.Whole}),
		req.Scenarios(recorder.Variant{Name: "limit-req", Configured: recorder.Per(2, 1000).WithBurst(3), Story: recorder.Leaky}),
		conn.Scenarios(recorder.Variant{Name: "limit-conn", Configured: recorder.Per(3, 4000), Story: recorder.Single}),
	)
}

func joined(lists ...[]recorder.Scenario) (all []recorder.Scenario) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func tyk() []recorder.Scenario {
	rule := func(c recorder.Configured, s store, _ int64) recorder.Answer {
		key, now := "rate-limit-alice-3f5c1b7a", time.Now()
		per := int64(c.WindowMS / 1000)
		sentinel, _ := c.Other["sentinel"].(bool)
		if sentinel {
			if ttl := s.number(-2, "TTL", key+".BLOCKED"); ttl > 0 {
				defer tykCount(s, key, now, per)
				return answer(false, num(c.Limit), nil, nil, num(ttl*1000), map[string]any{"blocked": true, "reset": ttl})
			}
		}
		count := tykCount(s, key, now, per)
		allowed := count <= c.Limit-1
		if sentinel {
			allowed = count <= c.Limit-2
			if !allowed {
				s.do("SET", key+".BLOCKED", "1", "EX", per, "NX")
			}
		}
		return answer(allowed, num(c.Limit), num(max(0, c.Limit-count-1)), nil, nil, map[string]any{"count": count, "blocked": !allowed})
	}
	l := library("tyk", "5.x (2026-08)", "sliding-log", "charged", "Do(ctx, now, key, max, per)", []string{"window"}, rule,
		"sorted set, member = score = ns of the client's clock; the score is a double and loses up to 256 ns", "every request is added, refused ones too: a client that keeps asking stays refused",
		"EXPIRE with the window on every request, so the TTL right after one is the window", "refused when the entries before this one are as many as the limit; an entry exactly as old as the window has left")
	return l.Scenarios(
		recorder.Variant{Name: "rolling", Configured: recorder.Per(5, 4000), Story: recorder.Single},
		recorder.Variant{Name: "sentinel", Configured: recorder.Per(5, 4000).With("sentinel", true), Story: recorder.Single,
			Notes: []string{"<key>.BLOCKED stands as long as the window once the limit is near: with the sentinel one request fewer is admitted",
				"recorded one after the other; the gateway counts after it has answered"}},
		recorder.Variant{Name: "minute", Configured: recorder.Per(100, 60000), Story: recorder.Realistic},
	)
}

// tykCount adds a request and returns how many were there before it.
func tykCount(s store, key string, now time.Time, per int64) float64 {
	s.do("ZREMRANGEBYSCORE", key, "-inf", now.Add(-time.Duration(per)*time.Second).UnixNano())
	count := s.number(0, "ZCARD", key)
	s.do("ZADD", key, now.UnixNano(), now.UnixNano())
	s.do("EXPIRE", key, per)
	return count
}

func aspnetcore() []recorder.Scenario {
	const name, version = "aspnetcore-redis-rate-limiting", "1.2.1"
	fixed := library(name, version, "fixed-window", "free", "AttemptAcquire(%d)", []string{},
		func(c recorder.Configured, s store, cost int64) recorder.Answer {
			key, now := "rl:fw:{alice}", float64(time.Now().UnixMilli())
			end := s.number(-1, "GET", key+":exp")
			if end < now {
				end = now + c.WindowMS
				s.do("SET", key, 0)
				s.do("SET", key+":exp", plain(end))
				s.do("PEXPIREAT", key, plain(end+1))
				s.do("PEXPIREAT", key+":exp", plain(end+1))
			}
			n := s.number(0, "GET", key)
			allowed := n+float64(cost) <= c.Limit
			if allowed {
				n = s.number(0, "INCRBY", key, cost)
			}
			return answer(allowed, num(c.Limit), num(c.Limit-n), num(end-now), nil, map[string]any{"count": n, "expires_at": end, "allowed": allowed})
		}, "rl:fw:{key} counts, rl:fw:{key}:exp is the end of the window in ms; both end 1 ms after it", "the window begins with the first request; retry_after_ms is its rest in every answer", "the clock is the client's")
	sliding := library(name, version, "sliding-log", "free", "AttemptAcquire(1)", []string{"window"},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			key, now := "rl:sw:{alice}", float64(time.Now().UnixMilli())
			s.do("ZREMRANGEBYSCORE", key, "-inf", plain(now-c.WindowMS))
			count := s.number(0, "ZCARD", key)
			allowed, field := count < c.Limit, "total_failed"
			if allowed {
				s.do("ZADD", key, plain(now), fmt.Sprintf("%032x", time.Now().UnixNano()))
				field = "total_successful"
			}
			s.do("PEXPIREAT", key, plain(now+c.WindowMS+1))
			s.do("HINCRBY", key+":stats", field, 1)
			s.do("PEXPIREAT", key+":stats", plain(now+c.WindowMS+1))
			return answer(allowed, num(c.Limit), nil, nil, nil, map[string]any{"count": count, "allowed": allowed})
		}, "rl:sw:{key} holds ms, members are request ids; rl:sw:{key}:stats holds total_successful and total_failed: denials can be read", "the window is the TTL right after a request, less 1 ms", "an entry exactly as old as the window has left")
	token := library(name, version, "token-bucket", "free", "AttemptAcquire(%d)", []string{},
		func(c recorder.Configured, s store, cost int64) recorder.Answer {
			key, now := "rl:tb:{alice}", float64(time.Now().UnixMilli())
			state := s.do("MGET", key, key+":ts").([]any)
			tokens, last := number(state[0], *c.Burst), number(state[1], 0)
			periods := math.Floor(max(0, now-last) / c.WindowMS)
			tokens = min(*c.Burst, tokens+periods*c.Limit)
			at := now
			if last > 0 {
				at = last + periods*c.WindowMS
			}
			retry, allowed := 0.0, tokens >= float64(cost)
			if allowed {
				tokens -= float64(cost)
				ttl := plain(math.Ceil(*c.Burst/c.Limit) * c.WindowMS)
				s.do("SET", key, plain(tokens), "PX", ttl)
				s.do("SET", key+":ts", plain(at), "PX", ttl)
			} else {
				retry = math.Ceil((c.WindowMS - (now - at)) / 1000)
			}
			return answer(allowed, num(*c.Burst), num(tokens), num(retry*1000), nil, map[string]any{"allowed": allowed, "count": tokens, "retry_after_s": retry})
		}, "rl:tb:{key} is what is left, rl:tb:{key}:ts the ms of the last refill; limit tokens come each window, all at once; burst is the capacity", "TTL ceil(capacity / tokens) * period; nothing is written for a refused request",
		"retry is the rest of the period, rounded up to seconds, whatever the cost")
	concurrency := library(name, version, "concurrency", "free", "AttemptAcquire(1)", []string{},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			key, now := "rl:cc:{alice}", float64(time.Now().UnixMilli())
			s.do("ZREMRANGEBYSCORE", key, "-inf", plain(now-60000))
			count := s.number(0, "ZCARD", key)
			allowed, field := count < c.Limit, "total_failed"
			if allowed {
				s.do("ZADD", key, plain(now), fmt.Sprintf("%032x", time.Now().UnixNano()))
				field = "total_successful"
			}
			s.do("HINCRBY", key+":stats", field, 1)
			return answer(allowed, nil, nil, nil, nil, map[string]any{"allowed": allowed, "count": count})
		}, "requests under way and :stats, both without TTL; one counts as lost after 60 s; no lease is given back here")
	return joined(
		fixed.Scenarios(recorder.Variant{Name: "fixed", Configured: recorder.Per(5, 4000), Story: recorder.Whole}),
		sliding.Scenarios(recorder.Variant{Name: "sliding", Configured: recorder.Per(5, 4000), Story: recorder.Single}),
		token.Scenarios(recorder.Variant{Name: "token", Configured: recorder.Per(2, 1000).WithBurst(6), Story: recorder.Bucket}),
		concurrency.Scenarios(recorder.Variant{Name: "concurrency", Configured: recorder.Per(3, 60000), Story: overSingle}),
	)
}

func restyRatelimit() []recorder.Scenario {
	l := library("lua-resty-redis-ratelimit", "0.03", "leaky-bucket", "partly", "incoming(key)", []string{},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			key, now, rate, burst := "myzone:10.0.0.1", float64(time.Now().UnixMilli()), c.Limit*1000/c.WindowMS*1000, *c.Burst*1000
			block, _ := c.Other["duration_s"].(int)
			excess := 0.0
			if old, ok := s.do("GET", key).(string); ok {
				var state []float64
				if err := json.Unmarshal([]byte(old), &state); err != nil {
					panic(err)
				}
				if state[2] == 1 {
					return answer(false, nil, nil, nil, nil, map[string]any{"forbidden": true, "excess": state[0]})
				}
				excess = max(0, state[0]-rate*math.Abs(now-state[1])/1000+1000)
				if excess > burst {
					if block > 0 {
						s.do("SET", key, fmt.Sprintf("[%.14g,%.14g,1]", excess, now))
						s.do("EXPIRE", key, block)
					}
					return answer(false, nil, nil, nil, nil, map[string]any{"busy": true, "excess": excess})
				}
			}
			s.do("SET", key, fmt.Sprintf("[%.14g,%.14g,0]", excess, now))
			s.do("EXPIRE", key, 60)
			return answer(true, nil, nil, num(excess/rate*1000), nil, map[string]any{"delay_s": excess / rate, "excess": excess})
		}, "<zone>:<key> holds JSON: excess in thousandths of a request, last in ms, 1 while forbidden", "the first request sets excess 0; above burst refused; an admitted one may have to wait excess / rate (retry_after_ms)",
		"TTL 60 s, or the duration of the block", "without a duration a refused request writes nothing")
	return l.Scenarios(
		recorder.Variant{Name: "whole", Configured: recorder.Per(2, 1000).WithBurst(3), Story: recorder.Leaky, Denied: "free"},
		recorder.Variant{Name: "block", Configured: recorder.Per(2, 1000).WithBurst(3).With("duration_s", 3), Story: recorder.Leaky},
	)
}
