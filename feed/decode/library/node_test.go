package library

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// at is a member that is its score, which is ago before now, in units.
func at(ago time.Duration, unit time.Duration) decode.Element {
	v := decode.NumberIn(testNow.Add(-ago), unit)
	return decode.Element{Member: strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0"), Score: v}
}

// named gives a member another name.
func named(member string, e decode.Element) decode.Element {
	return decode.Element{Member: member, Score: e.Score}
}

// TestNodeLookAlikes: keys of other programs that share a name, a type or a form with a limiter's are
// not recognized as any library's.
func TestNodeLookAlikes(t *testing.T) {
	minute := limiter.Instant(testNow).Time().Unix() / 60
	for _, s := range []decode.Sample{
		text("rl:1042", "3", time.Minute),
		text("rl:alice", "3", time.Minute),
		text("rl:203.0.113.7", "yes", time.Minute),
		text("rl:203.0.113.7", "3", model.Forever),
		text("rl:203.0.113.7", "03", time.Minute),
		text("otp:203.0.113.7", "482913", 5*time.Minute),
		text("login_code:alice@example.com", "482913", 10*time.Minute),
		text("cache:unread:alice", "12", time.Hour),
		text("stock:sku-1042", "17", time.Hour),
		text("rlflx:alice", "locked", time.Minute),
		text("rlflx:alice", "1.5", time.Minute),
		text("hrl:alice", `{"totalHits":3}`, model.Forever),
		text("hrl:alice", `{"totalHits":3,"resetTime":"soon"}`, model.Forever),
		text("hrl:alice", `{"totalHits":3,"resetTime":"2026-11-22T04:36:41.383Z","user":"alice"}`, model.Forever),
		text("stats:alice", `{"totalHits":3,"resetTime":"2026-11-22T04:36:41.383Z"}`, model.Forever),
		text("fastify-rate-limit-203.0.113.7", "banned", time.Minute),
		text("ratelimit:alice", "3", time.Minute), // without its twin
		text("ratelimittemp:alice", "0", time.Minute),
		text("{user:profile}:hits", "3", time.Minute),
		text("{page}:hits", "3", time.Minute),
		text("{"+strings.Repeat("a", 63)+"x:default2}:hits", "3", time.Minute),
		text("{"+strings.Repeat("ab", 32)+":default}:hits", "3", model.Forever),
		text("bull:mail:id", "7", time.Minute),
		text("bull:mail:limiter", "3", model.Forever),
		text("bull:mail:7:lock", "b9f6a1", 30*time.Second),
		text("bull:mail:stalled-check", "1795322201123", 30*time.Second),
		text("mail:limiter", "3", time.Minute),
		text(fmt.Sprintf("views:page:%d", minute), "17", time.Minute),
		text(fmt.Sprintf("metrics:api:%d", minute), "17", 3*time.Minute),
		text("user:profile:29922037", "17", time.Hour),
		text("@upstash/ratelimit:alice:17", "3", time.Minute), // no window has this number
		text("@upstash/ratelimit:ipDenyListStatus", "disabled", model.Forever),
		hash("_throttler:{alice}", time.Minute, "default", "off"),
		hash("_throttler:{alice}", model.Forever, "default", "3"),
		hash("settings:alice", time.Minute, "default", "3"),
		hash("llm:usage:alice", time.Hour, "tokens", "1200"),
		hash("session:alice", time.Hour, "tokens", "abc", "refilledAt", "1795000000000"),
		hash("wallet:alice", model.Forever, "tokens", "3", "refilledAt", "1795000000000"),
		hash("llm:usage:alice", time.Hour, "tokens", "3", "refilledAt", "1795000000"),
		zset("limit:alice", time.Minute, 2, decode.Element{Member: "bob", Score: 3}, decode.Element{Member: "eve", Score: 7}),
		zset("limit:alice", time.Minute, 2, named("bob", at(2*time.Second, time.Microsecond)), named("eve", at(time.Second, time.Microsecond))),
		zset("limit:alice", model.Forever, 2, at(2*time.Second, time.Microsecond), at(time.Second, time.Microsecond)),
		zset("feed:alice", time.Hour, 2, named("post:1", at(2*time.Second, time.Millisecond)), named("post:2", at(time.Second, time.Millisecond))),
		zset("presence", 90*time.Second, 2, named("7d287dec-589d-42f9-b066-39510b224d81", at(2*time.Second, time.Millisecond)), named("7d287dec-589d-42f9-b066-39510b224d82", at(time.Second, time.Millisecond))),
		zset("visits", 60_500*time.Millisecond, 2, named("7d287dec-589d-42f9-b066-39510b224d81", at(2*time.Second, time.Microsecond)), named("7d287dec-589d-42f9-b066-39510b224d82", at(time.Second, time.Microsecond))),
		zset("visits", model.Forever, 2, named("7d287dec-589d-42f9-b066-39510b224d81", at(2*time.Second, time.Microsecond)), named("7d287dec-589d-42f9-b066-39510b224d82", at(time.Second, time.Microsecond))),
		zset("bull:mail:delayed", model.Forever, 2, named("7", at(-time.Hour, time.Millisecond)), named("8", at(-2*time.Hour, time.Millisecond))),
	} {
		if l := recognized(s); l != "" {
			t.Errorf("%s (%s %q, %d of %v) is taken for a key of %s", s.Key, s.Type, s.Text, s.Length, s.Fields, l)
		}
	}
}

// TestNodeRecognized: what tells a library's keys from the look-alikes.
func TestNodeRecognized(t *testing.T) {
	minute := limiter.Instant(testNow).Time().Unix() / 60
	events := decode.Sample{Key: fmt.Sprintf("app:events:%d", testNow.Floor(time.Hour).Millis()), Type: "zset", TTL: model.Forever}
	for _, c := range []struct {
		s      decode.Sample
		beside []decode.Sample
		want   string
	}{
		{text("rl:203.0.113.7", "3", time.Minute), nil, "rate-limit-redis"},
		{text("rl:2001:db8:1:100::/56", "3", time.Minute), nil, "rate-limit-redis"},
		{text("rlflx:alice", "-2", time.Minute), nil, "rate-limiter-flexible"},
		{text("rlflx:alice", "3", model.Forever), nil, "rate-limiter-flexible"},
		{text("fastify-rate-limit-POST/orders/:id-203.0.113.7", "3", time.Minute), nil, "fastify-rate-limit"},
		{text("app:hrl:alice", `{"totalHits":3,"resetTime":"2026-11-22T04:36:41.383Z"}`, model.Forever), nil, "hono-rate-limiter"},
		{text("ratelimit:alice", "3", 40*time.Second), []decode.Sample{text("ratelimittemp:alice", "0", 50*time.Second)}, "redis-rate-limiter"},
		{text("ratelimit:alice", "3", 40*time.Second), []decode.Sample{text("ratelimittemp:alice", "0", 30*time.Second)}, ""},
		{text("{"+strings.Repeat("ab", 32)+":short}:blocked", "1", time.Minute), nil, "nest-throttler-storage-redis"},
		{text("app:{"+strings.Repeat("ab", 32)+":short}:hits", "7", time.Minute), nil, "nest-throttler-storage-redis"},
		{text("bull:mail:limiter", "3", time.Minute), nil, "bullmq"},
		{text("bull:mail:limiter:alice", "3", time.Minute), nil, "bull"},
		{text("{app}:q:mail:limiter", "3", time.Minute), []decode.Sample{hash("{app}:q:mail:meta", model.Forever, "version", "bullmq:6.7.0")}, "bullmq"},
		{text("jobs:mail:limiter", "3", time.Minute), []decode.Sample{text("jobs:mail:id", "7", model.Forever), zset("jobs:mail:completed", model.Forever, 1, at(0, time.Millisecond), at(0, time.Millisecond))}, "bullmq"},
		{text("jobs:mail:limiter:u1", "3", time.Minute), []decode.Sample{text("jobs:mail:id", "7", model.Forever), text("jobs:mail:stalled-check", "1795322201123", 30*time.Second)}, "bull"},
		{text("jobs:mail:limiter", "3", time.Minute), []decode.Sample{text("jobs:mail:id", "7", model.Forever)}, ""},
		{text("jobs:mail:limiter:u1", "3", time.Minute), []decode.Sample{hash("jobs:mail:meta", model.Forever, "version", "3")}, ""},
		{text("jobs:mail:limiter", "3", time.Minute), nil, ""},
		{text(fmt.Sprintf("@upstash/ratelimit:alice:%d", minute), "3", 50*time.Second), nil, "upstash-ratelimit"},
		{text(fmt.Sprintf("@upstash/ratelimit:alice:%d", minute), "3", model.Forever), nil, "upstash-ratelimit"},
		{text(fmt.Sprintf("app:alice:%d", minute), "3", 50*time.Second), []decode.Sample{events}, "upstash-ratelimit"},
		{text(fmt.Sprintf("app:alice:%d", minute), "3", 50*time.Second), nil, ""},
		{zset("limit:alice", 59*time.Second, 2, at(2*time.Second, time.Microsecond), at(time.Second, time.Microsecond)), nil, "ratelimiter"},
		{zset("x", 59*time.Second, 2, decode.Element{Member: "1794999999000.25", Score: 1794999999000.25}, decode.Element{Member: "1795000000000", Score: 1795000000000}), nil, "async-ratelimiter"},
		{zset("visits", 59*time.Second, 2, named("7d287dec-589d-42f9-b066-39510b224d81", at(40*time.Second, time.Microsecond)), named("7d287dec-589d-42f9-b066-39510b224d82", at(time.Second, time.Microsecond))), nil, "rolling-rate-limiter"},
		{zset("visits", 59*time.Second, 2, named("7d287dec-589d-42f9-b066-39510b224d81", at(2*time.Second, time.Microsecond)), named("7d287dec-589d-42f9-b066-39510b224d82", at(time.Second, time.Microsecond))), nil, ""}, // it may live for several windows,
		{zset("alice", 59_999*time.Second, 2, at(2*time.Second, time.Microsecond), at(time.Second, time.Microsecond)), nil, ""},                                                                                            // sliding-window-rate-limiter's, or our own log of 16h40m
		{zset("ratelimit:f1.0", 999*time.Second, 2, at(time.Second, time.Microsecond), at(time.Second, time.Microsecond)), nil, ""},
		{zset("ratelimit:f1.0", 999*time.Second, 2, at(9*time.Second, time.Microsecond), at(time.Second, time.Microsecond)), nil, model.OwnLibrary},
		{zset("ratelimit:alice", 3599*time.Second, 2, at(2*time.Second, time.Microsecond), at(time.Second, time.Microsecond)), nil, model.OwnLibrary},
	} {
		if got := recognized(c.s, c.beside...); got != c.want {
			t.Errorf("%s %s %q is of %q, want %q", c.s.Type, c.s.Key, c.s.Text, got, c.want)
		}
	}
}

// TestABareLogIsOursOrLikely: no log that this module can write under a bare id is taken for
// another library's, whatever its window and however close its entries lie.
func TestABareLogIsOursOrLikely(t *testing.T) {
	for _, key := range []string{"f1.0", "alice", "10.0.0.1", "user:1", "7"} {
		for _, window := range append([]time.Duration{100 * time.Second, 1000 * time.Second, 10_000 * time.Second, 60_000 * time.Second}, decode.Periods[:]...) {
			for _, ago := range []time.Duration{0, 5 * time.Millisecond, 500 * time.Millisecond, 900 * time.Millisecond} {
				for _, apart := range []time.Duration{0, time.Millisecond, window / 1000, window / 2} {
					if ago+apart >= window {
						continue
					}
					s := zset(key, window-ago, 2, at(ago+apart, time.Microsecond), at(ago, time.Microsecond))
					if got := recognized(s); got != model.OwnLibrary && got != "" {
						t.Errorf("a log %q of %v, entries %v apart, is taken for a limiter of %s", key, window, apart, got)
					}
				}
			}
		}
	}
}

// TestMicrosecondLogs: a log whose members are their scores in microseconds is the npm ratelimiter's
// where a part of its name is limit, also behind a prefix of the client's own, and that of the
// package limiter under its prefix; else it may be that of any script.
func TestMicrosecondLogs(t *testing.T) {
	old, last := at(9*time.Second, time.Microsecond), at(time.Second, time.Microsecond)
	twice := named(last.Member+"-1", last)
	for _, c := range []struct {
		key  string
		last decode.Element
		want string
	}{
		{"limit:alice", last, "ratelimiter"},
		{"shop:limit:alice", last, "ratelimiter"},
		{"{shop}:prod/limit:alice", last, "ratelimiter"},
		{"shop:hapi-rate-limitor:alice", last, "hapi-rate-limitor"},
		{"shop:limit:alice", twice, ""},
		{"ratelimit:limit:alice", last, model.OwnLibrary},
		{"shop:rate-limit:alice", last, ""},
		{"api:checkout", last, ""},
		{"shop:limits:alice", last, ""},
	} {
		if got := recognized(zset(c.key, 59*time.Second, 2, old, c.last)); got != c.want {
			t.Errorf("%s with %q is taken for a limiter of %q, want %q", c.key, c.last.Member, got, c.want)
		}
	}
}

// TestARollingWindowIsOfWholeSeconds: the expiry of a log is told a moment before the clock, so that a window of a minute may
// seem to be a millisecond shorter.
func TestARollingWindowIsOfWholeSeconds(t *testing.T) {
	for _, ttl := range []time.Duration{59 * time.Second, 59*time.Second - time.Millisecond} {
		s := zset("visits", ttl, 2, named("7d287dec-589d-42f9-b066-39510b224d81", at(40*time.Second, time.Microsecond)),
			named("7d287dec-589d-42f9-b066-39510b224d82", at(time.Second, time.Microsecond)))
		m := Recognizer().Matches(&s, testNow, "rolling-rate-limiter")
		if len(m) == 0 || m[0].Window != time.Minute {
			t.Errorf("with %v to live: %+v, want a window of a minute", ttl, m)
		}
	}
}

// TestNoCountOfConnections: a server that does not count gives no figure.
func TestNoCountOfConnections(t *testing.T) {
	if readLimitConn(&decode.Decoded{}, limiter.Instant(1_795_000_000_000_000), []decode.Sample{{Type: "zset"}}, decode.Settings{}) {
		t.Error("it is read")
	}
}
