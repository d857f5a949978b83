package library

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// testNow is 1,795,000,000.123 s of the Unix epoch, on the server's clock.
const testNow = limiter.Instant(1_795_000_000_123_000)

// recognized returns the name of the library that takes a key for one of its limiters, when each
// of beside is in the database, too; "" for none.
func recognized(s decode.Sample, beside ...decode.Sample) string {
	for _, m := range Recognizer().Matches(&s, testNow, "") {
		if m.Confirmed(found(m.Siblings, append(beside, s)...)) {
			return m.Library.Name
		}
	}
	return ""
}

// found returns what is fetched where these keys are in the database.
func found(fetched []decode.Fetch, held ...decode.Sample) (all []decode.Sample) {
	for _, f := range fetched {
		s := decode.Sample{Key: f.Key, Type: "none"}
		for _, h := range held {
			if h.Key == f.Key && h.Type == f.Type {
				s = h
			}
		}
		all = append(all, s)
	}
	return all
}

func text(key, value string, ttl time.Duration) decode.Sample {
	return decode.Sample{Key: key, Type: "string", Text: value, TTL: ttl, Length: int64(len(value))}
}

func hash(key string, ttl time.Duration, fields ...string) decode.Sample {
	s := decode.Sample{Key: key, Type: "hash", TTL: ttl, Fields: map[string]string{}, Length: int64(len(fields) / 2)}
	for i := 0; i+1 < len(fields); i += 2 {
		s.Fields[fields[i]] = fields[i+1]
	}
	return s
}

func zset(key string, ttl time.Duration, n int64, first, last decode.Element) decode.Sample {
	return decode.Sample{Key: key, Type: "zset", TTL: ttl, Length: n, First: []decode.Element{first}, Last: []decode.Element{last}}
}

func list(key string, ttl time.Duration, n int64, head string) decode.Sample {
	return decode.Sample{Key: key, Type: "list", TTL: ttl, Length: n, First: []decode.Element{{Member: head}}, Last: []decode.Element{{Member: head}}}
}

// TestLookAlikes holds that keys of other programs, and keys whose name, value or expiry does not
// agree with the layout that they resemble, are no limiter of any library.
func TestLookAlikes(t *testing.T) {
	now := float64(testNow) / 1e6
	at := func(ahead float64) string { return fmt.Sprintf("%.6f", now+ahead) }
	second := func(ahead float64) string { return fmt.Sprintf("%.0f", math.Floor(now+ahead)) }
	hex := strings.Repeat("0123456789abcdef", 4)
	for name, s := range map[string]decode.Sample{
		"a cached count":                  text(":1:visits", "5", time.Minute),
		"a one-time code":                 text("otp:4915112345678", "493817", 5*time.Minute),
		"a session":                       text(":1:django.contrib.sessions.cache"+hex[:32], "\x80\x04\x95\x0d\x00\x00\x00\x00\x00\x00\x00}\x94.", time.Hour),
		"a pickled list that is no log":   text(":1:throttle_user_42", "\x80\x04\x95\x0d\x00\x00\x00\x00\x00\x00\x00]\x94G\x3f\xf0\x00\x00\x00\x00\x00\x00a.", time.Minute),
		"a JSON list of old times":        text(":1:throttle_user_42", "["+at(-90)+"]", time.Minute+500*time.Millisecond),
		"times under another name":        text(":1:arrivals", "["+at(-3)+"]", 57*time.Second),
		"a deadline":                      text("lease:42", second(30), 30*time.Second),
		"a mutex of now plus its TTL":     text("mutex:42", at(30), 30*time.Second),
		"a mutex in nanoseconds":          text("mutex:43", fmt.Sprintf("%.0f000", (now+30)*1e6), 30*time.Second),
		"a digest without rl":             text(":1:"+hex, "5", time.Minute),
		"a digest of no version":          text("rl:"+hex, "5", time.Minute),
		"a cached number of Laravel":      text("shop_database_shop_cache:"+hex[:40], "5", time.Minute),
		"Laravel's serialized value":      text("shop_database_shop_cache:"+hex[:40], "s:2:\"ab\";", time.Minute),
		"a timer alone":                   text("oven:timer", second(60), time.Minute),
		"a flag of Rails":                 text("rate-limit:enabled", "1", time.Minute),
		"a config beside Rails":           text("rate-limit:config:max", "100", time.Minute),
		"a count per day":                 text("views:4711:20761111", "12", time.Hour),
		"a named rate":                    text("rate_limit:42:statuses:3", "12", time.Hour),
		"GitLab's settings":               text("application_rate_limiter:project_export:user:42", "12", time.Hour),
		"Sentry's rl with another TTL":    text("rl:"+hex[:32]+":29916666", "5", 23*time.Hour),
		"limits without an id":            text("100/1/minute", "5", 30*time.Second),
		"limits beyond its window":        text("LIMITER/alice/100/1/minute", "5", 2*time.Minute),
		"limits without expiry":           text("LIMITER/alice/100/1/minute", "5", model.Forever),
		"limits with a text":              text("LIMITER/alice/100/1/minute", "five", 30*time.Second),
		"a path with numbers":             text("files/2026/11/minutes", "5", 30*time.Second),
		"an ebook in a list":              list("LIMITER/alice/100/1/minute", 30*time.Second, 3, "chapter one"),
		"a list longer than its limit":    list("LIMITER/alice/2/1/minute", 30*time.Second, 3, at(-1)),
		"a Symfony cache item":            text("Kq2xV8m1rT:"+hex[:40], "\x00\x00\x00\x02\x11\x05hello", time.Minute),
		"Symfony under another name":      text("Kq2xV8m1rT:"+hex[:40], "O:43:\"Symfony\\Component\\RateLimiter\\Policy\\Window\":2:{s:9:\"api-alice\";d:1795000000;s:8:\"\x00\x00\x00\x01\x00\x00\x00\x04\";i:5;}", 4*time.Second),
		"a Laravel lock":                  text("laravel_unique_job:Send:42", "q8hYt2Zk0PwVn3Rb", time.Hour),
		"Celery's retry count":            text("arq:retry:4711", "3", time.Hour),
		"a hash with tokens":              hash("usage:42", time.Hour, "tokens", "17", "model", "large"),
		"a hash of an event":              hash("meeting:42", time.Hour, "start", second(0), "end", second(3600), "count", "12"),
		"a hash with last_refreshed":      hash("wallet:42", time.Hour, "tokens", "3", "last_refreshed", second(-5)),
		"a level of a game":               hash("player:42", time.Hour, "current_level", "3", "last_drip", at(-5)),
		"buckets of the gem ratelimit":    hash("ratelimit:emails:alice", 600*time.Second, fmt.Sprint(int64(now)/5), "3"),
		"a geo set":                       zset("geo:shops", model.Forever, 2, decode.Element{Member: "a", Score: 3479099956230698}, decode.Element{Member: "b", Score: 3479447370796909}),
		"a leaderboard":                   zset("leaderboard:1", model.Forever, 2, decode.Element{Member: "alice", Score: 17}, decode.Element{Member: "bob", Score: 4711}),
		"presence":                        zset("presence", model.Forever, 2, decode.Element{Member: "user:abcdef:1", Score: 1795000000000}, decode.Element{Member: "user:123456:2", Score: 1795000000001}),
		"Sidekiq's schedule":              zset("schedule", model.Forever, 2, decode.Element{Member: `{"class":"A"}`, Score: now + 5}, decode.Element{Member: `{"class":"B"}`, Score: now + 60}),
		"Resque's delayed schedule":       zset("resque:delayed_queue_schedule", model.Forever, 2, decode.Element{Member: second(60), Score: math.Floor(now + 60)}, decode.Element{Member: second(90), Score: math.Floor(now + 90)}),
		"Django's channel layer":          zset("asgi:group:chat", 24*time.Hour, 2, decode.Element{Member: "specific.abc!def", Score: now - 5}, decode.Element{Member: "specific.abc!ghi", Score: now - 1}),
		"statistics of a client":          text("stats:alice", `{"count":0,"lastRequest":"2026-11-18T10:26:40Z","firstRequest":"2026-11-18T10:26:40Z"}`, time.Hour),
		"statistics in another order":     text("stats:alice", `{"firstRequest":"2026-11-18T10:26:40Z","lastRequest":"2026-11-18T10:26:41Z","count":3}`, time.Hour),
		"a first request after the last":  text("stats:alice", `{"count":3,"lastRequest":"2026-11-18T10:26:40Z","firstRequest":"2026-11-18T10:26:41Z"}`, time.Hour),
		"limits of another API's headers": text("ratelimit:github:alice", `{"total":"5000","remaining":"4999","reset":"1795000060000"}`, time.Minute),
		"a reset of a part of a ms":       text("ratelimit:github:alice", `{"total":5000,"remaining":4999,"reset":1795000060000.5}`, time.Minute),
		"more left than in all":           text("ratelimit:github:alice", `{"total":5,"remaining":6,"reset":1795000060000}`, time.Minute),
		"hits below zero":                 text("x:hrl:alice", `{"totalHits":-1,"resetTime":"2026-11-18T10:27:40Z"}`, model.Forever),
		"a cached item of hapi":           text("cache:hapi-rate-limit-user:alice", `{"item":3,"stored":1795000000000,"ttl":0}`, time.Minute),
		"an address behind rate-limit":    text("shop:rate-limit:203.0.113.7", "5", time.Minute),
		"an IPv6 behind rate-limit":       text("rate-limit:2001:db8::7", "5", time.Minute),
		"what several programs count":     text("rate.limit:203.0.113.7", "5", time.Minute),
		"a drip of days ago":              hash("leaky_bucket_limiter:alice", time.Minute, "current_level", "2", "last_drip", at(-3*86400)),
		"a drip that is to come":          hash("leaky_bucket_limiter:alice", time.Minute, "current_level", "2", "last_drip", at(60)),
		"no numbers beside a level":       hash("RLalice", time.Minute, "l", "1795000000000", "b", "1", "dr", "yes", "db", "10000", "p", "0"),
		"Mastodon's home feed":            zset("feed:home:1", model.Forever, 2, decode.Element{Member: "115000000000000001", Score: 115000000000000001}, decode.Element{Member: "115000000000000002", Score: 115000000000000002}),
	} {
		if got := recognized(s); got != "" {
			t.Errorf("%s (%q) is taken for a limiter of %s", name, s.Key, got)
		}
	}
}

// TestSiblingsMustAgree holds that a key that needs another beside it is known with it alone.
func TestSiblingsMustAgree(t *testing.T) {
	const lives = 59*time.Second + 900*time.Millisecond
	after := func(d time.Duration) string { return fmt.Sprint(testNow.Add(d).Millis()) }
	timer := fmt.Sprint(int64(testNow)/1e6 + 60)
	login := text("login|198.51.100.7", "3", lives)
	hits, tokens := text("rl:fw:{alice}", "3", lives), text("rl:tb:{alice}", "3", lives)
	base := "login:" + strings.Repeat("0123456789", 4)
	level := text(base+".bucket_level", "2", lives)
	for _, c := range []struct {
		name        string
		key, beside decode.Sample
		want        string
	}{
		{"together", text(login.Key+":timer", timer, lives), login, "laravel"},
		{"the timer lives longer", text(login.Key+":timer", timer, lives+time.Minute), login, ""},
		{"the timer is of another time", text(login.Key+":timer", "1795000300", lives), login, ""},
		{"a timer without its counter", text(login.Key+":timer", timer, lives), decode.Sample{}, ""},
		{"hits until both expire", hits, text(hits.Key+":exp", after(lives), lives), "aspnetcore-redis-rate-limiting"},
		{"hits until another time", hits, text(hits.Key+":exp", after(time.Hour), lives), ""},
		{"an end that stays", hits, text(hits.Key+":exp", after(lives), model.Forever), ""},
		{"tokens of now", tokens, text(tokens.Key+":ts", after(0), lives), "aspnetcore-redis-rate-limiting"},
		{"tokens of an hour to come", tokens, text(tokens.Key+":ts", after(time.Hour), lives), ""},
		{"a time of tokens that stays", tokens, text(tokens.Key+":ts", after(0), model.Forever), ""},
		{"parts of tokens", text(tokens.Key, "2.5", lives), text(tokens.Key+":ts", after(0), lives), ""},
		{"a level and its time", level, text(base+".last_updated", "1795000000.023", lives), "prorate"},
		{"a level that lives longer", text(level.Key, "2", time.Hour), text(base+".last_updated", "1795000000.023", lives), ""},
	} {
		if got := recognized(c.key, c.beside); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMoreThanARefill: a reservoir may hold more than it is filled to, so that how much of the limit was used is not known.
func TestMoreThanARefill(t *testing.T) {
	s := hash("b_search_settings", model.Forever, "reservoir", "1000", "reservoirRefreshAmount", "100",
		"reservoirRefreshInterval", "60000", "lastReservoirRefresh", fmt.Sprint(testNow.Millis()-1000))
	m := Recognizer().Matches(&s, testNow, "")
	if len(m) != 1 || m[0].Library.Name != "bottleneck" {
		t.Fatalf("recognized as %v", m)
	}
	if d := m[0].Limiter.Decode(testNow, []decode.Sample{s}, decode.Settings{}); d.Err != "" || !d.Partial || d.State.Current != 0 || d.Limit.Count != 100 {
		t.Errorf("%+v", d)
	}
}

// TestOpaqueCounterShowsNothing holds that a limiter that is known and whose window is not has no
// figures, whatever a rule says of its limit.
func TestOpaqueCounterShowsNothing(t *testing.T) {
	s := text(":1:rl:"+strings.Repeat("0123456789abcdef", 4), "6", 9*time.Second)
	if got := recognized(s); got != "django-ratelimit" {
		t.Fatalf("recognized as %q", got)
	}
	given := decode.Settings{Limit: limiter.Limit{Count: 5, Window: 4 * time.Second}, LimitFrom: model.LimitOfRule, Window: 4 * time.Second}
	d := Recognizer().Matches(&s, testNow, "")[0].Limiter.Decode(testNow, []decode.Sample{s}, given)
	r := model.Reading{Key: s.Key, Type: s.Type, At: testNow, State: d.State, Partial: d.Partial, TTL: s.TTL}
	r.Target = model.Target{Algorithm: d.Algorithm, Limit: given.Limit, LimitKnown: true, Window: given.Window}
	if g := r.Gauge(testNow); g.Used.Known || g.Remaining.Known || g.NextKnown || g.Throttled() {
		t.Errorf("used %v, remaining %v, next known %v", g.Used, g.Remaining, g.NextKnown)
	}
}

// TestWindowOfIndex tells windows from the index in a name and the expiry.
func TestWindowOfIndex(t *testing.T) {
	for _, w := range []time.Duration{time.Second, 4 * time.Second, 7 * time.Second, time.Minute, 97 * time.Second, time.Hour, 24 * time.Hour} {
		index := int64(testNow) / w.Microseconds()
		end := limiter.Instant((index + 1) * w.Microseconds())
		for _, fraction := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond} {
			s := text("x", "1", end.Add(time.Second+fraction).Sub(testNow))
			if got, ok := form.WindowUntil(index, &s, testNow); !ok || got != w {
				t.Errorf("windowUntil: %v, %v, want %v", got, ok, w)
			}
		}
		if got, ok := form.WindowWith(index, testNow); !ok || got != w {
			t.Errorf("windowWith: %v, %v, want %v", got, ok, w)
		}
	}
	s := text("x", "1", time.Hour)
	for _, index := range []int64{-1, 0, 498612, math.MaxInt64 - 1} {
		if w, ok := form.WindowUntil(index, &s, testNow); ok {
			t.Errorf("windowUntil(%d) = %v", index, w)
		}
	}
}

// FuzzLibraries holds that no sample makes a decoder panic, or show more left than the limit or
// less than nothing.
func FuzzLibraries(f *testing.F) {
	f.Add("LIMITS:{LIMITER/a/5/4/second}", "3", "1", "1795000000.5", 1.795e9, int64(7000), uint8(0))
	f.Add("throttled:v1:token_bucket:a", "-3", "1795000000", "x", -1.0, int64(-1), uint8(1))
	f.Add("concurrent_limit:a", "", "", "", 1.795e9, int64(-1), uint8(2))
	f.Add("default:l-rate-limit3::42:create_post", "", "1795000000", "", 0.0, int64(7999), uint8(3))
	f.Add("0ee86f3572989d9dbfc461b568428ef4fc9b7d0a", "O:48:\"Symfony\\Component\\RateLimiter\\Policy\\TokenBucket\":2:{s:13:\"\x00\x00\x00\x05api-alice\";i:-4;s:17:\"P0Y0M0DT00H0M1S-2\";d:1795322341.98;}", "", "", 0.0, int64(2999), uint8(0))
	f.Add("LIMITER/a/5/4/second", "", "1795000000", "", 0.0, int64(3999), uint8(3))
	f.Add(":1:throttle_a_b", "x\x9ck`\x99\xca\x0b", "", "", 0.0, int64(2999), uint8(0))
	f.Add("rlflx:alice", "-9007199254740991", "", "", 1.0, int64(-1), uint8(0))
	f.Add("bull:mail:limiter", "9007199254740991", "3", "5000", 1.0, int64(4000), uint8(0))
	f.Add("x:hrl:a", `{"totalHits":9007199254740991,"resetTime":"9999-12-31T23:59:59Z"}`, "", "", 1.0, int64(-1), uint8(0))
	f.Add("@upstash/ratelimit:a:29916666", "3", "x", "y", 5.0, int64(50000), uint8(0))
	f.Add("@upstash/ratelimit:a:29916666", "zbyu5V3KMjSNDykY", "9007199254740991", "y", 5.0, int64(50000), uint8(1))
	f.Add("@upstash/ratelimit:a", "-3", "1795000000000", "y", 5.0, int64(50000), uint8(1))
	f.Add("limit:a", "x", "1795000000000000", "1795000000000001", 1.795e15, int64(4000), uint8(2))
	seedsOfGo(f)
	types := [...]string{"string", "hash", "zset", "list", "stream", "set"}
	f.Fuzz(func(t *testing.T, key, value, other, third string, score float64, ttl int64, typ uint8) {
		s := decode.Sample{Key: key, Type: types[int(typ)%len(types)], Text: value, Length: 3, TTL: time.Duration(min(max(ttl, -1), 1<<40)) * time.Millisecond}
		if ttl < 0 {
			s.TTL = model.Forever
		}
		s.Fields, s.Entry = map[string]string{value: other}, map[string]string{"count": value}
		for _, l := range All() {
			for i, field := range l.Fields {
				s.Fields[field] = [...]string{value, other, third}[i%3]
			}
		}
		s.First = []decode.Element{{Member: other, Score: score}, {Member: third, Score: score}}
		s.Last, s.EntryID, s.Whole = s.First, third, true
		s.Scores = map[string]float64{other: score}
		for _, l := range All() {
			m := l.Recognize(&s, decode.Context{Now: testNow, Named: true})
			if m == nil {
				continue
			}
			beside := make([]decode.Sample, len(m.Siblings))
			for i, f := range m.Siblings {
				beside[i] = s
				beside[i].Key, beside[i].Type = f.Key, f.Type
			}
			if m.Confirmed(beside); m.Limiter == nil {
				continue
			}
			for _, at := range []limiter.Instant{testNow, testNow.Add(time.Hour)} {
				var got []decode.Sample
				for i, f := range m.Limiter.Fetch(at) {
					g := s
					if third == "" { // emptied after it was measured
						g.First, g.Last = nil, nil
					}
					g.Key, g.Type, g.Text = f.Key, f.Type, [...]string{value, other, third}[i%3]
					for range f.Counts {
						g.Counts = append(g.Counts, ttl)
					}
					got = append(got, g)
				}
				given := decode.Settings{Limit: limiter.Limit{Count: 5, Burst: 5, Window: time.Minute}, LimitFrom: model.LimitOfRule, Window: time.Minute}
				d := m.Limiter.Decode(at, got, given)
				r := model.Reading{Key: m.Name, Type: d.Type, At: at, State: d.State, PreviousKnown: d.PreviousKnown, Ends: d.Ends, Partial: d.Partial, Err: d.Err, TTL: d.TTL}
				r.State.Algorithm = d.Algorithm
				r.Target = model.Target{Algorithm: d.Algorithm, Limit: given.Limit, LimitKnown: true, Window: d.Window, Convention: d.Convention, Tick: d.Tick}
				if d.LimitFrom != model.NoLimit {
					r.Target.Limit = d.Limit
				}
				g := r.Gauge(at)
				if g.Remaining.Known && (g.Remaining.N < 0 || g.Remaining.N > model.Capacity(r.Target)) || g.Used.N < 0 || g.Next < 0 {
					t.Errorf("%s: used %v, remaining %v of %d, next %v", l.Name, g.Used, g.Remaining, model.Capacity(r.Target), g.Next)
				}
				for _, v := range [...]float64{g.Utilization, g.Weight, g.Estimate, g.Level, g.Rate, d.State.Level} {
					if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 && v != g.Level {
						t.Errorf("%s: %v in %+v", l.Name, v, g)
					}
				}
				if strings.Contains(d.Err, value) && len(value) > 12 {
					t.Errorf("%s repeats the value in %q", l.Name, d.Err)
				}
			}
		}
	})
}

// TestABlockIsOverItsLimit: a counter of rate-limiter-flexible whose expiry is farther off than its
// window is a block where it is over its limit. Below that, the rule has the wrong window, and
// nothing is denied.
func TestABlockIsOverItsLimit(t *testing.T) {
	for _, c := range []struct {
		value   string
		limit   int64
		blocked bool
	}{{"31", 30, true}, {"30", 30, false}, {"3", 30, false}, {"3", 0, true}} {
		s := text("rlflx:login:a", c.value, 28*time.Minute)
		m := Recognizer().Matches(&s, testNow, "")[0]
		given := decode.Settings{Window: time.Minute, Limit: limiter.Limit{Count: c.limit, Window: time.Minute}}
		if d := m.Limiter.Decode(testNow, []decode.Sample{s}, given); (d.State.BlockedUntil > testNow) != c.blocked {
			t.Errorf("%s of %d that expires in 28 minutes is blocked until %v", c.value, c.limit, d.State.BlockedUntil)
		}
	}
}

// TestOwnLimitersShareAPattern: identify tells the limiters of one use in one group, and not each by
// itself.
func TestOwnLimitersShareAPattern(t *testing.T) {
	for _, name := range []string{"ratelimit:api:export:user-1", "ratelimit:api:export:user-2"} {
		s := text(name, fmt.Sprint(int64(testNow.Add(500*time.Millisecond))), 600*time.Millisecond)
		found := false
		for _, m := range Recognizer().Matches(&s, testNow, "") {
			if m.Library.Name != model.OwnLibrary {
				continue
			}
			found, m.Name = true, name // as the discovery sets it
			if got := m.Pattern(); got != "ratelimit:api:export:*" {
				t.Errorf("the pattern of %s is %s", name, got)
			}
		}
		if !found {
			t.Errorf("%s is not recognized", name)
		}
	}
}
