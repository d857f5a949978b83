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

// TestANodeThatWasSilentBeginsAnew: what a node did before is not told as the rate of the two seconds in which it came back.
func TestANodeThatWasSilentBeginsAnew(t *testing.T) {
	client := func() *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: servertest.Start(t).Addr()})
		t.Cleanup(func() { c.Close() })
		return c
	}
	a, b := client(), client()
	if _, err := a.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for range 50_000 {
			p.Ping(t.Context())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var c health.Collector
	for i, nodes := range [][]*redis.Client{{a, b}, {b}, {a, b}, {a, b}} {
		e, err := c.Examine(t.Context(), nodes, limiter.Instant(1e15).Add(time.Duration(i)*2*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if e.Health.Nodes != len(nodes) {
			t.Errorf("look %d at %d nodes: the figures are those of %d", i, len(nodes), e.Health.Nodes)
		}
		if ops, want := e.Health.Ops, i == 3; ops.Known != want || ops.V > 1000 {
			t.Errorf("look %d at %d nodes: %+v operations a second", i, len(nodes), ops)
		}
	}
}
