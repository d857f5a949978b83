package fire_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/decode"
	"ratescope/feed/fire"
	"ratescope/feed/fire/foreign"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// shoot fires n requests of cost 1 and returns the id of the action. meanwhile, where it is not nil, is
// called after the request with the number at.
func shoot(t *testing.T, i *fire.Injector, key string, target model.Target, n, at int, meanwhile func()) (id string) {
	t.Helper()
	sent := 0
	got, err := i.Fire(t.Context(), model.Order{Key: key, Target: target, Cost: 1, N: n}, func(f model.Fired) {
		id, _, _ = strings.Cut(f.Audit, ".")
		if sent++; sent == at && meanwhile != nil {
			meanwhile()
		}
	})
	if err != nil || got.Admitted+got.Denied != n {
		t.Fatalf("%+v, %v", got, err)
	}
	return id
}

// written is the target of the limiters of a form, under a limit whose window does not end while a test runs.
func written(w *foreign.Writer, limit int64) model.Target {
	window := 500 * time.Hour
	return model.Target{Library: w.Library, Algorithm: w.Algorithm, Limit: limiter.Limit{Count: limit, Window: window}, LimitKnown: true, Window: window, Exact: true}
}

// formOf names a form in a test.
func formOf(w *foreign.Writer) string { return w.Library + " " + w.Algorithm.String() }

// TestTakenBackAsATwin fires beyond the limit at every form that is written as its library does, seeded by
// the same writer, and takes that back, by undo and by withdrawing: every key, its expiry and its DUMP
// are those of a twin at which nothing was fired.
func TestTakenBackAsATwin(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	defer c.Close()
	for _, w := range foreign.All() {
		for how, withdraw := range map[string]bool{"undo": false, "withdraw": true} {
			for _, seeds := range []int{0, 2} {
				t.Run(fmt.Sprintf("%s/%s after %d", formOf(w), how, seeds), func(t *testing.T) {
					c.FlushDB(t.Context())
					target := written(w, 5)
					if seeds > 0 {
						shoot(t, armed(t, s), "k", target, seeds, 0, nil)
					}
					twin := held(t, s)
					i := armed(t, s)
					id := shoot(t, i, "k", target, 7, 0, nil)
					if held(t, s) == twin {
						t.Fatal("seven requests changed nothing")
					}
					if _, err := i.TakeBack(t.Context(), model.TakeBack{Action: id, Withdraw: withdraw}); err != nil {
						t.Fatal(err)
					}
					if got := held(t, s); got != twin {
						t.Errorf("the keys hold\n%s\nand their twin\n%s", got, twin)
					}
				})
			}
		}
	}
}

// TestWithdrawnAmongOthers fires at every form while its own clients count on, as their library writes it: undo
// refuses, and withdrawing takes off its own, so that the keys hold what those of a twin hold at which only the
// others came.
func TestWithdrawnAmongOthers(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	defer c.Close()
	for _, w := range foreign.All() {
		for when, at := range map[string]int{"between": 3, "after the last": 7} {
			t.Run(formOf(w)+"/"+when, func(t *testing.T) {
				c.FlushDB(t.Context())
				target := written(w, 50)
				theirs := armed(t, s)
				others := func() {
					for _, key := range []string{"k", "twin"} {
						shoot(t, theirs, key, target, 2, 0, nil)
					}
				}
				others()
				i := armed(t, s)
				id := shoot(t, i, "k", target, 7, at, others)
				before := held(t, s)
				if _, err := i.TakeBack(t.Context(), model.TakeBack{Action: id}); err == nil || !strings.Contains(err.Error(), "another program") {
					t.Errorf("undone over the requests of others: %v", err)
				}
				if held(t, s) != before {
					t.Error("undo was refused, and the keys were changed")
				}
				u, err := i.TakeBack(t.Context(), model.TakeBack{Action: id, Withdraw: true})
				if err != nil || u.Units != 7 {
					t.Fatalf("%+v, %v, want 7 units", u, err)
				}
				if w.Algorithm.Bursts() {
					sameLeft(t, c, w, target)
				} else {
					sameAmounts(t, c, w, target)
				}
			})
		}
	}
}

// sameLeft holds what is left at k, and when it is as new, to its twin: a key that drains.
func sameLeft(t *testing.T, c *redis.Client, w *foreign.Writer, target model.Target) {
	t.Helper()
	of := func(key string) limiter.Decision {
		r := &foreign.Request{Target: &target, Cost: 1, At: limiter.InstantOf(time.Now())}
		p := c.Pipeline()
		var asked []*decode.Pending
		for _, f := range w.Fetch(key, &target, r.At) {
			asked = append(asked, decode.Ask(t.Context(), p, f))
		}
		if _, err := p.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, a := range asked {
			s, err := a.Sample()
			if err != nil {
				t.Fatal(err)
			}
			r.Held = append(r.Held, s)
		}
		would, err := w.Write(r)
		if err != nil {
			t.Fatal(err)
		}
		return would.Decision
	}
	got, want := of("k"), of("twin")
	if got.Used != want.Used || got.Remaining != want.Remaining || (got.ResetAfter-want.ResetAfter).Abs() > time.Minute { // a unit is 10 hours
		t.Errorf("%+v, and its twin %+v", got, want)
	}
	for _, f := range w.Fetch("k", &target, 0) {
		other := strings.Replace(f.Key, "k", "twin", 1)
		if got, want := c.PTTL(t.Context(), f.Key).Val(), c.PTTL(t.Context(), other).Val(); (got - want).Abs() > time.Minute {
			t.Errorf("%s expires in %v, its twin in %v", f.Key, got, want)
		}
	}
}

// sameAmounts holds the keys of k to those of its twin, which was made at about the same time: how much they
// count, and when they expire.
func sameAmounts(t *testing.T, c *redis.Client, w *foreign.Writer, target model.Target) {
	t.Helper()
	now := limiter.InstantOf(time.Now())
	twins := w.Fetch("twin", &target, now)
	for n, f := range w.Fetch("k", &target, now) {
		if w.Beside != "" && strings.HasSuffix(f.Key, w.Beside) {
			continue // a time, which is no amount
		}
		amount := func(key string) string {
			if f.Type == "list" {
				return fmt.Sprint(c.LLen(t.Context(), key).Val())
			}
			return c.Get(t.Context(), key).Val()
		}
		if got, want := amount(f.Key), amount(twins[n].Key); got != want {
			t.Errorf("%s holds %s, its twin %s", f.Key, got, want)
		}
		got, want := c.PExpireTime(t.Context(), f.Key).Val(), c.PExpireTime(t.Context(), twins[n].Key).Val()
		if (got - want).Abs() > time.Minute { // of 500 hours and more
			t.Errorf("%s expires at %v, its twin at %v", f.Key, got, want)
		}
	}
}

// TestUndoneAlthoughSomeExpired: what was in a log and had expired is trimmed by the first request that is fired,
// and no sign of others: undo puts it back, and refuses where one request of others came.
func TestUndoneAlthoughSomeExpired(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	defer c.Close()
	ctx := t.Context()
	now := int64(s.Now())
	ago := func(d time.Duration) int64 { return now - d.Microseconds() }
	window := 10 * time.Hour
	list := model.Target{Library: "limits", Algorithm: limiter.SlidingLog}
	for name, form := range map[string]struct {
		target model.Target
		seed   func(n int, at int64)
	}{
		"log": {model.Target{Algorithm: limiter.SlidingLog}, func(n int, at int64) {
			c.ZAdd(ctx, "k", redis.Z{Score: float64(at), Member: fmt.Sprintf("%d-%d", at, n)})
		}},
		"stream": {model.Target{Algorithm: limiter.StreamCounter}, func(n int, at int64) {
			c.XAdd(ctx, &redis.XAddArgs{Stream: "k", ID: fmt.Sprintf("%d-%d%015d", at/1000, at%1000+1, n+1), Values: []string{"count", "1", "total", fmt.Sprint(n + 1)}})
		}},
		"list": {list, func(_ int, at int64) { c.LPush(ctx, "k", foreign.ListedAs(limiter.Instant(at))) }},
	} {
		for _, others := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, others), func(t *testing.T) {
				c.FlushDB(ctx)
				target := form.target
				target.Limit, target.LimitKnown, target.Window = limiter.Limit{Count: 6, Window: window}, true, window
				for n, age := range []time.Duration{4 * window, 3 * window, 2 * window, window / 2, window / 4, window / 8} {
					form.seed(n, ago(age))
				}
				c.PExpire(ctx, "k", window)
				twin := held(t, s)
				i, theirs := armed(t, s), armed(t, s)
				id := shoot(t, i, "k", target, 4, 2, func() {
					if others {
						shoot(t, theirs, "k", target, 1, 0, nil)
					}
				})
				if held(t, s) == twin {
					t.Fatal("four requests changed nothing")
				}
				_, err := i.TakeBack(ctx, model.TakeBack{Action: id})
				if others && (err == nil || !strings.Contains(err.Error(), "another program has written")) {
					t.Errorf("undone over a request of others: %v", err)
				}
				if got := held(t, s); !others && (err != nil || got != twin) {
					t.Errorf("%v: the key holds\n%s\nand its twin\n%s", err, got, twin)
				}
			})
		}
	}
}

// TestTakenBackWhereDeniedAreCharged: a limiter that counts denied requests, too, gives them back as the others.
func TestTakenBackWhereDeniedAreCharged(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	defer c.Close()
	for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingWindow, limiter.SlidingLog, limiter.StreamCounter} {
		t.Run(a.String(), func(t *testing.T) {
			c.FlushDB(t.Context())
			limit := limiter.Limit{Count: 5, Window: 500 * time.Hour}
			target := model.Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window, Convention: limiter.Convention{Denied: convention.Charged}}
			theirs := armed(t, s)
			shoot(t, theirs, "k", target, 2, 0, nil)
			twin := held(t, s)
			i := armed(t, s)
			if _, err := i.TakeBack(t.Context(), model.TakeBack{Action: shoot(t, i, "k", target, 7, 0, nil)}); err != nil || held(t, s) != twin {
				t.Errorf("%v: the keys hold\n%s\nand their twin\n%s", err, held(t, s), twin)
			}
			id := shoot(t, i, "k", target, 7, 3, func() { shoot(t, theirs, "k", target, 1, 0, nil) })
			if _, err := i.TakeBack(t.Context(), model.TakeBack{Action: id}); err == nil {
				t.Error("undone over a request of others")
			}
			if u, err := i.TakeBack(t.Context(), model.TakeBack{Action: id, Withdraw: true}); err != nil || u.Units != 7 {
				t.Errorf("%+v, %v, want 7 units", u, err)
			}
		})
	}
}

// TestUndoBesideAnotherRatescope: two ratescopes of one machine fire at a key. An undo over the requests of the
// other names its action and not another program, and is possible once that is taken back.
func TestUndoBesideAnotherRatescope(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	defer c.Close()
	limit := limiter.Limit{Count: 50, Window: 500 * time.Hour}
	target := model.Target{Algorithm: limiter.SlidingLog, Limit: limit, LimitKnown: true, Window: limit.Window}
	path := filepath.Join(t.TempDir(), "audit")
	o := feed.Options{URLs: []string{s.URL()}}
	one, other := patient(t, newRedis(t, o), path), patient(t, newRedis(t, o), path)
	shoot(t, other, "elsewhere", target, 1, 0, nil)
	twin := held(t, s)
	first := shoot(t, one, "k", target, 3, 0, nil)
	second := shoot(t, other, "k", target, 2, 0, nil)
	if _, err := one.TakeBack(t.Context(), model.TakeBack{Action: first}); err == nil || !strings.Contains(err.Error(), "ratescope's action "+second+" has written to k since") ||
		!strings.Contains(err.Error(), "take that back first with ratescope undo "+second) {
		t.Errorf("undone over the action of the other: %v", err)
	}
	for _, id := range []string{second, first} {
		if _, err := one.TakeBack(t.Context(), model.TakeBack{Action: id}); err != nil {
			t.Error(err)
		}
	}
	if got := held(t, s); got != twin {
		t.Errorf("the keys hold\n%s\nand their twin\n%s", got, twin)
	}
	id := shoot(t, one, "k", target, 7, 3, func() { second = shoot(t, other, "k", target, 2, 0, nil) })
	if _, err := one.TakeBack(t.Context(), model.TakeBack{Action: id}); err == nil || !strings.Contains(err.Error(), "ratescope's action "+second+" has written while") {
		t.Errorf("undone over the requests of the other: %v", err)
	}
	if u, err := one.TakeBack(t.Context(), model.TakeBack{Action: id, Withdraw: true}); err != nil || u.Units != 7 {
		t.Errorf("%+v, %v, want 7 units", u, err)
	}
}
