package hotkeys

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"ratescope/internal/servertest"
)

// undisturbed switches off what connect.Open switches off: go-redis races with itself where a
// client and a connection of its own negotiate it at once.
var undisturbed = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

// startServer starts a server and returns a client that speaks RESP3.
func startServer(t testing.TB, args ...string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: servertest.Start(t, args...).Addr(), Protocol: 3, MaxRetries: -1, DisableIdentity: true, MaintNotificationsConfig: undisturbed})
	t.Cleanup(func() { c.Close() })
	return c
}
