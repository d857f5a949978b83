package limiter_test

import (
	"context"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"ratescope/limiter"
	"ratescope/limiter/limitertest"
)

// TestMain keeps go-redis quiet about the servers that tests take away.
func TestMain(m *testing.M) {
	logging.Disable()
	m.Run()
}

func TestConformance(t *testing.T) {
	real := func(t *testing.T) *redis.Client { return limitertest.Client(t) }
	embedded := func(t *testing.T) *redis.Client {
		client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	resp2 := func(t *testing.T) *redis.Client {
		client := redis.NewClient(&redis.Options{Addr: limitertest.Address(t), Protocol: 2})
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	for _, a := range limiter.Algorithms() {
		t.Run("memory/"+a.String(), func(t *testing.T) {
			limitertest.Run(t, limitertest.Subject{Algorithm: a, New: func(t *testing.T, now func() limiter.Instant, c limiter.Convention) limiter.Limiter {
				return newMemory(t, a, limiter.WithClock(now), limiter.WithConvention(c))
			}})
		})
	}
	t.Run("units", func(t *testing.T) {
		client := real(t)
		limitertest.Run(t, limitertest.Subject{Algorithm: limiter.StreamCounter, New: func(t *testing.T, now func() limiter.Instant, c limiter.Convention) limiter.Limiter {
			if err := client.FlushAll(context.Background()).Err(); err != nil {
				t.Fatal(err)
			}
			return newRedis(t, client, limiter.StreamCounter, limiter.WithClock(now), limiter.WithConvention(c), limiter.WithLayout(limiter.Layout{Units: true}))
		}})
	})
	for name, start := range map[string]func(*testing.T) *redis.Client{"redis": real, "embedded": embedded, "resp2": resp2} {
		t.Run(name, func(t *testing.T) {
			client := start(t)
			for _, a := range limiter.Algorithms() {
				t.Run(a.String(), func(t *testing.T) {
					limitertest.Run(t, limitertest.Subject{Algorithm: a, New: func(t *testing.T, now func() limiter.Instant, c limiter.Convention) limiter.Limiter {
						if err := client.FlushAll(context.Background()).Err(); err != nil {
							t.Fatal(err)
						}
						return newRedis(t, client, a, limiter.WithClock(now), limiter.WithConvention(c))
					}})
				})
			}
		})
	}
}
