package limiter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/limitertest"
)

// TestCluster runs the whole suite on a cluster, where everything that a decision touches
// has to be in one slot.
func TestCluster(t *testing.T) {
	client := limitertest.Cluster(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			limitertest.Run(t, limitertest.Subject{Algorithm: a, New: func(t *testing.T, now func() limiter.Instant, c limiter.Convention) limiter.Limiter {
				if err := client.FlushAll(ctx).Err(); err != nil {
					t.Fatal(err)
				}
				return newRedis(t, client, a, limiter.WithClock(now), limiter.WithConvention(c))
			}})
		})
		l := newRedis(t, client, a, limiter.WithDenials(), limiter.WithBlock(time.Minute))
		for _, key := range []string{"user:42", "{user:42}:api", "a{b}c{d}"} {
			for range 7 {
				allow(t, l, key, minute, 1)
			}
			if n := client.XLen(ctx, limiter.DeniedKey(key)).Val(); n != 2 {
				t.Errorf("%s, key %q: %d denials recorded, want 2", a, key, n)
			}
			together := newRedis(t, client, a, limiter.WithDenials())
			if all, err := together.AllowAll(ctx, key, 1, pair...); err != nil || !limiter.Together(all).Allowed {
				t.Errorf("%s, key %q: several limits: %v", a, key, err)
			}
			if err := l.Reset(ctx, key); err != nil {
				t.Errorf("%s, key %q: reset: %v", a, key, err)
			}
		}
	}
	l := newRedis(t, client, limiter.SlidingLog, limiter.WithDenials())
	if _, err := l.AllowN(ctx, "a}", minute, 1); err == nil || !strings.Contains(err.Error(), "hash tag") {
		t.Errorf("a key whose slot no other name has: %v", err)
	}
}

// FuzzParseLimit reads whatever is typed: what is accepted means the same when it is
// written out again.
func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"100/1m", "100/60s", "10/s", "5/500ms", "1/2d", "", "/", "100/", "-5/1m", "10/0s", "1/1e9s", "9223372036854775807/9999999d", "１/s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := limiter.ParseLimit(s)
		if err != nil {
			return
		}
		again, err := limiter.ParseLimit(fmt.Sprintf("%d/%v", l.Count, l.Window))
		if err != nil || again != l {
			t.Fatalf("%q is %+v, which is read back as %+v, %v", s, l, again, err)
		}
	})
}
