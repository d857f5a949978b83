package hot

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/servertest"
)

// startServer starts a server and returns a client that speaks RESP3.
func startServer(t testing.TB, args ...string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: servertest.Start(t, args...).Addr(), Protocol: 3, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { c.Close() })
	return c
}
