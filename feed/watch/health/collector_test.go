package health_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/watch/health"
	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// TestRefusedIsAskedAgain after some minutes, and not before: the user may be permitted meanwhile what was refused.
func TestRefusedIsAskedAgain(t *testing.T) {
	s := servertest.Start(t)
	s.CLI("ACL", "SETUSER", "eye", "on", ">pw", "~*", "+@all", "-slowlog")
	client := redis.NewClient(&redis.Options{Addr: s.Addr(), Username: "eye", Password: "pw"})
	defer client.Close()
	var c health.Collector
	missing := func(at time.Duration) int {
		e, err := c.Examine(t.Context(), []*redis.Client{client}, limiter.Instant(1e15).Add(at))
		if err != nil {
			t.Fatal(err)
		}
		return len(e.Health.Missing)
	}
	if n := missing(0); n != 1 {
		t.Fatalf("%d commands are missing, one was refused", n)
	}
	s.CLI("ACL", "SETUSER", "eye", "+slowlog")
	for _, look := range []struct {
		at   time.Duration
		want int
	}{{2 * time.Second, 1}, {4 * time.Minute, 1}, {6 * time.Minute, 0}} {
		if n := missing(look.at); n != look.want {
			t.Errorf("%d commands are missing %v after one was refused and permitted, want %d", n, look.at, look.want)
		}
	}
}
