package fire_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/decode/library"
	"ratescope/feed/fire"
	"ratescope/feed/fire/foreign"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// TestWritersHaveLibraries holds what feed/fire can write to the libraries that decoders know.
func TestWritersHaveLibraries(t *testing.T) {
	for _, w := range foreign.All() {
		if library.Named(w.Library) == nil {
			t.Errorf("%s (%v) has a writer, and no decoder knows it", w.Library, w.Algorithm)
		}
	}
}

// libraryKeys are limiters of other libraries as their first request of cost 1 leaves them, under a
// limit of 5 in an hour, so that none ends while a test runs.
var libraryKeys = map[string]func(t *testing.T, s *servertest.Server) (key string){
	"rate-limit-redis": func(t *testing.T, s *servertest.Server) string {
		together(t, s, s.Now(), map[string]any{"rl:203.0.113.7": 1}, time.Hour)
		return "rl:203.0.113.7"
	},
	"rate-limiter-flexible": func(t *testing.T, s *servertest.Server) string {
		together(t, s, s.Now(), map[string]any{"rlflx:alice": 1}, time.Hour)
		return "rlflx:alice"
	},
	"limits": func(t *testing.T, s *servertest.Server) string {
		now := s.Now()
		s.CLI("LPUSH", "LIMITS:LIMITER/alice/5/1/hour", fmt.Sprintf("%.6f", float64(now)/1e6))
		s.CLI("PEXPIREAT", "LIMITS:LIMITER/alice/5/1/hour", fmt.Sprint(now.Add(time.Hour).Millis()))
		return "LIMITS:LIMITER/alice/5/1/hour"
	},
	"laravel": func(t *testing.T, s *servertest.Server) string {
		const key = "shop_database_shop_cache:ac3478d69a3c81fa62e60f5c3696165a4e5e6ac4"
		now := s.Now()
		together(t, s, now, map[string]any{key: 1, key + ":timer": int64(now)/1e6 + 3600}, time.Hour)
		return key
	},
	"hono-rate-limiter": func(t *testing.T, s *servertest.Server) string {
		together(t, s, s.Now(), map[string]any{"hrl:203.0.113.7": 1}, time.Hour)
		return "hrl:203.0.113.7"
	},
	"fastapi-limiter": func(t *testing.T, s *servertest.Server) string {
		together(t, s, s.Now(), map[string]any{"fastapi-limiter:198.51.100.7:/orders:3:0": 1}, time.Hour)
		return "fastapi-limiter:198.51.100.7:/orders:3:0"
	},
	"gin-rate-limit": func(t *testing.T, s *servertest.Server) string {
		now := s.Now()
		together(t, s, now, map[string]any{"192.0.2.1/hits": 1, "192.0.2.1/ts": int64(now) / 1e6}, 2*time.Hour)
		return "192.0.2.1/hits"
	},
	"redis-rate": func(t *testing.T, s *servertest.Server) string {
		now := s.Now()
		together(t, s, now, map[string]any{"rate:alice": fmt.Sprintf("%.17g", float64(now)/1e6-1483228800+720)}, 720*time.Second)
		return "rate:alice"
	},
	"fastify-rate-limit": func(t *testing.T, s *servertest.Server) string {
		together(t, s, s.Now(), map[string]any{"fastify-rate-limit-203.0.113.7": 1}, time.Hour)
		return "fastify-rate-limit-203.0.113.7"
	},
	"limits fixed": func(t *testing.T, s *servertest.Server) string {
		together(t, s, s.Now(), map[string]any{"LIMITS:LIMITER/alice/5/1/hour": 1}, time.Hour)
		return "LIMITS:LIMITER/alice/5/1/hour"
	},
	"limits sliding": func(t *testing.T, s *servertest.Server) string {
		together(t, s, s.Now(), map[string]any{"LIMITS:LIMITER/{alice/5/1/hour}": 1}, 2*time.Hour)
		return "LIMITS:LIMITER/{alice/5/1/hour}"
	},
	"redis-cell": func(t *testing.T, s *servertest.Server) string {
		now := s.Now()
		together(t, s, now, map[string]any{"api:alice": fmt.Sprint((int64(now)+720e6)*1000 + 183)}, 720*time.Second)
		return "api:alice"
	},
	"nest-throttler-storage-redis": func(t *testing.T, s *servertest.Server) string {
		const id = "{5bb01a0b3b8fcfb969835960db696538eff95f516e116af14564049e2cbdda94:default}"
		together(t, s, s.Now(), map[string]any{id + ":hits": 1}, time.Hour)
		return id + ":hits"
	},
	"throttled": func(t *testing.T, s *servertest.Server) string {
		now := s.Now()
		together(t, s, now, map[string]any{"api:alice": fmt.Sprint((int64(now) + 720e6) * 1000)}, 720*time.Second)
		return "api:alice"
	},
}

// libraryInjector returns a reading of a key and an injector for its server.
func libraryInjector(t *testing.T, s *servertest.Server, key string) (model.Reading, *fire.Injector) {
	t.Helper()
	const window = time.Hour
	o := feed.Options{URLs: []string{s.URL()}, Rules: []config.Rule{
		{Match: "*", Limit: limiter.Limit{Count: 5, Window: window}, LimitKnown: true, Window: window},
	}}
	_, all := once(t, o)
	r, recognized := all[key]
	if !recognized {
		t.Fatalf("%s is not recognized", key)
	}
	return r, patient(t, newRedis(t, o), filepath.Join(t.TempDir(), "audit"))
}

// seededInjector does the same for a key that it makes.
func seededInjector(t *testing.T, s *servertest.Server, seed func(*testing.T, *servertest.Server) string) (string, model.Reading, *fire.Injector) {
	t.Helper()
	s.CLI("FLUSHALL")
	key := seed(t, s)
	r, i := libraryInjector(t, s, key)
	return key, r, i
}

// TestFireAtLibraries recognizes a key of each of several libraries, fires at it beyond its limit, and
// takes that back.
func TestFireAtLibraries(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for name, seed := range libraryKeys {
		t.Run(name, func(t *testing.T) {
			key, r, i := seededInjector(t, s, seed)
			target, err := r.Aim()
			if library, _, _ := strings.Cut(name, " "); err != nil || target.Library != library || !target.Exact {
				t.Fatalf("%+v, %v", target, err)
			}
			before := held(t, s)
			order := model.Order{Key: key, Target: target, Cost: 1, N: 7}
			if commands, err := i.Preview(context.Background(), order); err != nil || len(commands) == 0 {
				t.Errorf("the commands are %q, %v", commands, err)
			}
			if path := i.Path(order); !strings.Contains(path, target.Library) {
				t.Errorf("the path is %q", path)
			}
			order.Scratch = true
			if got, err := i.Fire(context.Background(), order, nil); err != nil || got != (model.Outcomes{Admitted: 4, Denied: 3}) {
				t.Errorf("at a copy: %+v, %v", got, err)
			}
			if ttl, _ := strconv.Atoi(s.CLI("PTTL", layout.ScratchKey(key))); ttl <= 0 || ttl > 7_200_000 { // gin-rate-limit and the sliding window of limits keep theirs for two windows
				t.Errorf("the copy expires in %d ms", ttl)
			}
			for _, copied := range strings.Fields(s.CLI("KEYS", "*scratch*")) {
				s.CLI("DEL", copied)
			}
			if after := held(t, s); after != before {
				t.Errorf("beside the copy the keys hold\n%s\nand held before\n%s", after, before)
			}
			order.Scratch = false
			id := ""
			got, err := i.Fire(context.Background(), order, func(f model.Fired) { id, _, _ = strings.Cut(f.Audit, ".") })
			if err != nil || got != (model.Outcomes{Admitted: 4, Denied: 3}) {
				t.Fatalf("%+v, %v", got, err)
			}
			again, _ := libraryInjector(t, s, key)
			if again.Target.Library != target.Library {
				t.Errorf("it is then taken for a key of %s", again.Target.Library)
			}
			if g := again.Gauge(again.At); g.Remaining.N != 0 || g.Next == 0 {
				t.Errorf("the decoder then reads %+v", g)
			}
			if u, err := i.TakeBack(context.Background(), model.TakeBack{Action: id}); err != nil || u.Requests != 7 {
				t.Fatalf("%+v, %v", u, err)
			}
			if after := held(t, s); after != before {
				t.Errorf("the keys hold\n%s\nand held before\n%s", after, before)
			}
		})
	}
	if stats := s.CLI("INFO", "errorstats"); strings.Contains(stats, "NOSCRIPT") {
		t.Errorf("the server was asked for scripts that it does not know: %s", stats)
	}
}

// TestFireOverASlowLink: the key of every library is still known as its own after requests over a slow link.
func TestFireOverASlowLink(t *testing.T) {
	t.Parallel()
	for name, seed := range libraryKeys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t)
			key, r, _ := seededInjector(t, s, seed)
			target, err := r.Aim()
			if err != nil {
				t.Fatal(err)
			}
			p := servertest.StartProxy(t, s.Addr())
			t.Cleanup(p.Close)
			p.Set(func(p *servertest.Proxy) { p.Delay = 300 * time.Millisecond })
			i := patient(t, newRedis(t, feed.Options{URLs: []string{"redis://" + p.Listener.Addr().String()}}), filepath.Join(t.TempDir(), "audit"))
			got, err := i.Fire(t.Context(), model.Order{Key: key, Target: target, Cost: 1, N: 1}, nil)
			if err != nil || got.Admitted != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			if again, _ := libraryInjector(t, s, key); again.Target.Library != target.Library {
				t.Errorf("it is then taken for a key of %q", again.Target.Library)
			}
		})
	}
}

// together sets strings that expire at the same instant, so long after at: a relation between a value that
// was made at that instant and the expiry holds however late the server gets them.
func together(t *testing.T, s *servertest.Server, at limiter.Instant, values map[string]any, lives time.Duration) {
	t.Helper()
	c := s.Client()
	defer c.Close()
	if _, err := c.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
		for k, v := range values {
			p.Set(t.Context(), k, v, 0)
			p.PExpireAt(t.Context(), k, at.Add(lives).Time())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestFireAtAMember names one of the keys that are one limiter: what is written are the keys of that
// limiter, and no others.
func TestFireAtAMember(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for _, member := range []string{"{alice}.ts", "{alice}.tokens"} {
		s.CLI("FLUSHALL")
		now := s.Now()
		together(t, s, now, map[string]any{"{alice}.tokens": 3, "{alice}.ts": int64(now) / 1e6}, 1000*time.Second)
		limit := limiter.Limit{Count: 1, Window: time.Second, Burst: 500}
		o := feed.Options{URLs: []string{s.URL()}, Keys: []string{member}, Rules: []config.Rule{{Match: "*", Limit: limit, LimitKnown: true, Window: time.Second}}}
		_, all := once(t, o)
		r := all[member]
		target, err := r.Aim()
		if err != nil {
			t.Fatal(err)
		}
		i := patient(t, newRedis(t, o), filepath.Join(t.TempDir(), "audit"))
		before := held(t, s)
		id := ""
		got, err := i.Fire(context.Background(), model.Order{Key: member, Target: target, Cost: 501, N: 1}, func(f model.Fired) { id, _, _ = strings.Cut(f.Audit, ".") })
		if err != nil || got != (model.Outcomes{Denied: 1}) {
			t.Fatalf("%s: %+v, %v", member, got, err)
		}
		if held(t, s) == before || s.CLI("DBSIZE") != "2" {
			t.Errorf("%s: the keys are %s", member, s.CLI("KEYS", "*"))
		}
		if _, err := i.TakeBack(context.Background(), model.TakeBack{Action: id}); err != nil || held(t, s) != before {
			t.Errorf("%s: undo: %v\n%s\nand held before\n%s", member, err, held(t, s), before)
		}
	}
}

// TestFireAtALibraryAmongOthers fires while another program counts at the same key: nothing of
// either is lost.
func TestFireAtALibraryAmongOthers(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	key := libraryKeys["rate-limit-redis"](t, s)
	r, i := libraryInjector(t, s, key)
	target, err := r.Aim()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var others sync.WaitGroup
	c := s.Client()
	defer c.Close()
	var theirs int64
	others.Go(func() {
		for ctx.Err() == nil {
			if c.Incr(context.Background(), key).Err() == nil {
				theirs++
			}
		}
	})
	got, err := i.Fire(context.Background(), model.Order{Key: key, Target: target, Cost: 1, N: 200}, nil)
	stop()
	others.Wait()
	if err != nil || got.Admitted+got.Denied+got.Failed != 200 {
		t.Fatalf("%+v, %v", got, err)
	}
	if n, want := s.CLI("GET", key), fmt.Sprint(1+theirs+int64(got.Admitted+got.Denied)); n != want {
		t.Errorf("the counter is %s, want %s: %d of others and %+v of ours", n, want, theirs, got)
	}
}

// TestFireRefusesOtherLibraries: where no exact write is known nothing is fired, and the sentence
// says what to do; a library whose requests have no cost takes none.
func TestFireRefusesOtherLibraries(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	i := armed(t, s)
	limit := limiter.Limit{Count: 5, Window: time.Minute}
	for _, l := range library.All() {
		for _, a := range limiter.Algorithms() {
			if foreign.Writes(l.Name, a, "none") || l.Name == model.OwnLibrary {
				continue
			}
			target := model.Target{Library: l.Name, Algorithm: a, Limit: limit, LimitKnown: true, Window: time.Minute}
			if _, err := i.Fire(context.Background(), model.Order{Key: "k", Target: target, Cost: 1, N: 1}, nil); err == nil || !strings.Contains(err.Error(), "--url") {
				t.Errorf("%s, %v: %v", l.Name, a, err)
			}
			r := model.Reading{Type: "string", Target: target}
			if _, err := r.Aim(); err == nil || !strings.Contains(err.Error(), "--url") {
				t.Errorf("%s, %v: %v", l.Name, a, err)
			}
		}
	}
	target := model.Target{Library: "rate-limit-redis", Algorithm: limiter.FixedWindow, Limit: limit, LimitKnown: true, Window: time.Minute}
	if _, err := i.Fire(context.Background(), model.Order{Key: "k", Target: target, Cost: 2, N: 1}, nil); err == nil || !strings.Contains(err.Error(), "no cost") {
		t.Errorf("a cost of 2: %v", err)
	}
	if n := s.CLI("DBSIZE"); n != "0" {
		t.Errorf("there are %s keys", n)
	}
}
