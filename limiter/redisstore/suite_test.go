package redisstore_test

import (
	"context"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/limiter/limitertest"
	"ratescope/limiter/redisstore"
)

// TestMain keeps go-redis quiet about the servers that tests take away.
func TestMain(m *testing.M) {
	logging.Disable()
	m.Run()
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			conform(t, servertest.Client(t), a)
		})
	}
	t.Run("units", func(t *testing.T) {
		t.Parallel()
		conform(t, servertest.Client(t), limiter.StreamCounter, redisstore.WithLayout(layout.Layout{PerUnit: true}))
	})
}

func TestConformanceElsewhere(t *testing.T) {
	t.Parallel()
	embedded := func(t *testing.T) *redis.Client {
		client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	resp2 := func(t *testing.T) *redis.Client {
		client := redis.NewClient(&redis.Options{Addr: servertest.Start(t).Addr(), Protocol: 2})
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	for name, start := range map[string]func(*testing.T) *redis.Client{"embedded": embedded, "resp2": resp2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, a := range limiter.Algorithms() {
				t.Run(a.String(), func(t *testing.T) {
					t.Parallel()
					conform(t, start(t), a)
				})
			}
		})
	}
}

// conform runs the whole suite on an empty server.
func conform(t *testing.T, client *redis.Client, a limiter.Algorithm, opts ...redisstore.Option) {
	limitertest.Run(t, limitertest.Subject{Algorithm: a, New: func(t *testing.T, now func() limiter.Instant, c limiter.Convention) limiter.Limiter {
		if err := client.FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		return newStore(t, client, a, append(opts, redisstore.WithClock(now), redisstore.WithConvention(c))...)
	}})
}
