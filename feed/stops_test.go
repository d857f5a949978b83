package feed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/fire"
	"ratescope/feed/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// announced returns how many requests the audit file says were about to be sent.
func announced(t *testing.T, path string) (n int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e struct{ Outcome string }
		if json.Unmarshal([]byte(line), &e) == nil && e.Outcome == "pending" {
			n++
		}
	}
	return n
}

// TestAStalledServerIsSentNoMore stops a server in the middle of a burst and of a rate, and lets
// it go on once the firing has given up: what was announced is all that it ever counts.
func TestAStalledServerIsSentNoMore(t *testing.T) {
	t.Parallel()
	for name, shot := range map[string]model.Shot{
		"burst": {Key: "k", Cost: 1, N: model.MaxRequests},
		"rate":  {Key: "k", Cost: 1, N: model.MaxRequests, Rate: 200},
	} {
		s := servertest.Start(t)
		path := filepath.Join(t.TempDir(), "audit")
		i := newRedis(t, feed.Options{URLs: []string{s.URL()}}).Injector(fire.Options{Armed: true, AuditPath: path, Timeout: 500 * time.Millisecond})
		shot.Target = target(limiter.SlidingLog, model.MaxRequests, time.Hour)
		n := 0
		tally, err := i.Fire(context.Background(), shot, func(model.Fired) {
			if n++; n == 20 {
				s.Freeze()
			}
		})
		s.Thaw()
		if err == nil || !strings.Contains(err.Error(), "stopped") || tally.Unanswered == 0 || tally.Unanswered > fire.InFlight || tally.Total() >= shot.N {
			t.Errorf("%s: %+v, %v: want it to stop at the first unknown outcome", name, tally, err)
		}
		said := announced(t, path)
		if tally.Total() != said {
			t.Errorf("%s: %d requests are accounted for, and %d were announced", name, tally.Total(), said)
		}
		card := func() int { n, _ := strconv.Atoi(s.CLI("ZCARD", "k")); return n }
		s.CLI("PING") // what the server had not read yet it has read before this
		if got := card(); got < tally.Admitted || got > said {
			t.Errorf("%s: the key has %d members of %d announced and %d admitted", name, got, said, tally.Admitted)
		}
	}
}

// TestALostServerEndsTheFiring: a server that goes away ends a rate at once, and one that begins
// to evict keys, too.
func TestALostServerEndsTheFiring(t *testing.T) {
	t.Parallel()
	gone := servertest.Start(t)
	i := newRedis(t, feed.Options{URLs: []string{gone.URL()}}).Injector(fire.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit"), Timeout: 30 * time.Second})
	shot := model.Shot{Key: "k", Cost: 1, Rate: 50, Target: target(limiter.GCRA, 100, time.Hour)}
	n := 0
	tally, err := i.Fire(context.Background(), shot, func(model.Fired) {
		if n++; n == 5 {
			gone.Kill()
		}
	})
	if err == nil || !strings.Contains(err.Error(), "stopped") || tally.Failed+tally.Unanswered > fire.InFlight {
		t.Errorf("a server that went away: %+v, %v", tally, err)
	}

	full := servertest.Start(t, "--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru")
	i = newRedis(t, feed.Options{URLs: []string{full.URL()}}).Injector(fire.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit"), Timeout: 30 * time.Second})
	ctx, cancel := context.WithTimeout(context.Background(), 2*servertest.Patience)
	defer cancel()
	n = 0
	value := strings.Repeat("x", 100_000)
	c := full.Client()
	_, err = i.Fire(ctx, shot, func(model.Fired) {
		n++
		c.Set(ctx, fmt.Sprint("filler:", n), value, 0)
	})
	if err == nil || !strings.Contains(err.Error(), "evict") {
		t.Errorf("a server that evicts: %v after %d requests", err, n)
	}
}

// TestForecastOnAServer fires at limiters of every algorithm that others have used, and holds
// what happens to the ticket.
func TestForecastOnAServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	limit := limiter.Limit{Count: 20, Window: 500 * time.Hour} // nothing comes back while the test runs
	for _, a := range limiter.Algorithms() {
		i := newRedis(t, feed.Options{URLs: []string{s.URL()}}).Injector(fire.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit")})
		for n := range 8 {
			key := fmt.Sprintf("f%d.%d", a, n)
			target := model.Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window}
			if _, err := i.Fire(context.Background(), model.Shot{Key: key, Target: target, Cost: 1, N: 3 * (n + 1)}, nil); err != nil {
				t.Fatal(err)
			}
			shot := model.Shot{Key: key, Cost: int64(1 + n%3), N: 2 + 3*n}
			src := newRedis(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{key}, Rules: []config.Rule{{Match: key, Algorithm: a, Limit: limit, LimitKnown: true, Library: model.OwnLibrary}}})
			batch, r, err := feed.Glance(context.Background(), src, key)
			if err != nil {
				t.Fatal(err)
			}
			shot.Target = mustAim(t, r)
			var b model.Board
			b.Apply(batch)
			ticket := b.Key(key).Ticket(shot, batch.At)
			tally, err := i.Fire(context.Background(), shot, nil)
			if f := ticket.Forecast; err != nil || !f.Known || f.Admitted != tally.Admitted || f.Denied != tally.Denied {
				t.Errorf("%s: %+v, %v; the forecast was %+v", key, tally, err, ticket.Forecast)
			}
		}
	}
}
