package watch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// trackingClients returns the ids of the connections that learn of all writes: they track all keys,
// and the last that they asked for was to be told, or a ping.
func trackingClients(s *servertest.Server) (ids []string) {
	for line := range strings.Lines(s.CLI("CLIENT", "LIST")) {
		fields := make(map[string]string)
		for _, f := range strings.Fields(line) {
			name, value, _ := strings.Cut(f, "=")
			fields[name] = value
		}
		if fields["name"] == "ratescope" && strings.Contains(fields["flags"], "B") && (fields["cmd"] == "subscribe" || fields["cmd"] == "ping") {
			ids = append(ids, fields["id"])
		}
	}
	return ids
}

// TestWritesAreAnnounced: one connection learns of the writes to the keys that are watched, whatever is written elsewhere. Where
// there are too many it hangs up, and comes back when there are few. When it is lost, requests are seen all the same.
func TestWritesAreAnnounced(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("SET", "rl:user", "3", "EX", "3600")
	rule := config.Rule{Match: "rl:*", Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 100, Window: time.Hour}, LimitKnown: true}
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"rl:*"}, Rules: []config.Rule{rule}})
	r.Focus([]string{"rl:user"})
	run := feedtest.Run(t, r)
	waits := func() bool { return len(trackingClients(s)) == 1 }
	servertest.Await(t, "a client that learns of writes", waits)
	id := trackingClients(s)[0]
	for range 20 {
		s.CLI("INCR", "elsewhere")
	}
	if now := trackingClients(s); len(now) != 1 || now[0] != id {
		t.Errorf("after writes to other keys the waiting client is %v, was %s", now, id)
	}
	s.CLI("INCR", "rl:user")
	servertest.Await(t, "the request", func() bool { x, _ := run.Reading("rl:user"); return feedtest.Used(x) == 4 })
	if now := trackingClients(s); len(now) != 1 || now[0] != id {
		t.Errorf("after a write the waiting client is %v, was %s", now, id)
	}
	c, ctx := s.Client(), context.Background()
	servertest.Await(t, "its end beside many writes", func() bool {
		c.Eval(ctx, `for n = 1, 5000 do local k = KEYS[1] .. n redis.call('INCR', k) redis.call('DEL', k) end`, []string{"rl:other"})
		return len(trackingClients(s)) == 0
	})
	servertest.Await(t, "the next one", waits)
	s.CLI("CLIENT", "KILL", "ID", trackingClients(s)[0])
	s.CLI("INCR", "rl:user")
	servertest.Await(t, "the request after it was lost", func() bool { x, _ := run.Reading("rl:user"); return feedtest.Used(x) == 5 })
	servertest.Await(t, "another one", waits)
	run.Stop()
	r.Close()
	servertest.Await(t, "the end of all connections", func() bool { return !strings.Contains(s.CLI("CLIENT", "LIST"), "name=ratescope") })
}
