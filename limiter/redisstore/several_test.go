package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
)

type severalLimiter interface {
	limiter.Limiter
	AllowKeys(ctx context.Context, n int64, parts ...limiter.KeyLimit) ([]limiter.Decision, error)
	PeekKeys(ctx context.Context, n int64, parts ...limiter.KeyLimit) ([]limiter.Decision, error)
	RefundKeys(ctx context.Context, n int64, parts ...limiter.KeyLimit) ([]limiter.Decision, error)
	ResetKeys(ctx context.Context, parts ...limiter.KeyLimit) error
}

var pair = []limiter.Limit{{Count: 3, Window: time.Second}, {Count: 7, Window: time.Minute}}

// lasting are two limits for tests on the server's own clock, with windows as long as that of yearly.
var lasting = []limiter.Limit{{Count: 3, Window: 100 * 24 * time.Hour}, {Count: 7, Window: limiter.MaxWindow}}

// TestSeveral charges several limits in one go, or none of them, on both stores alike.
func TestSeveral(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	for _, a := range limiter.Algorithms() {
		now := far
		clock := func() limiter.Instant { return now }
		stores := map[string]severalLimiter{
			"memory": newMemory(t, a, limiter.WithClock(clock)),
			"redis":  newStore(t, client, a, redisstore.WithClock(clock), redisstore.WithDenials()),
		}
		for name, l := range stores {
			now = far
			ctx := context.Background()
			admitted := 0
			for range 3 {
				for range 5 {
					all, err := l.AllowKeys(ctx, 1, limiter.OnKey("api", pair...)...)
					if err != nil {
						t.Fatalf("%s on %s: %v", a, name, err)
					}
					d := limiter.Combine(all)
					if d.Allowed != (all[0].Allowed && all[1].Allowed) {
						t.Fatalf("%+v", d)
					}
					if d.Allowed {
						admitted++
					} else if d.RetryAfter <= 0 {
						t.Errorf("%s on %s: denied without a wait: %+v", a, name, d)
					}
				}
				now = now.Add(2 * time.Second)
			}
			if admitted != 7 {
				t.Errorf("%s on %s: %d admitted in 6 s, want 3 + 3 + 1", a, name, admitted)
			}
			all, err := l.AllowKeys(ctx, 0, limiter.OnKey("api", pair...)...)
			if err != nil || all[0].Used != 0 || all[1].Remaining != 0 {
				t.Errorf("%s on %s: afterwards %+v, %v", a, name, all, err)
			}
		}
		ctx := context.Background()
		if got := client.XLen(ctx, layout.DeniedKey("api")).Val(); got != 8 {
			t.Errorf("%s: %d denials recorded, want 8", a, got)
		}
		for name, l := range stores {
			if err := l.ResetKeys(ctx, limiter.OnKey("api", pair...)...); err != nil {
				t.Errorf("%s on %s: %v", a, name, err)
			}
			all, err := l.AllowKeys(ctx, 1, limiter.OnKey("api", pair...)...)
			if err != nil || all[0].Used != 1 || all[1].Used != 1 {
				t.Errorf("%s on %s: after a reset %+v, %v", a, name, all, err)
			}
		}
		client.FlushAll(context.Background())
	}
}

// TestSeveralAgrees walks both stores through the same random requests.
func TestSeveralAgrees(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, a := range limiter.Algorithms() {
		rng := rand.New(rand.NewPCG(seed, 4))
		now := far
		clock := func() limiter.Instant { return now }
		m, r := newMemory(t, a, limiter.WithClock(clock)), newStore(t, client, a, redisstore.WithClock(clock))
		for step := range 300 {
			now = now.Add(time.Duration(rng.IntN(700)+1) * time.Millisecond)
			n := rng.Int64N(9)
			ask := func(l severalLimiter) ([]limiter.Decision, error) {
				switch {
				case step%7 == 3:
					return l.RefundKeys(context.Background(), n, limiter.OnKey("k:"+a.String(), pair...)...)
				case step%7 == 5:
					return l.PeekKeys(context.Background(), n, limiter.OnKey("k:"+a.String(), pair...)...)
				}
				return l.AllowKeys(context.Background(), n, limiter.OnKey("k:"+a.String(), pair...)...)
			}
			want, err1 := ask(m)
			got, err2 := ask(r)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if a == limiter.FixedWindow {
				want[0].Previous, want[1].Previous = 0, 0
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s step %d cost %d\nredis  %+v\nmemory %+v", a, step, n, got, want)
			}
		}
	}
}

// TestCostsAlike: whatever a request costs, both stores decide alike or refuse it alike.
func TestCostsAlike(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		for _, count := range []int64{0, 20_000, limiter.MaxCount} {
			limit := limiter.Limit{Count: count, Window: limiter.MaxWindow}
			clock := func() limiter.Instant { return far }
			m, r := newMemory(t, a, limiter.WithClock(clock)), newStore(t, client, a, redisstore.WithClock(clock))
			for _, n := range []int64{9_999, 10_000, 10_001, 20_000, 20_001, 1_000_000, limiter.MaxCount, limiter.MaxCount + 1} {
				key := fmt.Sprint(a, count, n)
				want, err1 := m.AllowN(ctx, key, limit, n)
				got, err2 := r.AllowN(ctx, key, limit, n)
				if errors.Is(err1, limiter.ErrBadRequest) != errors.Is(err2, limiter.ErrBadRequest) || (err1 == nil) != (err2 == nil) || got.Allowed != want.Allowed || got.Used != want.Used {
					t.Errorf("%s, %d of %d: redis %+v, %v; memory %+v, %v", a, n, count, got, err2, want, err1)
				}
			}
		}
	}
}

// TestChangedLimitsAlike: what a limit that changes makes of a key is the same on both stores, as docs/settings.md
// says; but for counters whose windows of the new length begin at another instant, which have other names.
func TestChangedLimitsAlike(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	for _, a := range limiter.Algorithms() {
		clock := func() limiter.Instant { return far.Floor(time.Hour).Add(10 * time.Second) }
		m, r := newMemory(t, a, limiter.WithClock(clock)), newStore(t, client, a, redisstore.WithClock(clock))
		for i, to := range []limiter.Limit{{Count: 50, Window: time.Minute}, {Count: 200, Window: time.Minute}, {Count: 100, Window: 30 * time.Second}} {
			key := fmt.Sprint(a, i)
			for range 2 {
				allow(t, m, key, limiter.Limit{Count: 100, Window: time.Minute}, 30)
				allow(t, r, key, limiter.Limit{Count: 100, Window: time.Minute}, 30)
			}
			for _, n := range []int64{0, 1, 45, 1} {
				want, got := allow(t, m, key, to, n), allow(t, r, key, to, n)
				if want.Previous = got.Previous; !reflect.DeepEqual(got, want) {
					t.Errorf("%s, from 100/1m to %+v, cost %d:\nredis  %+v\nmemory %+v", a, to, n, got, want)
				}
			}
		}
	}
}

func TestSeveralRefuses(t *testing.T) {
	t.Parallel()
	m := newMemory(t, limiter.GCRA)
	ctx := context.Background()
	for _, limits := range [][]limiter.Limit{nil, make([]limiter.Limit, 17), {pair[0], pair[0]}, {{Count: -1, Window: time.Second}}} {
		if _, err := m.AllowKeys(ctx, 1, limiter.OnKey("k", limits...)...); !errors.Is(err, limiter.ErrBadRequest) {
			t.Errorf("%d limits: %v", len(limits), err)
		}
		if _, err := m.RefundKeys(ctx, 1, limiter.OnKey("k", limits...)...); !errors.Is(err, limiter.ErrBadRequest) {
			t.Errorf("refund of %d limits: %v", len(limits), err)
		}
		if err := m.ResetKeys(ctx, limiter.OnKey("k", limits...)...); !errors.Is(err, limiter.ErrBadRequest) {
			t.Errorf("reset of %d limits: %v", len(limits), err)
		}
	}
}

// TestSlotsApart decides about keys in different slots of a cluster: no limit is passed, and what was
// charged to one key is given back when another denies, also while many ask.
func TestSlotsApart(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	client := universal(t, &redis.UniversalOptions{Addrs: []string{nodes[0].Addr()}, IsClusterMode: true})
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		apart := newStore(t, client, a, redisstore.WithDenials())
		first, second := onNodes(t, apart)
		address := limiter.KeyLimit{Key: first, Limit: limiter.Limit{Count: 20, Window: limiter.MaxWindow}}
		user := limiter.KeyLimit{Key: second, Limit: limiter.Limit{Count: 12, Window: limiter.MaxWindow}}
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 6 {
					all, err := apart.AllowKeys(ctx, 1, address, user)
					if err != nil {
						t.Errorf("%s: %v", a, err)
					} else if limiter.Combine(all).Allowed {
						admitted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		all, err := apart.PeekKeys(ctx, 0, address, user)
		if err != nil || all[0].Used != admitted.Load() || all[1].Used != admitted.Load() || admitted.Load() > 12 || admitted.Load() == 0 {
			t.Errorf("%s: %d admitted of 12, and charged are %+v, %v", a, admitted.Load(), all, err)
		}
		for admitted.Load() < 12 { // a unit that was on its way back may have denied some
			if all, err := apart.AllowKeys(ctx, 1, address, user); err != nil || !limiter.Combine(all).Allowed {
				t.Fatalf("%s: %+v, %v", a, all, err)
			}
			admitted.Add(1)
		}
		all, err = apart.AllowKeys(ctx, 1, address, user)
		if err != nil || limiter.Combine(all).Allowed || !all[0].Allowed || all[0].Used != 12 || all[1].Allowed || all[1].RetryAfter <= 0 {
			t.Errorf("%s: a denial by the second key: %+v, %v", a, all, err)
		}
		if n, m := client.XLen(ctx, layout.DeniedKey(first)).Val(), client.XLen(ctx, layout.DeniedKey(second)).Val(); n != 0 || m == 0 {
			t.Errorf("%s: %d denials at the key that admitted, %d at the one that denied", a, n, m)
		}
		together, err := redisstore.New(client, a, redisstore.WithPrefix("{api}:"))
		if err != nil {
			t.Fatal(err)
		}
		before := client.ClusterKeySlot(ctx, "{api}").Val()
		if all, err = together.AllowKeys(ctx, 1, address, user); err != nil || !limiter.Combine(all).Allowed {
			t.Errorf("%s: under a prefix with a tag: %+v, %v", a, all, err)
		}
		if n := client.ClusterCountKeysInSlot(ctx, int(before)).Val(); n < 2 {
			t.Errorf("%s: %d keys in the slot of the prefix", a, n)
		}
		flushAll(t, client)
	}
}

// TestOneNodeOfSeveral: where one of the nodes of a request under several limits does not answer, the error names
// that node, and no other that refuses its part: a breaker would take it for an answer.
func TestOneNodeOfSeveral(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartCluster(t, 3)
	client := universal(t, &redis.UniversalOptions{Addrs: []string{nodes[0].Addr()}, IsClusterMode: true})
	l := newStore(t, client, limiter.GCRA, redisstore.WithPrefix("p:"))
	onNodes(t, l) // waits until the nodes are known
	var frozen, healthy []string
	for i := range 40 {
		if key := fmt.Sprint("k", i); l.Node(key) == nodes[1].Addr() {
			frozen = append(frozen, key)
		} else {
			healthy = append(healthy, key)
		}
	}
	client.RPush(context.Background(), layout.OfWindow("p:"+healthy[1], endless.Window), "of another program")
	nodes[1].Freeze()
	defer nodes[1].Thaw()
	for _, key := range frozen[:5] {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, err := l.AllowKeys(ctx, 1, limiter.KeyLimit{Key: key, Limit: endless}, limiter.KeyLimit{Key: healthy[0], Limit: endless})
		cancel()
		var at interface{ Node() string }
		if !errors.As(err, &at) || at.Node() != nodes[1].Addr() {
			t.Errorf("key %s: %v, want one of %s", key, err, nodes[1].Addr())
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // for the answer of the healthy node
	defer cancel()
	_, err := l.AllowKeys(ctx, 1, limiter.KeyLimit{Key: healthy[1], Limit: endless}, limiter.KeyLimit{Key: frozen[5], Limit: endless})
	if !errors.Is(err, limiter.ErrUnknownOutcome) || errors.Is(err, limiter.ErrWrongType) {
		t.Errorf("beside a refusal: %v, want that there was no answer", err)
	}
}

// TestSeveralWithoutKey: an empty key is refused by every verb, on both stores.
func TestSeveralWithoutKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, l := range []severalLimiter{newMemory(t, limiter.GCRA), newStore(t, answering(""), limiter.GCRA)} {
		_, allow := l.AllowKeys(ctx, 1, limiter.OnKey("", pair...)...)
		_, peek := l.PeekKeys(ctx, 1, limiter.OnKey("", pair...)...)
		_, refund := l.RefundKeys(ctx, 1, limiter.OnKey("", pair...)...)
		for _, err := range []error{allow, peek, refund, l.ResetKeys(ctx, limiter.OnKey("", pair...)...)} {
			if !errors.Is(err, limiter.ErrBadRequest) {
				t.Errorf("%T: %v", l, err)
			}
		}
	}
}
