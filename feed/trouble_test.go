package feed_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/inject"
	"ratescope/feed/rules"
	"ratescope/feed/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestBusyServer runs a script that does not end: the link is down in words, and up again
// when the script is killed.
func TestBusyServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, "--busy-reply-threshold", "100")
	s.CLI("XADD", "k", "*", "count", "1")
	run := runSource(t, newRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"k"}, Refresh: 50 * time.Millisecond}))
	servertest.Await(t, "the first reading", func() bool { _, ok := run.reading("k"); return ok })
	c := s.Client()
	go c.Do(context.Background(), "EVAL", "while true do end", "0")
	servertest.Await(t, "word of the script", func() bool {
		b := run.last()
		return b.Server.Link == model.Down && strings.Contains(b.Server.Err, "busy with a script")
	})
	s.CLI("SCRIPT", "KILL")
	servertest.Await(t, "the link", func() bool { return run.last().Server.Link == model.Live })
}

// TestFiringWhereNothingIsWritten fires at a server out of memory, at a replica, at a key
// of another type, as a user who may not, and at nothing: each outcome is an error with
// a sentence, and a shot ends after a few.
func TestFiringWhereNothingIsWritten(t *testing.T) {
	t.Parallel()
	full := servertest.Start(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	master := servertest.Start(t)
	replica := servertest.Start(t, "--replicaof", "127.0.0.1", strconv.Itoa(master.Port))
	servertest.Await(t, "the replica to be in sync", func() bool { return strings.Contains(replica.CLI("INFO", "replication"), "master_link_status:up") })
	master.CLI("SET", "k", "hello")
	master.CLI("ACL", "SETUSER", "eye", "on", ">pw", "~*", "+@read")
	dead := servertest.Start(t)
	dead.Kill()
	for name, c := range map[string]struct {
		url, key, want string
	}{
		"out of memory": {full.URL(), "f", "out of memory"},
		"a replica":     {replica.URL(), "f", "replica"},
		"another type":  {master.URL(), "k", "holds a string"},
		"not permitted": {"redis://eye:pw@" + master.Addr(), "f", "must not fire"},
		"nobody there":  {dead.URL(), "f", "nothing listens"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRedis(t, feed.Options{URLs: []string{c.url}})
			i := r.Injector(inject.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit")})
			var said string
			tally, err := i.Fire(context.Background(), model.Shot{Key: c.key, Target: target(limiter.SlidingLog, 5, time.Minute), Cost: 1, N: 100}, func(f model.Fired) {
				said = f.Err
			})
			if tally.Failed != inject.GiveUp || tally.Total() > inject.GiveUp+1 || err == nil || !strings.Contains(err.Error(), "stopped after") {
				t.Errorf("%+v, %v: want it to stop after %d failures", tally, err, inject.GiveUp)
			}
			if !strings.Contains(said, c.want) || strings.Contains(said, "\n") {
				t.Errorf("the outcome says %q, want %q", said, c.want)
			}
		})
	}
}

// TestAnUnansweredRequestIsNotSentAgain swallows the answers of a server: each request is
// counted there once, and its outcome is unknown here.
func TestAnUnansweredRequestIsNotSentAgain(t *testing.T) {
	s := servertest.Start(t)
	p := servertest.StartProxy(t, s.Addr())
	defer p.Close()
	r := newRedis(t, feed.Options{URLs: []string{"redis://" + p.Listener.Addr().String()}})
	i := r.Injector(inject.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit"), Timeout: 150 * time.Millisecond})
	shot := model.Shot{Key: "k", Target: target(limiter.SlidingLog, 100, time.Minute), Cost: 1, N: 1}
	if tally, err := i.Fire(context.Background(), shot, nil); err != nil || tally.Admitted != 1 {
		t.Fatalf("%+v, %v", tally, err)
	}
	p.Set(func(p *servertest.Proxy) { p.Drop = true })
	shot.N = 3
	tally, err := i.Fire(context.Background(), shot, nil)
	if err != nil || tally.Unanswered+tally.Failed != 3 || tally.Unanswered < 1 {
		t.Errorf("%+v, %v: want 3 without an answer", tally, err)
	}
	// The first went out on the connection that was there; the others could not even
	// greet the server, so that they were never sent.
	servertest.Await(t, "the requests to be counted", func() bool {
		return s.CLI("ZCARD", "k") == fmt.Sprint(1+tally.Unanswered) || s.CLI("ZCARD", "k") == "2"
	})
}

// TestExactKeysWithoutAWindow finds the counters of a key by its name alone.
func TestExactKeysWithoutAWindow(t *testing.T) {
	s := servertest.Start(t)
	start := s.Now().Floor(time.Minute)
	s.CLI("SET", fmt.Sprintf("{a*b}:sw:%d", start.Millis()), "5", "PX", "119000")
	s.CLI("SET", fmt.Sprintf("x:y:%d", start.Millis()/1000), "6", "PX", "119000")
	s.CLI("SET", fmt.Sprintf("{aXb}:sw:%d", start.Millis()), "9", "PX", "119000")
	_, got := once(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{"a*b", "x:y", "none"}})
	if x := got["a*b"]; x.State.Current+x.State.Previous != 5 || x.Target.Algorithm != limiter.SlidingWindow || x.Target.Window != time.Minute {
		t.Errorf("a*b: %+v of %v", x.State, x.Target)
	}
	if x := got["x:y"]; x.State.Current+x.State.Previous != 6 {
		t.Errorf("x:y: %+v of %v", x.State, x.Target)
	}
	if x := got["none"]; x.Type != "none" || x.Err != "" {
		t.Errorf("none: %+v", x)
	}
	if len(got) != 3 {
		t.Errorf("%d readings, want the 3 that were asked for", len(got))
	}
}

// TestBlockedKeys reads until when a key is blocked, and takes the block for no key of its
// own.
func TestBlockedKeys(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := context.Background()
	l, err := limiter.NewRedis(s.Client(), limiter.SlidingLog, limiter.WithConvention(limiter.Convention{Block: time.Minute}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := l.AllowN(ctx, "otp", limiter.Limit{Count: 1, Window: time.Second}, 1); err != nil {
			t.Fatal(err)
		}
	}
	run := runSource(t, newRedis(t, feed.Options{URLs: []string{s.URL()}, Refresh: 50 * time.Millisecond, Rules: []rules.Rule{{Match: "otp", Limit: limiter.Limit{Count: 1, Window: time.Second}, LimitKnown: true}}}))
	servertest.Await(t, "the block", func() bool {
		x, _ := run.reading("otp")
		left := x.State.BlockedUntil.Sub(x.At)
		return left > 50*time.Second && left <= time.Minute
	})
	if _, ok := run.reading("{otp}:blocked"); ok {
		t.Error("the block was taken for a limiter")
	}
}
