package watch_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestIdleServerIsLeftAlone: where nothing is written, keys on screen are looked at now and then
// and no more, writes are sampled rarely, and the keyspace is not gone through; a request is
// seen all the same.
func TestIdleServerIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("SET", "rl:user", "3", "EX", "3600")
	rule := config.Rule{Match: "rl:*", Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 100, Window: time.Hour}, LimitKnown: true}
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"rl:*"}, Rules: []config.Rule{rule}, Refresh: 400 * time.Millisecond})
	r.Focus([]string{"rl:user"})
	run := feedtest.Run(t, r)
	var read, asked, told, pinged, scanned int
	servertest.Await(t, "ten refreshes with some looks, but few, and little listening", func() bool {
		before := [...]int{calls(s, "getrange"), calls(s, "info"), calls(s, "client|tracking"), calls(s, "ping"), calls(s, "scan")}
		batches := run.Count()
		servertest.Await(t, "ten refreshes", func() bool { return run.Count() >= batches+10 })
		read, asked = calls(s, "getrange")-before[0], calls(s, "info")-before[1]
		told, pinged, scanned = calls(s, "client|tracking")-before[2], calls(s, "ping")-before[3], calls(s, "scan")-before[4]
		return read > 0 && read <= 6 && told <= 6 && pinged <= 10 && scanned == 0 && asked <= 8
	})
	t.Logf("in ten refreshes: %d GETRANGE, %d INFO, %d CLIENT TRACKING, %d PING, %d SCAN", read, asked, told, pinged, scanned)
	for i := range int64(3) {
		s.CLI("INCR", "rl:user")
		servertest.Await(t, "the request", func() bool { x, _ := run.Reading("rl:user"); return feedtest.Used(x) == 3+i+1 })
	}
	s.CLI("SET", "rl:other", "3", "EX", "3600")
	servertest.Await(t, "a new key", func() bool { _, ok := run.Reading("rl:other"); return ok })
}

// TestCounterThatLostItsExpiry: a counter without expiry is found where a rule or a pattern names it,
// and among all keys where it is written and called as limiters are; other numbers are not.
func TestCounterThatLostItsExpiry(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	c := s.Client()
	ctx := context.Background()
	c.Set(ctx, "throttle:login", 150, 0)
	c.Set(ctx, "throttle:search", 3, time.Hour)
	c.Set(ctx, "rl:still", 7, 0)
	c.Set(ctx, "app:version", 12, 0)
	c.Set(ctx, "visitors", 4711, 0)
	hour := config.Rule{Match: "*", Limit: limiter.Limit{Count: 100, Window: time.Hour}, LimitKnown: true}

	// Spoken of.
	_, got := feedtest.Once(t, feed.Options{URLs: []string{s.URL()}, Watch: []string{"throttle:*"}, Rules: []config.Rule{hour}})
	r, ok := got["throttle:login"]
	if !ok {
		t.Fatalf("with a pattern for it, found were only %d keys", len(got))
	}
	if g := r.Gauge(r.At); !g.Stuck || g.Next != limiter.Never || g.Used.N != 150 || r.TTL != model.Forever {
		t.Errorf("the gauge is %+v with TTL %v, want 150 used of a window that never ends", g, r.TTL)
	}
	named := hour
	named.Match = "throttle:l*"
	if _, got = feedtest.Once(t, feed.Options{URLs: []string{s.URL()}, Rules: []config.Rule{named, hour}}); got["throttle:login"].Key == "" || len(got) != 2 {
		t.Errorf("with a rule for it, found were %d keys", len(got))
	}

	// Written.
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Rules: []config.Rule{hour}}))
	servertest.Await(t, "the counter that expires", func() bool { _, ok := run.Reading("throttle:search"); return ok })
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.Tick(10 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick:
				for _, k := range []string{"throttle:login", "app:version", "visitors"} {
					c.Incr(ctx, k)
				}
			}
		}
	}()
	defer func() { close(stop); <-done }()
	servertest.Await(t, "the counter that lost its expiry", func() bool { return run.Came("throttle:login", true) > 10 })
	for _, k := range []string{"app:version", "visitors", "rl:still"} {
		if _, ok := run.Reading(k); ok {
			t.Errorf("%s is taken for a limiter", k)
		}
	}
}

// TestCounterThatOutlivesItsWindow: near the end of its life such a counter looks as if it
// had just begun, and the rate that this would make is not told.
func TestCounterThatOutlivesItsWindow(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	begin := func() { s.CLI("SET", "rl:user", "47000", "PX", "3000") }
	begin()
	rule := config.Rule{Match: "rl:*", Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 20_000, Window: time.Second}, LimitKnown: true}
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"rl:user"}, Rules: []config.Rule{rule}, Refresh: 50 * time.Millisecond}))
	late := false
	servertest.Await(t, "the end of the counter's life", func() bool {
		x, ok := run.Reading("rl:user")
		late = late || ok && x.TTL > 0 && x.TTL < time.Second
		if ok && x.TTL > 0 && (x.Gauge(x.At).RateKnown || !slices.Contains(x.Notes, model.Outlives)) {
			t.Fatalf("%v before its end: %+v, notes %v", x.TTL, x.Gauge(x.At), x.Notes)
		}
		if ok && x.Type == "none" && !late { // the machine stood still for the end of its life
			begin()
		}
		return late
	})
}

// calls returns how often a server was asked a command.
func calls(s *servertest.Server, command string) int {
	_, rest, found := strings.Cut(s.CLI("INFO", "commandstats"), "cmdstat_"+command+":calls=")
	if !found {
		return 0
	}
	n, _ := strconv.Atoi(strings.SplitN(rest, ",", 2)[0])
	return n
}
