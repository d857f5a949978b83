package watch_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// trackingClients returns the ids of the connections that track all keys and were last asked for one of the commands.
func trackingClients(s *servertest.Server, commands ...string) (ids []string) {
	for line := range strings.Lines(s.CLI("CLIENT", "LIST")) {
		fields := make(map[string]string)
		for _, f := range strings.Fields(line) {
			name, value, _ := strings.Cut(f, "=")
			fields[name] = value
		}
		if fields["name"] == "ratescope" && strings.Contains(fields["flags"], "B") && slices.Contains(commands, fields["cmd"]) {
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
	id := ""                // of the connection that learns of all writes
	begins := func() bool { // what samples writes subscribes before it tracks keys
		ids := trackingClients(s, "subscribe")
		id = strings.Join(ids, " ")
		return len(ids) == 1
	}
	goesOn := func() bool { return slices.Contains(trackingClients(s, "subscribe", "ping"), id) }
	servertest.Await(t, "a client that learns of writes", begins)
	for range 20 {
		s.CLI("INCR", "elsewhere")
	}
	if !goesOn() {
		t.Errorf("after writes to other keys client %s is gone", id)
	}
	s.CLI("INCR", "rl:user")
	servertest.Await(t, "the request", func() bool { x, _ := run.Reading("rl:user"); return feedtest.Used(x) == 4 })
	if !goesOn() {
		t.Errorf("after a write client %s is gone", id)
	}
	c, ctx := s.Client(), context.Background()
	servertest.Await(t, "its end beside many writes", func() bool {
		c.Eval(ctx, `for n = 1, 5000 do local k = KEYS[1] .. n redis.call('INCR', k) redis.call('DEL', k) end`, []string{"rl:other"})
		return !goesOn()
	})
	servertest.Await(t, "the next one", begins)
	s.CLI("CLIENT", "KILL", "ID", id)
	s.CLI("INCR", "rl:user")
	servertest.Await(t, "the request after it was lost", func() bool { x, _ := run.Reading("rl:user"); return feedtest.Used(x) == 5 })
	servertest.Await(t, "another one", begins)
	run.Stop()
	r.Close()
	servertest.Await(t, "the end of all connections", func() bool { return !strings.Contains(s.CLI("CLIENT", "LIST"), "name=ratescope") })
}
