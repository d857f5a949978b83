package fire_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// changing are an injector and a limiter of an algorithm on the same emptied server, which has
// used 4 of 10 units of the key k.
func changing(t *testing.T, s *servertest.Server, a limiter.Algorithm) (*fire.Injector, *redisstore.Store, model.Order) {
	t.Helper()
	c := s.Client()
	t.Cleanup(func() { c.Close() })
	c.FlushDB(context.Background())
	store, err := redisstore.New(c, a, redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	limit := limiter.Limit{Count: 10, Window: 500 * time.Hour} // nothing leaves it while the test runs
	for range 4 {
		if d, err := store.AllowN(context.Background(), "k", limit, 1); err != nil || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	i := armed(t, s)
	return i, store, model.Order{Key: "k", Target: model.Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window}}
}

// TestChange frees a key, and gives it room, for every algorithm; undo leaves key, expiry and DUMP
// as they were, once.
func TestChange(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		for change, left := range map[model.Change]int64{{Kind: model.Free}: 0, {Kind: model.Give, Units: 3}: 1, {Kind: model.Give, Units: 20}: 0} {
			t.Run(a.String()+" "+change.String(), func(t *testing.T) {
				i, store, order := changing(t, s, a)
				before := held(t, s)
				order.Change = change
				done, err := i.Change(ctx, order)
				if err != nil || done.Action == "" {
					t.Fatalf("%+v, %v", done, err)
				}
				if d, err := store.Peek(ctx, "k", order.Target.Limit, 0); err != nil || d.Used != left {
					t.Errorf("%d used, %v, want %d", d.Used, err, left)
				}
				if change.Kind == model.Give && done.Units != 4-left {
					t.Errorf("%d units were given, want %d", done.Units, 4-left)
				}
				if _, err := i.TakeBack(ctx, model.TakeBack{Action: done.Action, Withdraw: true}); err == nil || !strings.Contains(err.Error(), "without --withdraw") {
					t.Errorf("withdrawn: %v", err)
				}
				if u, err := i.TakeBack(ctx, model.TakeBack{Action: done.Action}); err != nil || u.Change != change.String() {
					t.Fatalf("%+v, %v", u, err)
				}
				if after := held(t, s); after != before {
					t.Errorf("the keys hold\n%s\nand held before\n%s", after, before)
				}
				if _, err := i.TakeBack(ctx, model.TakeBack{Action: done.Action}); err == nil || !strings.Contains(err.Error(), "already") {
					t.Errorf("a second time: %v", err)
				}
			})
		}
	}
}

// TestChangeRefuses: what is not armed, out of range or unknown changes nothing, and what others
// have written since is not undone, with the difference shown.
func TestChangeRefuses(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := context.Background()
	i, store, order := changing(t, s, limiter.SlidingLog)
	before := held(t, s)
	readOnly := newRedis(t, feed.Options{URLs: []string{s.URL()}}).Injector(fire.Options{AuditPath: filepath.Join(t.TempDir(), "audit")})
	byHand := newRedis(t, feed.Options{URLs: []string{s.URL()}}).Injector(fire.Options{Armed: true, ByHand: true, Timeout: servertest.Patience, AuditPath: filepath.Join(t.TempDir(), "audit")})
	armed := newRedis(t, feed.Options{URLs: []string{s.URL()}}).Injector(fire.Options{Armed: true, ByHand: true, Timeout: servertest.Patience, AuditPath: filepath.Join(t.TempDir(), "audit")})
	if err := armed.Arm(ctx); err != nil {
		t.Fatal(err)
	}
	unknown := order
	unknown.Target.LimitKnown = false
	for cause, c := range map[string]struct {
		i      *fire.Injector
		order  model.Order
		change model.Change
	}{
		"--allow-inject":           {readOnly, order, model.Change{Kind: model.Free}},
		"not armed":                {byHand, order, model.Change{Kind: model.Free}},
		"changed without a ticket": {armed, order, model.Change{Kind: model.Free}},
		"0 units are out":          {i, order, model.Change{Kind: model.Give}},
		"block of 48h":             {i, order, model.Change{Kind: model.Block, For: 48 * time.Hour}},
		"nothing to change":        {i, order, model.Change{}},
		"limit is not known":       {i, unknown, model.Change{Kind: model.Free}},
	} {
		c.order.Change = c.change
		if _, err := c.i.Change(ctx, c.order); err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("%v, want it to say %q", err, cause)
		}
		if after := held(t, s); after != before {
			t.Fatalf("%s: the keys were changed", cause)
		}
	}
	order.Change = model.Change{Kind: model.Free}
	if _, err := i.Fire(ctx, order, nil); err == nil {
		t.Error("a change was fired")
	}
	done, err := i.Change(ctx, order)
	if err != nil || len(done.Removed) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := store.AllowN(ctx, "k", order.Target.Limit, 2); err != nil {
		t.Fatal(err)
	}
	since := held(t, s)
	if _, err := i.TakeBack(ctx, model.TakeBack{Action: done.Action}); err == nil || !strings.Contains(err.Error(), "it held nothing after it, and holds zset, 2 members") {
		t.Errorf("undone over the requests of others: %v", err)
	}
	if held(t, s) != since {
		t.Error("the requests of others are gone")
	}
}

// TestBlock blocks a key whose limiter looks for blocks, and ends the block; undo puts back what
// was there.
func TestBlock(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := context.Background()
	i, _, order := changing(t, s, limiter.GCRA)
	c := s.Client()
	defer c.Close()
	store, err := redisstore.New(c, limiter.GCRA, redisstore.WithPrefix(""), redisstore.WithConvention(limiter.Convention{Block: time.Minute}))
	if err != nil {
		t.Fatal(err)
	}
	allowed := func() bool {
		t.Helper()
		d, err := store.Peek(ctx, "k", order.Target.Limit, 1)
		if err != nil {
			t.Fatal(err)
		}
		return d.Allowed
	}
	change := func(c model.Change) model.Changed {
		t.Helper()
		order.Change = c
		done, err := i.Change(ctx, order)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	undo := func(id string) {
		t.Helper()
		if _, err := i.TakeBack(ctx, model.TakeBack{Action: id}); err != nil {
			t.Fatal(err)
		}
	}
	free := held(t, s)
	block := change(model.Change{Kind: model.Block, For: time.Hour})
	if allowed() {
		t.Error("a blocked key admits")
	}
	blocked := held(t, s)
	if ttl := c.PTTL(ctx, layout.BlockedKey("k")).Val(); ttl <= 30*time.Minute || ttl > time.Hour {
		t.Errorf("the block lasts %v", ttl)
	}
	end := change(model.Change{Kind: model.Unblock})
	if !allowed() || held(t, s) != free {
		t.Error("the block goes on")
	}
	undo(end.Action)
	if allowed() || held(t, s) != blocked {
		t.Error("the block is not back as it was")
	}
	undo(block.Action)
	if !allowed() || held(t, s) != free {
		t.Error("something is left of the block")
	}
}
