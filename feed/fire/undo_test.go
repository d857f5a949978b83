package fire_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// held returns what every key of a server holds, with the instant of its expiry.
func held(t *testing.T, s *servertest.Server) string {
	t.Helper()
	c := s.Client()
	defer c.Close()
	ctx := context.Background()
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, k := range keys {
		dump, err := c.Dump(ctx, k).Result()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%q %x %v", k, dump, c.PExpireTime(ctx, k).Val()))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestUndo fires at a limiter of every algorithm that was used before, takes it back, and holds
// every key with its expiry to what it was.
func TestUndo(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	limit := limiter.Limit{Count: 5, Window: 500 * time.Hour} // no window ends while the test runs
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			c := s.Client()
			defer c.Close()
			c.FlushDB(context.Background())
			store, err := redisstore.New(c, a)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.AllowN(context.Background(), "k", limit, 2); err != nil {
				t.Fatal(err)
			}
			before := held(t, s)
			i := armed(t, s)
			id := shoot(t, i, "k", target(a, limit.Count, limit.Window), 7, 0, nil)
			if held(t, s) == before {
				t.Fatal("seven requests changed nothing")
			}
			u, err := i.TakeBack(context.Background(), model.TakeBack{Action: id})
			if err != nil || u.Requests != 7 {
				t.Fatalf("%+v, %v", u, err)
			}
			if after := held(t, s); after != before {
				t.Errorf("the keys hold\n%s\nand held before\n%s", after, before)
			}
			if _, err := i.TakeBack(context.Background(), model.TakeBack{Action: id}); err == nil || !strings.Contains(err.Error(), "already") {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

// TestUndoCountsWhatWrote: requests that the server refused with an error are not among those that are taken back.
func TestUndoCountsWhatWrote(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	i := armed(t, s)
	s.CLI("ZADD", "k", "1", "of another program")
	id, order := "", model.Order{Key: "k", Target: target(limiter.SlidingLog, 5, 500*time.Hour), Cost: 1, N: 3}
	if _, err := i.Fire(t.Context(), order, func(f model.Fired) { id, _, _ = strings.Cut(f.Audit, ".") }); err != nil {
		t.Fatal(err)
	}
	if u, err := i.TakeBack(t.Context(), model.TakeBack{Action: id}); err != nil || u.Requests != 0 {
		t.Errorf("of three requests that failed %+v, %v", u, err)
	}
}

// TestUndoRefuses names what cannot be taken back, and leaves it as it is.
func TestUndoRefuses(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	path := filepath.Join(t.TempDir(), "audit")
	limit := limiter.Limit{Count: 5, Window: 500 * time.Hour} // no window ends while the test runs
	i := patient(t, newRedis(t, feed.Options{URLs: []string{s.URL()}}), path)
	id := shoot(t, i, "k", target(limiter.SlidingLog, limit.Count, limit.Window), 1, 0, nil)
	s.CLI("ZADD", "k", "1", "of another program")
	before := held(t, s)
	for name, c := range map[string]struct {
		i     *fire.Injector
		id    string
		cause string
	}{
		"written since":  {i, id, "another program has written"},
		"unknown id":     {i, "nothing-1", "there is no action"},
		"not armed":      {newRedis(t, feed.Options{URLs: []string{s.URL()}}).Injector(fire.Options{AuditPath: path}), id, "--allow-inject"},
		"another server": {patient(t, newRedis(t, feed.Options{URLs: []string{s.URL() + "/1"}}), path), id, "name that server"},
	} {
		if _, err := c.i.TakeBack(context.Background(), model.TakeBack{Action: c.id}); err == nil || !strings.Contains(err.Error(), c.cause) {
			t.Errorf("%s: %v", name, err)
		}
		if held(t, s) != before {
			t.Errorf("%s: the keys were changed", name)
		}
	}
}

// TestUndoKeepsOthers: requests of another program that come while an action fires are lost by no undo, of
// any algorithm: it refuses and says why, and what is withdrawn then are the action's own.
func TestUndoKeepsOthers(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := context.Background()
	limit := limiter.Limit{Count: 50, Window: 500 * time.Hour} // nothing leaves it while the test runs
	for _, a := range limiter.Algorithms() {
		for when, at := range map[string]int{"between": 3, "last": 7} {
			t.Run(a.String()+"/"+when, func(t *testing.T) {
				c := s.Client()
				defer c.Close()
				c.FlushDB(ctx)
				store, err := redisstore.New(c, a, redisstore.WithPrefix(""))
				if err != nil {
					t.Fatal(err)
				}
				other := func() {
					if d, err := store.AllowN(ctx, "k", limit, 1); err != nil || !d.Allowed {
						t.Errorf("the other program: %+v, %v", d, err)
					}
				}
				other()
				i := armed(t, s)
				id, n := "", 0
				order := model.Order{Key: "k", Target: model.Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window}, Cost: 1, N: 7}
				if _, err := i.Fire(ctx, order, func(f model.Fired) {
					if n++; n == at {
						other()
					}
					id, _, _ = strings.Cut(f.Audit, ".")
				}); err != nil {
					t.Fatal(err)
				}
				before := held(t, s)
				if _, err := i.TakeBack(ctx, model.TakeBack{Action: id}); err == nil || !strings.Contains(err.Error(), "another program has written") || !strings.Contains(err.Error(), "--withdraw") {
					t.Errorf("undone over the request of another program: %v", err)
				}
				if held(t, s) != before {
					t.Error("the keys were changed")
				}
				if u, err := i.TakeBack(ctx, model.TakeBack{Action: id, Withdraw: true}); err != nil || u.Units != 7 {
					t.Errorf("%+v, %v, want 7 units withdrawn", u, err)
				}
				if d, err := store.Peek(ctx, "k", limit, 0); err != nil || d.Used != 2 {
					t.Errorf("%+v, %v: 2 of the other program are to be left", d, err)
				}
			})
		}
	}
}
