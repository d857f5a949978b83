package decodetest

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"time"
)

// limiters are the layouts of libraries as they are in the middle of a window.
var limiters = []layout{
	// Node
	{library: "rate-limit-redis", write: func(w *writer, i int) []string { return w.counter("rl:"+w.ip(), 15*time.Minute) }},
	{library: "rate-limiter-flexible", write: func(w *writer, i int) []string { return w.counter("rlflx:"+w.ip(), time.Minute) }},
	{library: "fastify-rate-limit", write: func(w *writer, i int) []string { return w.counter("fastify-rate-limit-"+w.ip(), time.Minute) }},
	{library: "nest-throttler-storage-redis", doubles: []string{"nestjs-throttler-storage-redis"}, write: func(w *writer, i int) []string {
		key := "{" + w.hex(64) + ":default}:hits"
		return append(w.counter(key, time.Minute), key[:len(key)-len(":hits")])
	}},
	{library: "bullmq", write: func(w *writer, i int) []string {
		queue := fmt.Sprintf("bull:limited%d:", i)
		w.do("HSET", queue+"meta", "opts.maxLenEvents", 10000, "version", "bullmq:6.7.0", "max", 100, "duration", 60000)
		w.do("ZADD", queue+"completed", w.millis(-time.Minute), "1") // as every queue has it: no limiter
		w.do("ZADD", queue+"failed", w.millis(-time.Second), "2")
		return w.counter(queue+"limiter", time.Minute)
	}},
	{library: "ratelimiter", doubles: []string{"hapi-rate-limitor"}, write: func(w *writer, i int) []string {
		key := fmt.Sprintf("limit:user%d", i)
		at := w.now.Add(-2 * time.Second)
		w.do("ZADD", key, int64(at), int64(at), int64(at)+1500, int64(at)+1500)
		w.expire(key, 58*time.Second+2*time.Millisecond)
		return []string{key}
	}},
	{library: "upstash-ratelimit", write: func(w *writer, i int) []string {
		base := "@upstash/ratelimit:" + w.ip()
		index, into := w.window(time.Hour)
		return append(w.counterFor(fmt.Sprintf("%s:%d", base, index), 2*time.Hour+time.Second-w.soFar(into)), base)
	}},
	{library: "bottleneck", write: func(w *writer, i int) []string {
		key := fmt.Sprintf("b_api%d_settings", i)
		w.do("HSET", key, "reservoir", 7, "reservoirRefreshAmount", 10, "reservoirRefreshInterval", 60000, "lastReservoirRefresh", w.millis(-time.Second), "running", 0)
		return []string{key}
	}},
	// Python
	{library: "limits", write: func(w *writer, i int) []string {
		return w.counter("LIMITS:LIMITER/"+w.ip()+"//orders/100/1/minute", time.Minute)
	}},
	{library: "limits", write: func(w *writer, i int) []string {
		key := "LIMITER/" + w.ip() + "/orders.list/100/1/minute"
		for j := range 3 {
			w.do("RPUSH", key, fmt.Sprintf("%.7f", w.seconds(-time.Duration(j+1)*time.Second)))
		}
		w.expire(key, 59*time.Second)
		return []string{key}
	}},
	{library: "limits", write: func(w *writer, i int) []string {
		key := "LIMITS:{LIMITER/" + w.ip() + "/search/100/1/hour}"
		w.counterFor(key+"/-1", w.within(time.Hour))
		return append(w.counterFor(key, time.Hour+w.within(time.Hour)), key+"/-1")
	}},
	{library: "django-rest-framework", write: func(w *writer, i int) []string {
		key := fmt.Sprintf(":1:throttle_user_%d", i)
		value := []byte("\x80\x04\x95\x17\x00\x00\x00\x00\x00\x00\x00]\x94(")
		for _, age := range [...]time.Duration{time.Second, 3 * time.Second} {
			value = binary.BigEndian.AppendUint64(append(value, 'G'), math.Float64bits(w.seconds(-age)))
		}
		w.set(key, string(append(value, "e."...)), 59*time.Second)
		return []string{key}
	}},
	{library: "django-ratelimit", write: func(w *writer, i int) []string { return w.counter(":1:rl:"+w.hex(64), 65*time.Second) }},
	{library: "throttled-py", write: func(w *writer, i int) []string {
		base := fmt.Sprintf("throttled:v1:sliding_window:/api:%d", i)
		index, into := w.window(time.Hour)
		return append(w.counterFor(fmt.Sprintf("%s:period:%d", base, index), 3*time.Hour-w.soFar(into)), base)
	}},
	{library: "throttled-py", write: func(w *writer, i int) []string {
		key := fmt.Sprintf("throttled:v1:token_bucket:/api:%d", i)
		w.do("HSET", key, "tokens", 3, "last_refreshed", w.second(-time.Second))
		w.expire(key, 119*time.Second)
		return []string{key}
	}},
	{library: "pyrate-limiter", write: func(w *writer, i int) []string {
		key := fmt.Sprintf("orders-bucket-%d", i)
		for j := range 3 {
			w.do("ZADD", key, w.millis(-time.Duration(j)*time.Second), fmt.Sprintf("orders:A%s7:1", w.word(4)))
		}
		return []string{key}
	}},
	{library: "fastapi-limiter", write: func(w *writer, i int) []string {
		return w.counter("fastapi-limiter:"+w.ip()+":/orders:3:0", time.Minute)
	}},
	{library: "sentry", write: func(w *writer, i int) []string {
		base := "rl:" + w.hex(32) + ":42"
		index, _ := w.window(time.Hour)
		return append(w.counterFor(fmt.Sprintf("%s:%d", base, index), time.Hour-time.Second), base)
	}},
	// PHP
	{library: "laravel", write: func(w *writer, i int) []string {
		key := "laravel_database_laravel_cache_:" + w.hex(40)
		if i%2 == 0 {
			key = "login|" + w.ip()
		}
		w.counterFor(key, 50*time.Second)
		w.set(key+":timer", w.second(50*time.Second), 50*time.Second)
		return []string{key, key + ":timer"}
	}},
	{library: "laravel", write: func(w *writer, i int) []string {
		key := fmt.Sprintf("laravel_database_reports%d", i)
		start := w.second(-5 * time.Second)
		w.do("HSET", key, "start", start, "end", start+60, "count", w.upTo(1, 40))
		w.expire(key, 115*time.Second)
		return []string{key}
	}},
	{library: "symfony-rate-limiter", write: func(w *writer, i int) []string {
		id := "api-" + w.ip()
		digest := sha1.Sum([]byte(id))
		key := w.word(10) + ":" + hex.EncodeToString(digest[:])
		w.set(key, fmt.Sprintf("O:43:\"Symfony\\Component\\RateLimiter\\Policy\\Window\":2:{s:%d:\"%s\";d:%.6f;s:8:\"\x00\x00\x00\x03\x00\x00\x00<\";i:100;}", len(id), id, w.seconds(-time.Second)), 59*time.Second)
		return []string{key}
	}},
	// Ruby
	{library: "rack-attack", write: func(w *writer, i int) []string {
		client := w.ip()
		return append(w.counterUntilWindow("rack::attack:%d:req/ip:"+client), "rack::attack:req/ip:"+client)
	}},
	{library: "rails", write: func(w *writer, i int) []string {
		return w.counter("rate-limit:sessions:"+w.ip(), 3*time.Minute)
	}},
	{library: "gitlab", write: func(w *writer, i int) []string {
		base := fmt.Sprintf("application_rate_limiter:notes_create:user:%d", i)
		return append(w.counterUntilWindow(base+":%d"), base)
	}},
	{library: "mastodon", write: func(w *writer, i int) []string {
		base := fmt.Sprintf("rate_limit:%d:statuses", 109000+i)
		return append(w.counterUntilWindow(base+":%d"), base)
	}},
	{library: "discourse", write: func(w *writer, i int) []string {
		key := fmt.Sprintf("default:l-rate-limit3::%d:create_post", i)
		w.do("LPUSH", key, w.second(-2*time.Second), w.second(-time.Second))
		w.expire(key, 119*time.Second)
		return []string{key}
	}},
	{library: "prorate", write: func(w *writer, i int) []string {
		base := "login:" + w.hex(40)
		w.set(base+".bucket_level", "2.5", 59*time.Second)
		w.set(base+".last_updated", fmt.Sprintf("%.6f", w.seconds(-time.Second)), 59*time.Second)
		return []string{base + ".bucket_level", base + ".last_updated"}
	}},
	// Go and gateways
	{library: "redis-rate", doubles: []string{"redis-gcra"}, write: func(w *writer, i int) []string {
		key := fmt.Sprintf("rate:project:%d", i)
		w.set(key, fmt.Sprintf("%.9f", w.seconds(50*time.Second+300*time.Millisecond)-1483228800), 51*time.Second)
		return []string{key}
	}},
	{library: "throttled", doubles: []string{"redis-cell"}, write: func(w *writer, i int) []string {
		key := fmt.Sprintf("api:client:%d", i)
		w.set(key, fmt.Sprintf("%d000", w.now.Add(50*time.Second+300*time.Millisecond)), 50*time.Second)
		return []string{key}
	}},
	{library: "redis-cell", doubles: []string{"throttled"}, write: func(w *writer, i int) []string {
		key := fmt.Sprintf("user%d", i)
		w.set(key, fmt.Sprintf("%d123", w.now.Add(50*time.Second)), 50*time.Second)
		return []string{key}
	}},
	{library: "ulule-limiter", write: func(w *writer, i int) []string { return w.counter("limiter:"+w.ip(), time.Minute) }},
	{library: "spring-cloud-gateway", write: func(w *writer, i int) []string {
		base := fmt.Sprintf("request_rate_limiter.{orders.user%d}", i)
		w.set(base+".tokens", w.upTo(0, 20), 59*time.Second)
		w.set(base+".timestamp", w.second(-time.Second), 59*time.Second)
		return []string{base + ".tokens", base + ".timestamp"}
	}},
	{library: "go-zero", write: func(w *writer, i int) []string {
		base := fmt.Sprintf("{gateway-%d}", i)
		w.set(base+".tokens", w.upTo(0, 20), 59*time.Second)
		w.set(base+".ts", w.second(-time.Second), 59*time.Second)
		return []string{base + ".tokens", base + ".ts"}
	}},
	{library: "kong", write: func(w *writer, i int) []string {
		base := "ratelimit:" + w.uuid() + ":" + w.uuid() + ":" + w.ip()
		index, into := w.window(time.Hour)
		return append(w.counterFor(fmt.Sprintf("%s:%d:hour", base, index*3600*1000), time.Hour-w.soFar(into)), base, base+":hour")
	}},
	{library: "envoy-ratelimit", write: func(w *writer, i int) []string {
		base := fmt.Sprintf("apis_remote_address_%s_", w.ip())
		index, _ := w.window(time.Hour)
		return append(w.counterFor(fmt.Sprintf("%s%d", base, index*3600), time.Hour+time.Duration(w.upTo(0, 299))*time.Second), base, base[:len(base)-1])
	}},
	{library: "traefik", write: func(w *writer, i int) []string {
		key := "rate:api-limit@docker:" + w.ip()
		w.do("HSET", key, "last", int64(w.now), "tokens", 3.25)
		w.expire(key, 61*time.Second)
		return []string{key}
	}},
	{library: "tyk", write: func(w *writer, i int) []string {
		key := "rate-limit-" + w.hex(32)
		at := int64(w.now.Add(-time.Second)) * 1000
		w.do("ZADD", key, at, at)
		w.expire(key, 59*time.Second)
		return []string{key}
	}},
	{library: "redisson", write: func(w *writer, i int) []string {
		key := fmt.Sprintf("limiter-%d", i)
		w.do("HSET", key, "rate", 100, "interval", 60000, "keepAliveTime", 0, "type", 0)
		w.set("{"+key+"}:value", 97, 0)
		for j := range 3 {
			w.do("ZADD", "{"+key+"}:permits", w.millis(-time.Duration(j)*time.Second), "\x10"+w.word(16)+"\x01\x00\x00\x00")
		}
		return []string{key, "{" + key + "}:value", "{" + key + "}:permits"}
	}},
	// Left out on purpose: no decoder knows these.
	{library: "ratelimit", leftOut: true, write: func(w *writer, i int) []string {
		key := fmt.Sprintf("ratelimit:emails:user%d", i)
		w.do("HSET", key, w.second(0)/5, w.upTo(1, 9))
		w.expire(key, 604*time.Second)
		return []string{key}
	}},
	{library: "redis-bucket", leftOut: true, write: func(w *writer, i int) []string {
		key := fmt.Sprintf("bucket:user%d", i)
		value := binary.BigEndian.AppendUint64([]byte{0xcb}, math.Float64bits(w.seconds(-time.Second)))
		w.set(key, string(append(value, 0x00, 0x91, 0x03)), 60*time.Second)
		return []string{key}
	}},
	{library: "graphql-rate-limit", leftOut: true, write: func(w *writer, i int) []string {
		key := fmt.Sprintf("redis-store-id::%d:search", i)
		w.set(key, fmt.Sprintf("[%d,%d]", w.millis(-time.Second), w.millis(-2*time.Second)), 59*time.Second)
		return []string{key}
	}},
	{library: "vearne-ratelimit", leftOut: true, write: func(w *writer, i int) []string {
		index, into := w.window(time.Hour)
		return w.counterFor(fmt.Sprintf("key:user%d:%d", i, index), 3*time.Hour-w.soFar(into))
	}},
	{library: "lua-resty-redis-ratelimit", leftOut: true, write: func(w *writer, i int) []string {
		key := "api:" + w.ip()
		w.set(key, fmt.Sprintf("[1.25,%d,0]", w.millis(-time.Second)), 59*time.Second)
		return []string{key}
	}},
	{library: "dramatiq", leftOut: true, write: func(w *writer, i int) []string {
		return w.counter(fmt.Sprintf("mail-limit-%d@%d", i, w.second(0)), 2*time.Minute)
	}},
	// Hand-written, or of programs whose layout no decoder reads
	{library: "django-defender", leftOut: true, write: func(w *writer, i int) []string { return w.counter("defender:failed:ip:"+w.ip(), 5*time.Minute) }},
	{library: "hand-written login failures", leftOut: true, write: func(w *writer, i int) []string { return w.counter("login_attempts:"+w.word(6), 15*time.Minute) }},
	{library: "sentry-relay", leftOut: true, write: func(w *writer, i int) []string {
		return w.counter(fmt.Sprintf("quota:o%d{1}42:%d", i, w.second(0)/60), 2*time.Minute)
	}},
}

// counter writes a count whose window began with its first request.
func (w *writer) counter(key string, window time.Duration) []string {
	return w.counterFor(key, window/2+w.within(window/2)-5*time.Millisecond)
}

func (w *writer) counterFor(key string, ttl time.Duration) []string {
	w.set(key, w.upTo(1, 90), ttl)
	return []string{key}
}

// window returns the index of the window that is current, and how much of it has gone by.
func (w *writer) window(d time.Duration) (index int64, into time.Duration) {
	return int64(w.now) / d.Microseconds(), w.now.Sub(w.now.Floor(d))
}

// soFar returns how long ago the first request of a window came, which has lasted so long.
func (w *writer) soFar(into time.Duration) time.Duration { return w.within(into) / 2 }

// counterUntilWindow writes the counter of three hours, or of one, that expires a second after its
// end, as it is in whole seconds of its writer's clock. The index stands in the name.
func (w *writer) counterUntilWindow(name string) []string {
	const window = 3 * time.Hour
	index, into := w.window(window)
	return w.counterFor(fmt.Sprintf(name, index), window-into+time.Second+100*time.Millisecond)
}
