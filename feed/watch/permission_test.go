package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// unsaid are commands that no sentence is lost on: what they tell is only asked to be
// cheaper or sooner, and is found out in another way.
var unsaid = map[string]bool{"hello": true, "client": true, "select": true, "command": true, "config|get": true, "dbsize": true, "ping": true, "quit": true}

// words are all sentences of a run about what cannot be told.
func words(r *feedtest.Running) string {
	var all []string
	for _, b := range r.All() {
		all = append(all, b.Server.Lacks...)
		if b.Health != nil {
			all = append(all, b.Health.Missing...)
		}
		if b.HotKeys != nil {
			all = append(all, b.HotKeys.Sources...)
		}
		for _, x := range b.Readings {
			all = append(all, x.Err)
		}
	}
	return strings.Join(all, "\n")
}

// TestEachPermission takes one permission after the other from a user: the link stays, what
// cannot be told is said with the ACL rule that would allow it, and the server is not asked
// again and again.
func TestEachPermission(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, "--maxmemory", "1gb", "--maxmemory-policy", "allkeys-lfu")
	now := s.Now()
	keep := func() {
		s.CLI("ZADD", "log", fmt.Sprint(int64(now)), fmt.Sprint(int64(now)))
		s.CLI("XADD", "stream", "*", "count", "1")
		s.CLI("SET", fmt.Sprintf("{c}:fw:%d", now.Floor(time.Hour).Millis()), "3", "PX", "7200000")
		s.CLI("SET", "single", "3", "EX", "3600")
		s.CLI("SET", "tat", fmt.Sprint(int64(now.Add(time.Hour))), "PX", "3600000")
		s.CLI("HSET", "bucket", "tokens", "3", "at", fmt.Sprint(int64(now)))
	}
	keep()
	open := func(url string) *feedtest.Running {
		r := feedtest.NewRedis(t, feed.Options{URLs: []string{url}, Watch: feedtest.EveryKey, Refresh: 50 * time.Millisecond, Rules: []config.Rule{
			hourRule("stream", limiter.StreamCounter), {Match: "*", Limit: limiter.Limit{Count: 10}, LimitKnown: true}}})
		r.Focus([]string{"stream"})
		return feedtest.Run(t, r)
	}
	commands := s.Monitor()
	all := open(s.URL())
	servertest.Await(t, "all there is to see", func() bool {
		b := all.Last()
		return b.Sweep.Passes > 1 && b.Sweep.Matched == 6 && all.Health() != nil
	})
	all.Stop()
	if said := strings.TrimSpace(words(all)); strings.Contains(said, "ACL") {
		t.Fatalf("with all permissions: %s", said)
	}
	for _, command := range commands() {
		if unsaid[command] {
			continue
		}
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			name := "eye-" + command
			s.CLI("ACL", "SETUSER", name, "on", ">pw", "~*", "&*", "+@all", "-"+command)
			for _, protocol := range []string{"", "?protocol=3"} {
				run := open("redis://" + name + ":pw@" + s.Addr() + protocol)
				servertest.Await(t, "the missing permission", func() bool { return strings.Contains(words(run), "+"+command) })
				awaitLive(t, run)
				run.Stop()
			}
		})
	}
}

// TestARefusalIsNotRepeated: a user who may not ask for INFO and TIME does not ask again with each connection.
func TestARefusalIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("ACL", "SETUSER", "eye", "on", ">pw", "~*", "&*", "+@all", "-info", "-time")
	s.CLI("SET", "rl:user", "3", "EX", "3600")
	p := servertest.StartProxy(t, s.Addr())
	t.Cleanup(p.Close)
	url := "redis://eye:pw@" + p.Listener.Addr().String()
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{url}, Watch: []string{"rl:*"}, Refresh: 50 * time.Millisecond}))
	refused := func(command string) (n int) {
		for line := range strings.SplitSeq(s.CLI("INFO", "commandstats"), "\n") {
			if _, fields, ok := strings.Cut(line, "cmdstat_"+command+":"); ok {
				_, text, _ := strings.Cut(fields, "rejected_calls=")
				_, _ = fmt.Sscanf(text, "%d", &n)
			}
		}
		return n
	}
	next := func() {
		r, _ := run.Reading("rl:user")
		servertest.Await(t, "a reading", func() bool { x, _ := run.Reading("rl:user"); return x.At > r.At })
	}
	p.HangUp()
	next()
	before := map[string]int{"info": refused("info"), "time": refused("time")}
	for range 8 {
		p.HangUp()
		next()
	}
	for command, was := range before {
		const first = 5 // parts that may ask for the first time only now; to ask again with each connection would be eight
		if n := refused(command); was == 0 || n > was+first {
			t.Errorf("%s was refused %d times, and %d times after eight more connections", command, was, n)
		}
	}
}

// TestARefusalIsToldOn: that a user may not ask what stands beside counters is said also after new connections, at which the
// server is greeted again.
func TestARefusalIsToldOn(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("ACL", "SETUSER", "eye", "on", ">pw", "~*", "&*", "+@all", "-exists")
	s.CLI("SET", "single", "3", "EX", "3600")
	p := servertest.StartProxy(t, s.Addr())
	t.Cleanup(p.Close)
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{"redis://eye:pw@" + p.Listener.Addr().String()},
		Watch: feedtest.EveryKey, Refresh: 50 * time.Millisecond,
		Rules: []config.Rule{{Match: "*", Limit: limiter.Limit{Count: 10}, LimitKnown: true}}}))
	for range 4 {
		r, _ := run.Reading("single")
		servertest.Await(t, "a reading, and word of the missing permission", func() bool {
			x, _ := run.Reading("single")
			return x.At > r.At && strings.Contains(strings.Join(run.Last().Server.Lacks, " "), "+exists")
		})
		p.HangUp()
	}
}

// TestCommandsThatAreSwitchedOff are named like those that a user may not run.
func TestCommandsThatAreSwitchedOff(t *testing.T) {
	t.Parallel()
	var off []string
	commands := []string{"INFO", "LATENCY", "SLOWLOG"}
	for _, name := range commands {
		off = append(off, "--rename-command", name, "")
	}
	s := servertest.Start(t, off...)
	r := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: feedtest.EveryKey}))
	servertest.Await(t, "what is switched off", func() bool {
		text := words(r)
		for _, name := range commands {
			if !strings.Contains(text, name+" is not known to this server") {
				return false
			}
		}
		return true
	})
}
