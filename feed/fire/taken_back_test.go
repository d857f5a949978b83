package fire_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"ratescope/feed/fire"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// TestEveryAlgorithmTakenBackAsATwin fires at a limiter of every algorithm and of other libraries and takes that
// back, by undo and by withdrawing: every key, its expiry and its DUMP are those of a twin at which
// nothing was fired.
func TestEveryAlgorithmTakenBackAsATwin(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	limit := limiter.Limit{Count: 5, Window: 500 * time.Hour} // no window ends while the test runs
	type subject struct {
		injector *fire.Injector
		order    model.Order
	}
	subjects := map[string]func(t *testing.T) subject{}
	for _, a := range limiter.Algorithms() {
		subjects[a.String()] = func(t *testing.T) subject {
			c := s.Client()
			defer c.Close()
			store, err := redisstore.New(c, a, redisstore.WithPrefix(""))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.AllowN(context.Background(), "k", limit, 2); err != nil {
				t.Fatal(err)
			}
			i := armed(t, s)
			return subject{i, model.Order{Key: "k", Target: model.Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window}}}
		}
	}
	for name, seed := range libraryKeys {
		subjects[name] = func(t *testing.T) subject {
			key, r, i := seededInjector(t, s, seed)
			target, err := r.Aim()
			if err != nil {
				t.Fatal(err)
			}
			return subject{i, model.Order{Key: key, Target: target}}
		}
	}
	for name, make := range subjects {
		for how, withdraw := range map[string]bool{"undo": false, "withdraw": true} {
			t.Run(name+"/"+how, func(t *testing.T) {
				s.CLI("FLUSHALL")
				sub := make(t)
				twin := held(t, s)
				sub.order.Cost, sub.order.N = 1, 7
				id := ""
				if _, err := sub.injector.Fire(context.Background(), sub.order, func(f model.Fired) { id, _, _ = strings.Cut(f.Audit, ".") }); err != nil {
					t.Fatal(err)
				}
				if held(t, s) == twin {
					t.Fatal("seven requests changed nothing")
				}
				if _, err := sub.injector.TakeBack(context.Background(), model.TakeBack{Action: id, Withdraw: withdraw}); err != nil {
					t.Fatal(err)
				}
				if got := held(t, s); got != twin {
					t.Errorf("the keys hold\n%s\nand their twin\n%s", got, twin)
				}
			})
		}
	}
}

// TestWithdrawMendsTheExpiry: what another program wrote before the requests and what it writes
// during them decides how long a log lives afterwards, and not the requests that were taken back.
func TestWithdrawMendsTheExpiry(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	defer c.Close()
	ctx := context.Background()
	limit := limiter.Limit{Count: 50, Window: 10 * time.Minute}
	store, err := redisstore.New(c, limiter.SlidingLog, redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	organic := func() {
		t.Helper()
		if d, err := store.AllowN(ctx, "k", limit, 1); err != nil || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	i := armed(t, s)
	order := model.Order{Key: "k", Target: model.Target{Algorithm: limiter.SlidingLog, Limit: limit, LimitKnown: true, Window: limit.Window}, Cost: 1, N: 7}
	organic()
	id := ""
	if _, err := i.Fire(ctx, order, func(f model.Fired) {
		if id == "" {
			organic() // during the order
		}
		id, _, _ = strings.Cut(f.Audit, ".")
	}); err != nil {
		t.Fatal(err)
	}
	newest := func() (at int64) { // the score of the newest member in milliseconds
		t.Helper()
		list, err := c.ZRangeWithScores(ctx, "k", -1, -1).Result()
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		return int64(list[0].Score) / 1000
	}
	lives := c.PExpireTime(ctx, "k").Val().Milliseconds() - newest()
	u, err := i.TakeBack(ctx, model.TakeBack{Action: id, Withdraw: true})
	if err != nil || u.Units != 7 {
		t.Fatalf("%+v, %v", u, err)
	}
	if got := c.PExpireTime(ctx, "k").Val().Milliseconds() - newest(); got != lives {
		t.Errorf("the log lives %d ms from its newest member, which is of the other program, and lived %d from its own", got, lives)
	}
	if n := s.CLI("ZCARD", "k"); n != "2" {
		t.Errorf("%s members are left, want 2", n)
	}
}
