package fire_test

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestFiringWhereNothingIsWritten fires at a server out of memory, at a replica, at a key
// of another type, and as a user who may not: each outcome is an error with
// a sentence, and an order ends after a few. At a server that is away nothing is fired at all.
func TestFiringWhereNothingIsWritten(t *testing.T) {
	t.Parallel()
	full := servertest.Start(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	master := servertest.Start(t)
	replica := servertest.Start(t, "--replicaof", "127.0.0.1", strconv.Itoa(master.Port))
	servertest.Await(t, "the replica to be in sync", func() bool {
		return strings.Contains(replica.CLI("INFO", "replication"), "master_link_status:up")
	})
	master.CLI("SET", "k", "hello")
	master.CLI("ACL", "SETUSER", "eye", "on", ">pw", "~*", "+@read")
	for name, c := range map[string]struct {
		url, key, want string
	}{
		"out of memory": {full.URL(), "f", "out of memory"},
		"a replica":     {replica.URL(), "f", "replica"},
		"another type":  {master.URL(), "k", "holds a string"},
		"not permitted": {"redis://eye:pw@" + master.Addr(), "f", "must not fire"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRedis(t, feed.Options{Watch: everyKey, URLs: []string{c.url}})
			i := patient(t, r, filepath.Join(t.TempDir(), "audit"))
			var said string
			order := model.Order{Key: c.key, Target: target(limiter.SlidingLog, 5, time.Minute), Cost: 1, N: 100}
			outcomes, err := i.Fire(context.Background(), order, func(f model.Fired) { said = f.Err })
			if outcomes.Failed != fire.GiveUp || outcomes.Total() > fire.GiveUp+1 || err == nil || !strings.Contains(err.Error(), "stopped after") {
				t.Errorf("%+v, %v: want it to stop after %d failures", outcomes, err, fire.GiveUp)
			}
			if !strings.Contains(said, c.want) || strings.Contains(said, "\n") {
				t.Errorf("the outcome says %q, want %q", said, c.want)
			}
		})
	}
	dead := servertest.Start(t)
	dead.Kill()
	i := patient(t, newRedis(t, feed.Options{URLs: []string{dead.URL()}}), filepath.Join(t.TempDir(), "audit"))
	order := model.Order{Key: "f", Target: target(limiter.SlidingLog, 5, time.Minute), Cost: 1, N: 100}
	outcomes, err := i.Fire(context.Background(), order, nil)
	if outcomes.Total() != 0 || err == nil || !strings.Contains(err.Error(), "nothing listens") {
		t.Errorf("at a server that is away: %+v, %v", outcomes, err)
	}
}

// TestAnUnansweredRequestIsNotSentAgain swallows the answers of a server in the middle of a burst:
// the request is counted there once, its outcome is unknown here, and nothing more is sent.
func TestAnUnansweredRequestIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	p := servertest.StartProxy(t, s.Addr())
	defer p.Close()
	r := newRedis(t, feed.Options{Watch: everyKey, URLs: []string{"redis://" + p.Listener.Addr().String()}})
	i := r.Injector(fire.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit"), Timeout: 4 * time.Second})
	order := model.Order{Key: "k", Target: target(limiter.SlidingLog, 100, time.Hour), Cost: 1, N: 50}
	answered := 0
	outcomes, err := i.Fire(context.Background(), order, func(model.Fired) {
		if answered++; answered == 2 { // the server knows the scripts by now
			p.Set(func(p *servertest.Proxy) { p.Drop = true })
		}
	})
	if err == nil || !strings.Contains(err.Error(), "outcome is unknown") || outcomes != (model.Outcomes{Admitted: 2, Unanswered: 1}) {
		t.Errorf("%+v, %v: want it to stop at the first request without an answer", outcomes, err)
	}
	servertest.Await(t, "the request to be counted", func() bool { return s.CLI("ZCARD", "k") == "3" })
}
