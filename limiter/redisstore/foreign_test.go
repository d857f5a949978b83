package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
)

// foreignValues are what other programs keep under a key, with an expiry and without.
var foreignValues = map[string]func(context.Context, redis.Cmdable, string){
	"a number": func(ctx context.Context, c redis.Cmdable, k string) { c.Set(ctx, k, 17, 0) },
	"a number that expires": func(ctx context.Context, c redis.Cmdable, k string) {
		c.Set(ctx, k, 17, time.Hour)
	},
	"seconds":     func(ctx context.Context, c redis.Cmdable, k string) { c.Set(ctx, k, 1_795_169_489, 0) },
	"text":        func(ctx context.Context, c redis.Cmdable, k string) { c.Set(ctx, k, "seventeen", 0) },
	"two parts":   func(ctx context.Context, c redis.Cmdable, k string) { c.Set(ctx, k, "17:2:3:4", 0) },
	"a hash":      func(ctx context.Context, c redis.Cmdable, k string) { c.HSet(ctx, k, "name", "Ada", "age", 36) },
	"half a hash": func(ctx context.Context, c redis.Cmdable, k string) { c.HSet(ctx, k, "tokens", 5, "age", 36) },
	"a bucket of seconds": func(ctx context.Context, c redis.Cmdable, k string) {
		c.HSet(ctx, k, "tokens", 5, "level", 5, "at", 1_795_169_489)
	},
	"a leaderboard": func(ctx context.Context, c redis.Cmdable, k string) {
		c.ZAdd(ctx, k, redis.Z{Score: 900, Member: "Ada"}, redis.Z{Score: 1e17, Member: "Charles"})
	},
	"a log of milliseconds": func(ctx context.Context, c redis.Cmdable, k string) {
		now := time.Now().UnixMilli()
		c.ZAdd(ctx, k, redis.Z{Score: float64(now), Member: fmt.Sprint(now)})
		c.PExpire(ctx, k, time.Minute)
	},
	"a log of microseconds": func(ctx context.Context, c redis.Cmdable, k string) {
		now := time.Now().UnixMicro()
		c.ZAdd(ctx, k, redis.Z{Score: float64(now - 5_000_000), Member: "6f0c"}, redis.Z{Score: float64(now - 4_000_000), Member: "7f0c"})
		c.Expire(ctx, k, time.Hour)
	},
	"microseconds": func(ctx context.Context, c redis.Cmdable, k string) { c.Set(ctx, k, time.Now().UnixMicro(), 0) },
	"a bucket with a name": func(ctx context.Context, c redis.Cmdable, k string) {
		c.HSet(ctx, k, "tokens", 3, "level", 3, "at", time.Now().UnixMicro(), "name", "Ada")
		c.Expire(ctx, k, time.Hour)
	},
	"a bucket that stays": func(ctx context.Context, c redis.Cmdable, k string) {
		c.HSet(ctx, k, "tokens", 3, "level", 3, "at", time.Now().UnixMicro())
	},
	"a stream of logins": func(ctx context.Context, c redis.Cmdable, k string) {
		c.XAdd(ctx, &redis.XAddArgs{Stream: k, Values: []any{"event", "login"}})
		c.Expire(ctx, k, time.Hour)
	},
	"a stream of counts": func(ctx context.Context, c redis.Cmdable, k string) {
		c.XAdd(ctx, &redis.XAddArgs{Stream: k, Values: []any{"count", "1"}})
		c.Expire(ctx, k, time.Hour)
	},
	"zero": func(ctx context.Context, c redis.Cmdable, k string) { c.Set(ctx, k, 0, 0) },
	"a log as ours that stays": func(ctx context.Context, c redis.Cmdable, k string) {
		at := time.Now().Add(-800 * 24 * time.Hour).UnixMicro()
		c.ZAdd(ctx, k, redis.Z{Score: float64(at), Member: fmt.Sprint(at)})
	},
	"a live log as ours that stays": func(ctx context.Context, c redis.Cmdable, k string) {
		at := time.Now().Add(-time.Hour).UnixMicro()
		c.ZAdd(ctx, k, redis.Z{Score: float64(at), Member: fmt.Sprint(at)})
	},
	"a stream as ours that stays": func(ctx context.Context, c redis.Cmdable, k string) {
		c.XAdd(ctx, &redis.XAddArgs{Stream: k, Values: []any{"count", "3", "total", "3"}})
	},
	"a stream of units that stays": func(ctx context.Context, c redis.Cmdable, k string) {
		ms := time.Now().UnixMilli()
		c.XAdd(ctx, &redis.XAddArgs{Stream: k, ID: fmt.Sprintf("%d-1000000000000000", ms), Values: []any{"count", "1"}})
	},
	"an empty stream": func(ctx context.Context, c redis.Cmdable, k string) { c.XGroupCreateMkStream(ctx, k, "readers", "$") },
	"a list":          func(ctx context.Context, c redis.Cmdable, k string) { c.RPush(ctx, k, "a", "b") },
	"a set":           func(ctx context.Context, c redis.Cmdable, k string) { c.SAdd(ctx, k, "a", "b") },
	"a stream of events": func(ctx context.Context, c redis.Cmdable, k string) {
		c.XAdd(ctx, &redis.XAddArgs{Stream: k, ID: "1-1", Values: []any{"event", "login", "total", "3"}})
	},
}

// foreignTo reports whether a value is none of the algorithm's.
func foreignTo(v variant, name string) bool {
	counter := v.algorithm == limiter.FixedWindow || v.algorithm == limiter.SlidingWindow
	return !counter || name != "a number that expires"
}

// TestForeignValuesStay puts what other programs keep where a decision would look for its
// state, under every algorithm and variant: each verb refuses it, and neither the value nor
// its expiry is changed.
func TestForeignValuesStay(t *testing.T) {
	t.Parallel()
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			client := servertest.Client(t)
			for _, v := range variants() {
				if v.algorithm == a && (v.layout == (layout.Layout{}) || v.layout.PerUnit) {
					foreignStay(t, client, v)
				}
			}
		})
	}
}

// foreignStay tries every foreign value under one variant.
func foreignStay(t *testing.T, client *redis.Client, v variant) {
	t.Helper()
	ctx := context.Background()
	l := newStore(t, client, v.algorithm, v.options()...)
	for name, put := range foreignValues {
		if !foreignTo(v, name) {
			continue
		}
		key := "user:42"
		on := key
		if v.c.Alignment != convention.FirstRequest {
			on = layout.Keys(v.algorithm, key, yearly, layout.Layout{}, limiter.InstantOf(client.Time(ctx).Val()))[0]
		}
		client.FlushAll(ctx)
		put(ctx, client, on)
		before := dump(t, client)
		for verb, call := range map[string]func() error{
			"AllowN 1": func() error { _, err := l.AllowN(ctx, key, yearly, 1); return err },
			"AllowN 3": func() error { _, err := l.AllowN(ctx, key, yearly, 3); return err },
			"other limit": func() error {
				_, err := l.AllowN(ctx, key, limiter.Limit{Count: 7, Window: yearly.Window}, 2)
				return err
			},
			"Refund": func() error { _, err := l.Refund(ctx, key, yearly, 2); return err },
			"Reset":  func() error { return l.Reset(ctx, key, yearly) },
		} {
			err := call()
			peeked := verb == "Refund" && v.algorithm == limiter.SlidingWindow // reads what is no counter as none
			if !errors.Is(err, limiter.ErrWrongType) && !peeked {
				t.Errorf("%s, %s of %s: %v, want ErrWrongType", v.name, verb, name, err)
			}
			if after := dump(t, client); after != before {
				t.Fatalf("%s, %s of %s changed the server:\n%s\nbefore:\n%s", v.name, verb, name, after, before)
			}
		}
	}
}

// TestResetTakesOnlyItsOwn puts foreign values where a limiter keeps what is beside its
// charges: nothing is removed.
func TestResetTakesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	l := newStore(t, client, limiter.GCRA, redisstore.WithDenials())
	allow(t, l, "k", yearly, 1)
	client.Set(ctx, layout.DeniedKey("k"), "mine", 0)
	before := dump(t, client)
	var wrong *redisstore.WrongTypeError
	if err := l.Reset(ctx, "k", yearly); !errors.As(err, &wrong) || wrong.Key != layout.DeniedKey("k") || wrong.Type != "string" {
		t.Errorf("%v", err)
	}
	if after := dump(t, client); after != before {
		t.Errorf("the server was changed:\n%s\nbefore:\n%s", after, before)
	}
}

// TestForeignValuesStayUnderSeveral does so where the limits of one call keep their states.
func TestForeignValuesStayUnderSeveral(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		l := newStore(t, client, a)
		for name, put := range foreignValues {
			v := variant{algorithm: a}
			if !foreignTo(v, name) {
				continue
			}
			state := layout.OfWindow("user:42", lasting[1].Window)
			client.FlushAll(ctx)
			put(ctx, client, layout.Keys(a, state, lasting[1], layout.Layout{}, limiter.InstantOf(client.Time(ctx).Val()))[0])
			before := dump(t, client)
			for verb, call := range map[string]func() error{
				"AllowKeys":  func() error { _, err := l.AllowKeys(ctx, 1, limiter.OnKey("user:42", lasting...)...); return err },
				"RefundKeys": func() error { _, err := l.RefundKeys(ctx, 1, limiter.OnKey("user:42", lasting[1])...); return err },
				"ResetKeys":  func() error { return l.ResetKeys(ctx, limiter.OnKey("user:42", lasting...)...) },
			} {
				if err := call(); !errors.Is(err, limiter.ErrWrongType) && !(verb == "RefundKeys" && a == limiter.SlidingWindow) {
					t.Errorf("%s, %s of %s: %v, want ErrWrongType", a, verb, name, err)
				}
				if after := dump(t, client); after != before {
					t.Fatalf("%s, %s of %s changed the server:\n%s\nbefore:\n%s", a, verb, name, after, before)
				}
			}
		}
	}
}

// TestForeignValuesBesideStay puts foreign values where denials and blocks are kept: a decision that
// would write there refuses, and so does a reset.
func TestForeignValuesBesideStay(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		for beside, opt := range map[string]redisstore.Option{layout.DeniedKey("k"): redisstore.WithDenials(), layout.BlockedKey("k"): redisstore.WithBlock(time.Hour)} {
			l := newStore(t, client, a, opt)
			for name, put := range foreignValues {
				if name == "a number that expires" {
					continue
				}
				client.FlushAll(ctx)
				for range 5 {
					allow(t, l, "k", yearly, 1)
				}
				put(ctx, client, beside)
				before := client.Dump(ctx, beside).Val() + client.PExpireTime(ctx, beside).String()
				_, denied := l.AllowN(ctx, "k", yearly, 1)
				for verb, err := range map[string]error{"AllowN": denied, "Reset": l.Reset(ctx, "k", yearly)} {
					if !errors.Is(err, limiter.ErrWrongType) {
						t.Errorf("%s, %s with %s at %s: %v, want ErrWrongType", a, verb, name, beside, err)
					}
				}
				if after := client.Dump(ctx, beside).Val() + client.PExpireTime(ctx, beside).String(); after != before {
					t.Errorf("%s: %s at %s was changed", a, name, beside)
				}
			}
		}
	}
}

// TestValuesThatExpire: a value of another program that expires may look like a state, and still never opens a
// limit: what cannot be decided because of it is ErrWrongType, which nothing lets through.
func TestValuesThatExpire(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	last := "18446744073709551615-18446744073709551615"
	add := func(id string, values ...string) func(string) {
		return func(k string) { client.XAdd(ctx, &redis.XAddArgs{Stream: k, ID: id, Values: values}) }
	}
	limit := limiter.Limit{Count: 2, Window: yearly.Window}
	for name, put := range map[string]func(string){
		"no id is left": add(last, "count", "1", "total", "1"),
		"no id is left, and it is empty": func(k string) {
			add(last, "a", "b")(k)
			client.XTrimMaxLen(ctx, k, 0)
		},
		"less than nothing":   add("*", "count", "-1", "total", "-1"),
		"a full total":        add("*", "count", "1", "total", "999999999999999"),
		"no number":           add("*", "count", "x", "total", "x"),
		"a negative total":    add("*", "count", "5", "total", "-9"),
		"an infinite total":   add("*", "count", "1", "total", "inf"),
		"a number of no kind": add("*", "count", "nan", "total", "nan"),
	} {
		for at, a := range map[string]limiter.Algorithm{"k": limiter.StreamCounter, layout.DeniedKey("k"): limiter.GCRA} {
			client.FlushAll(ctx)
			l := newStore(t, client, a, redisstore.WithDenials())
			put(at)
			client.Expire(ctx, at, 400*24*time.Hour)
			admitted := 0
			for range 6 {
				d, err := l.AllowN(ctx, "k", limit, 1)
				if d.Allowed {
					admitted++
				}
				if err != nil && !errors.Is(err, limiter.ErrWrongType) {
					t.Errorf("%s at %q: %v", name, at, err)
				}
			}
			if admitted > 2 {
				t.Errorf("%s at %q: %d of 2 admitted", name, at, admitted)
			}
		}
	}
}

// TestPrefix keeps limiters apart from everything else by default, and takes other prefixes
// or none.
func TestPrefix(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		client.FlushAll(ctx)
		for i, opts := range [][]redisstore.Option{nil, {redisstore.WithPrefix("api:")}, {redisstore.WithPrefix("")}} {
			l, err := redisstore.New(client, a, opts...)
			if err != nil {
				t.Fatal(err)
			}
			if d := allow(t, l, "user:42", yearly, 2); d.Used != 2 {
				t.Errorf("%s, store %d: %d used, want 2: it shares a key with another", a, i, d.Used)
			}
			if all, err := l.AllowKeys(ctx, 3, limiter.OnKey("user:42", lasting...)...); err != nil || all[0].Used != 3 {
				t.Errorf("%s, store %d: %+v, %v", a, i, all, err)
			}
			if all, err := l.PeekKeys(ctx, 0, limiter.OnKey("user:42", lasting...)...); err != nil || all[0].Used != 3 {
				t.Errorf("%s, store %d: a peek at several limits sees %+v, %v", a, i, all, err)
			}
		}
		for _, key := range client.Keys(ctx, "*").Val() {
			if name := "user:42"; len(key) < len(name) {
				t.Errorf("%s keeps %q", a, key)
			}
		}
		if n := len(client.Keys(ctx, "*"+redisstore.DefaultPrefix+"user:42*").Val()); n == 0 {
			t.Errorf("%s: no key has the default prefix: %q", a, client.Keys(ctx, "*").Val())
		}
		l, _ := redisstore.New(client, a)
		if err := l.Reset(ctx, "user:42", yearly); err != nil {
			t.Error(err)
		}
		if err := l.ResetKeys(ctx, limiter.OnKey("user:42", lasting...)...); err != nil {
			t.Error(err)
		}
		if left := client.Keys(ctx, "*"+redisstore.DefaultPrefix+"*").Val(); len(left) > 0 {
			t.Errorf("%s: a reset left %q", a, left)
		}
	}
	long := redisstore.WithPrefix(string(make([]byte, 2000)))
	if _, err := redisstore.New(client, limiter.GCRA, long); !errors.Is(err, limiter.ErrBadRequest) {
		t.Errorf("a prefix of 2,000 bytes: %v", err)
	}
}

// TestChosenKeyBlocksNoOther: under a prefix with a hash tag a client whose name ends as the block of another's does
// not block that one.
func TestChosenKeyBlocksNoOther(t *testing.T) {
	t.Parallel()
	l := newStore(t, servertest.Client(t), limiter.GCRA, redisstore.WithPrefix("{api}:"), redisstore.WithBlock(time.Minute))
	limit := limiter.Limit{Count: 5, Window: time.Hour}
	for range 5 {
		allow(t, l, "alice::blocked", limit, 1)
	}
	if d := allow(t, l, "alice", limit, 1); !d.Allowed {
		t.Errorf("the first request of alice: %+v", d)
	}
}
