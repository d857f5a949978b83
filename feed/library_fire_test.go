package feed_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/decode/library"
	"ratescope/feed/fire"
	"ratescope/feed/fire/foreign"
	"ratescope/feed/servertest"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// TestExactFormsHaveWriters holds what decoders say can be fired at to what feed/fire can write.
func TestExactFormsHaveWriters(t *testing.T) {
	forms := 0
	for _, l := range library.All() {
		for _, f := range l.Exact {
			forms++
			if foreign.For(&model.Target{Library: l.Name, Algorithm: f.Algorithm}) == nil {
				t.Errorf("%s (%v in a %s) is said to be written exactly, and nothing writes it", l.Name, f.Algorithm, f.Type)
			}
		}
	}
	for _, w := range foreign.All() {
		if l := library.Named(w.Library); l == nil || !l.Writes(w.Algorithm, "none") {
			t.Errorf("%s (%v) has a writer, and its decoder does not say so", w.Library, w.Algorithm)
		}
	}
	if forms != len(foreign.All()) {
		t.Errorf("%d forms, %d writers", forms, len(foreign.All()))
	}
}

// libraryKeys are limiters of other libraries as their first request of the cost 1 leaves them, at an
// instant of the server's clock, under a limit of 5 in a minute.
var libraryKeys = map[string]func(c func(...string) string, now limiter.Instant) (key string){
	"rate-limit-redis": func(c func(...string) string, _ limiter.Instant) string {
		c("SET", "rl:203.0.113.7", "1", "PX", "60000")
		return "rl:203.0.113.7"
	},
	"rate-limiter-flexible": func(c func(...string) string, _ limiter.Instant) string {
		c("SET", "rlflx:alice", "1", "EX", "60")
		return "rlflx:alice"
	},
	"limits": func(c func(...string) string, now limiter.Instant) string {
		c("LPUSH", "LIMITS:LIMITER/alice/5/1/minute", fmt.Sprintf("%.6f", float64(now)/1e6))
		c("EXPIRE", "LIMITS:LIMITER/alice/5/1/minute", "60")
		return "LIMITS:LIMITER/alice/5/1/minute"
	},
	"redis-rate": func(c func(...string) string, now limiter.Instant) string {
		c("SET", "rate:alice", fmt.Sprintf("%.17g", float64(now)/1e6-1483228800+12), "EX", "12")
		return "rate:alice"
	},
	"throttled": func(c func(...string) string, now limiter.Instant) string {
		c("SET", "api:alice", fmt.Sprint((int64(now)+12e6)*1000), "EX", "12")
		return "api:alice"
	},
}

// libraryInjector returns a reading of a key and an injector for its server.
func libraryInjector(t *testing.T, s *servertest.Server, key string) (model.Reading, *fire.Injector) {
	t.Helper()
	o := feed.Options{URLs: []string{s.URL()}, Rules: []config.Rule{{Match: "*", Limit: limiter.Limit{Count: 5, Window: time.Minute}, LimitKnown: true, Window: time.Minute}}}
	_, all := once(t, o)
	r, ok := all[key]
	if !ok {
		t.Fatalf("%s is not recognized", key)
	}
	return r, newRedis(t, o).Injector(fire.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit")})
}

// TestFireAtLibraries recognizes a key of each of several libraries, fires at it beyond its limit, and
// takes that back.
func TestFireAtLibraries(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for name, seed := range libraryKeys {
		t.Run(name, func(t *testing.T) {
			s.CLI("FLUSHALL")
			key := seed(s.CLI, s.Now())
			r, i := libraryInjector(t, s, key)
			target, err := r.Aim()
			if err != nil || target.Library != name || !target.Exact {
				t.Fatalf("%+v, %v", target, err)
			}
			before := held(t, s)
			order := model.Order{Key: key, Target: target, Cost: 1, N: 7}
			if commands, err := i.Preview(context.Background(), order); err != nil || len(commands) == 0 {
				t.Errorf("the commands are %q, %v", commands, err)
			}
			if path := i.Path(order); !strings.Contains(path, name) {
				t.Errorf("the path is %q", path)
			}
			order.Scratch = true
			if got, err := i.Fire(context.Background(), order, nil); err != nil || got != (model.Outcomes{Admitted: 4, Denied: 3}) {
				t.Errorf("at a copy: %+v, %v", got, err)
			}
			if ttl, _ := strconv.Atoi(s.CLI("PTTL", layout.ScratchKey(key))); ttl <= 0 || ttl > 60_000 {
				t.Errorf("the copy expires in %d ms", ttl)
			}
			s.CLI("DEL", layout.ScratchKey(key))
			if after := held(t, s); after != before {
				t.Errorf("beside the copy the keys hold\n%s\nand held before\n%s", after, before)
			}
			order.Scratch = false
			id := ""
			got, err := i.Fire(context.Background(), order, func(f model.Fired) { id, _, _ = strings.Cut(f.Audit, ".") })
			if err != nil || got != (model.Outcomes{Admitted: 4, Denied: 3}) {
				t.Fatalf("%+v, %v", got, err)
			}
			if g := reread(t, s, key); g.Remaining.N != 0 || g.Next == 0 {
				t.Errorf("the decoder then reads %+v", g)
			}
			if u, err := i.Undo(context.Background(), id); err != nil || u.Requests != 7 {
				t.Fatalf("%+v, %v", u, err)
			}
			if after := held(t, s); after != before {
				t.Errorf("the keys hold\n%s\nand held before\n%s", after, before)
			}
		})
	}
}

// reread decodes a key anew.
func reread(t *testing.T, s *servertest.Server, key string) model.Gauge {
	t.Helper()
	r, _ := libraryInjector(t, s, key)
	return r.Gauge(r.At)
}

// TestFireAtALibraryAmongOthers fires while another program counts at the same key: nothing of
// either is lost.
func TestFireAtALibraryAmongOthers(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	key := libraryKeys["rate-limit-redis"](s.CLI, 0)
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
	i := newRedis(t, feed.Options{URLs: []string{s.URL()}}).Injector(fire.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit")})
	limit := limiter.Limit{Count: 5, Window: time.Minute}
	for _, l := range library.All() {
		for _, a := range limiter.Algorithms() {
			if l.Writes(a, "none") || l.Name == model.OwnLibrary {
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
