package decodetest

import (
	"fmt"
	"time"
)

// applications are keys that all kinds of applications keep.
var applications = []kind{
	{name: "session as JSON", write: func(w *writer, i int) {
		w.set("session:"+w.uuid(), `{"user":`+fmt.Sprint(i)+`,"csrf":"`+w.secret()+`"}`, w.within(2*time.Hour))
	}},
	{name: "session of Django", write: func(w *writer, i int) {
		w.set(":1:django.contrib.sessions.cache"+w.hex(32), "\x80\x04\x95\x2a\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x03_tk\x94\x8c\x18"+w.secret()+"\x94s.", w.within(14*24*time.Hour))
	}},
	{name: "session of PHP", write: func(w *writer, i int) {
		w.set("PHPREDIS_SESSION:"+w.word(26), "user|i:"+fmt.Sprint(i)+";token|s:24:\""+w.secret()+"\";", w.within(24*time.Minute))
	}},
	{name: "session hash", write: func(w *writer, i int) {
		key := "spring:session:sessions:" + w.uuid()
		w.do("HSET", key, "creationTime", w.millis(-time.Hour), "lastAccessedTime", w.millis(-time.Minute), "maxInactiveInterval", 1800, "sessionAttr:token", w.secret())
		w.expire(key, 30*time.Minute)
	}},
	{name: "one-time code", write: func(w *writer, i int) {
		w.set(fmt.Sprintf("otp:+49151%08d", w.upTo(0, 99999999)), w.code(), w.within(5*time.Minute))
	}},
	{name: "one-time code in whole seconds", write: func(w *writer, i int) {
		key := fmt.Sprintf("verify:code:%d", w.upTo(1, 1e6))
		w.do("SET", key, w.code(), "EX", w.upTo(30, 600))
	}},
	{name: "password reset", write: func(w *writer, i int) { w.set("password_reset:"+w.hex(16), w.secret(), w.within(time.Hour)) }},
	{name: "cached count", write: func(w *writer, i int) {
		w.set(fmt.Sprintf("cache:count:orders:%d", i), w.upTo(0, 500), w.within(time.Minute))
	}},
	{name: "cached count of Django", write: func(w *writer, i int) { w.set(fmt.Sprintf(":1:visits_%d", i), w.upTo(1, 90), w.within(5*time.Minute)) }},
	{name: "views a day", write: func(w *writer, i int) {
		w.set(fmt.Sprintf("views:%d:20261122", i), w.upTo(1, 9000), w.within(48*time.Hour))
	}},
	{name: "visits an hour", write: func(w *writer, i int) {
		w.set(fmt.Sprintf("visits:%d:2026112205", i), w.upTo(1, 900), w.within(time.Hour))
	}},
	{name: "JSON cache", write: func(w *writer, i int) {
		w.set("cache:user:"+fmt.Sprint(i), `{"name":"`+w.word(8)+`","card":"`+w.secret()+`"}`, w.within(10*time.Minute))
	}},
	{name: "page cache", write: func(w *writer, i int) {
		w.set(":1:views.decorators.cache.cache_page.."+w.hex(32)+"."+w.hex(32), "x\x9c"+w.word(60), w.within(10*time.Minute))
	}},
	{name: "cache of Laravel", write: func(w *writer, i int) {
		w.set("laravel_database_laravel_cache_:"+w.hex(40), "s:24:\""+w.secret()+"\";", w.within(time.Hour))
	}},
	{name: "number in Laravel's cache", write: func(w *writer, i int) {
		w.set("laravel_database_laravel_cache_:"+w.hex(40), w.upTo(1, 90), w.within(time.Hour))
	}},
	{name: "cache of Symfony", write: func(w *writer, i int) {
		w.set("Kq2xV8m1rT:"+w.word(12), "\x00\x00\x00\x02\x11\x18"+w.secret(), w.within(time.Hour))
	}},
	{name: "cache of Rails", write: func(w *writer, i int) {
		w.set("views/products/"+fmt.Sprint(i)+"-2026112205", "\x04\bo: ActiveSupport::Cache::Entry\t:\v@value\"\x1d"+w.secret(), w.within(time.Hour))
	}},
	{name: "idempotency mark", write: func(w *writer, i int) { w.set("idempotency:"+w.uuid(), "1", w.within(24*time.Hour)) }},
	{name: "idempotency answer", write: func(w *writer, i int) {
		w.set("idem:"+w.uuid(), `{"status":200,"body":"`+w.secret()+`"}`, w.within(24*time.Hour))
	}},
	{name: "lock", write: func(w *writer, i int) { w.set("lock:order:"+fmt.Sprint(i), w.secret(), w.within(30*time.Second)) }},
	{name: "mutex of now and its TTL", write: func(w *writer, i int) {
		ttl := w.within(time.Minute)
		w.set("mutex:report:"+fmt.Sprint(i), fmt.Sprintf("%.6f", w.seconds(ttl)), ttl)
	}},
	{name: "expiry of a token in milliseconds", write: func(w *writer, i int) {
		ttl := w.within(time.Hour)
		w.set("token:expires:"+w.hex(12), w.millis(ttl), ttl)
	}},
	{name: "expiry of a session in nanoseconds", write: func(w *writer, i int) {
		ttl := w.within(time.Hour)
		w.set("session_deadline:"+w.hex(12), fmt.Sprintf("%d000", w.now.Add(ttl)), ttl)
	}},
	{name: "expiry in whole seconds", write: func(w *writer, i int) {
		ttl := w.within(time.Hour)
		w.set("lease:"+w.hex(8), w.second(ttl), ttl)
	}},
	{name: "last seen", write: func(w *writer, i int) { w.set("last_seen:"+fmt.Sprint(i), w.second(-time.Minute), w.within(time.Hour)) }},
	{name: "flag", write: func(w *writer, i int) { w.set("feature:"+w.word(6), w.upTo(0, 1), 0) }},
	{name: "stock", write: func(w *writer, i int) { w.set(fmt.Sprintf("stock:sku:%d", i), w.upTo(0, 400), 0) }},
	{name: "unread count", write: func(w *writer, i int) { w.set(fmt.Sprintf("unread:%d", i), w.upTo(0, 40), 0) }},
	{name: "unread count that expires", write: func(w *writer, i int) {
		w.set(fmt.Sprintf("inbox:unread:%d", i), w.upTo(0, 40), w.within(7*24*time.Hour))
	}},
	{name: "sequence", once: true, write: func(w *writer, i int) { w.set("order_id", 4711, 0) }},
	{name: "hash with tokens", write: func(w *writer, i int) {
		w.do("HSET", fmt.Sprintf("usage:%d", i), "tokens", w.code(), "model", "large", "at", "2026-11-22")
	}},
	{name: "wallet", write: func(w *writer, i int) {
		w.do("HSET", fmt.Sprintf("wallet:%d", i), "tokens", w.upTo(1, 900), "ts", w.millis(-time.Hour), "last", w.second(-time.Hour))
	}},
	{name: "meeting", write: func(w *writer, i int) {
		w.do("HSET", fmt.Sprintf("meeting:%d", i), "start", w.second(-time.Minute), "end", w.second(time.Hour), "count", w.upTo(1, 9))
		w.expire(fmt.Sprintf("meeting:%d", i), w.within(time.Hour))
	}},
	{name: "profile", write: func(w *writer, i int) {
		w.do("HSET", fmt.Sprintf("user:%d", i), "name", w.word(7), "email", w.secret()+"@example.com", "level", w.upTo(1, 9))
	}},
	{name: "cart", write: func(w *writer, i int) {
		w.do("HSET", fmt.Sprintf("cart:%d", i), "sku-1", 2, "sku-7", 1)
		w.expire(fmt.Sprintf("cart:%d", i), w.within(24*time.Hour))
	}},
	{name: "leaderboard", once: true, write: func(w *writer, i int) {
		for range 40 {
			w.do("ZADD", "leaderboard:weekly", w.upTo(0, 90000), "player:"+w.word(8))
		}
	}},
	{name: "geo set", once: true, write: func(w *writer, i int) { w.do("GEOADD", "geo:shops", 13.4, 52.5, "berlin", 11.6, 48.1, "munich") }},
	{name: "presence", write: func(w *writer, i int) {
		for j := range 3 {
			w.do("ZADD", fmt.Sprintf("presence:room:%d", i), w.seconds(-time.Duration(j)*time.Second), "user:"+w.word(6))
		}
	}},
	{name: "delayed job", write: func(w *writer, i int) {
		w.do("ZADD", fmt.Sprintf("delayed:%d", i), w.millis(time.Hour), `{"job":"mail","to":"`+w.secret()+`"}`)
	}},
	{name: "feed of ids", write: func(w *writer, i int) {
		for j := range 3 {
			id := 115_000_000_000_000_000 + 1000*int64(i) + int64(j)
			w.do("ZADD", fmt.Sprintf("feed:home:%d", i), id, id)
		}
	}},
	{name: "activity log", write: func(w *writer, i int) {
		for j := range 3 {
			w.do("ZADD", fmt.Sprintf("activity:%d", i), w.millis(-time.Duration(j)*time.Hour), w.uuid())
		}
	}},
	{name: "price ticks", write: func(w *writer, i int) {
		for j := range 3 {
			w.do("ZADD", fmt.Sprintf("price:%d", i), w.millis(-time.Duration(j)*time.Second), fmt.Sprintf("%d:%d", w.millis(0)-int64(j), w.upTo(1, 900)))
		}
	}},
	{name: "autocomplete", once: true, write: func(w *writer, i int) { w.do("ZADD", "autocomplete", 0, "a", 0, "al", 0, "alice*") }},
	{name: "event stream", write: func(w *writer, i int) {
		w.do("XADD", fmt.Sprintf("events:%d", i), "*", "type", "order", "customer", w.secret())
	}},
	{name: "stream with a count", write: func(w *writer, i int) {
		w.do("XADD", fmt.Sprintf("metrics:%d", i), "*", "count", w.upTo(1, 9), "host", "web-1")
	}},
	{name: "recent items", write: func(w *writer, i int) { w.do("LPUSH", fmt.Sprintf("recent:%d", i), w.secret(), w.word(5)) }},
	{name: "list of times", write: func(w *writer, i int) {
		w.do("LPUSH", fmt.Sprintf("logins:%d", i), w.second(-time.Hour), w.second(-time.Minute))
		w.expire(fmt.Sprintf("logins:%d", i), w.within(24*time.Hour))
	}},
	{name: "tags", write: func(w *writer, i int) { w.do("SADD", fmt.Sprintf("tags:%d", i), "red", "blue", w.word(4)) }},
	{name: "visitors", write: func(w *writer, i int) { w.do("PFADD", fmt.Sprintf("uv:%d:20261122", i), w.word(5), w.word(5)) }},
	{name: "bitmap", once: true, write: func(w *writer, i int) { w.do("SETBIT", "active:20261122", 4711, 1) }},
}

// lookAlikes are keys that are called like limiters, or that other programs keep beside them.
var lookAlikes = []kind{
	{name: "settings of a limiter", write: func(w *writer, i int) { w.set("rl:config:"+w.word(5), 100, 0) }},
	{name: "switch of a limiter", write: func(w *writer, i int) { w.set("throttle:enabled:"+w.word(5), 1, w.within(time.Hour)) }},
	{name: "exempt clients", once: true, write: func(w *writer, i int) { w.do("SADD", "rate_limit:allowlist", "203.0.113.1") }},
	{name: "slots of Redis::funnel", write: func(w *writer, i int) {
		w.set(fmt.Sprintf("laravel_database_funnel%d", i+1), w.word(20), w.within(time.Minute))
	}},
	{name: "timer alone", write: func(w *writer, i int) {
		ttl := w.within(time.Minute)
		w.set(fmt.Sprintf("game:%d:timer", i), w.second(ttl), ttl)
	}},
	{name: "count of an hour, by its index", write: func(w *writer, i int) {
		index, _ := w.window(time.Hour)
		w.set(fmt.Sprintf("hits:page%d:%d", i, index), w.upTo(1, 900), w.within(time.Hour))
	}},
	{name: "count of a minute, by its second", write: func(w *writer, i int) {
		w.set(fmt.Sprintf("online:%d:%d", i, w.second(0)/60*60), w.upTo(1, 90), w.within(time.Minute))
	}},
}
