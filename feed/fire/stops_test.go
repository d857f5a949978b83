package fire_test

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
	"ratescope/internal/servertest"
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
// it go on once the firing has given up: what was announced is all that it ever counts, and what is known of
// it is taken back.
func TestAStalledServerIsSentNoMore(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]model.Order{
		"burst": {Key: "k", Cost: 1, N: model.MaxRequests},
		"rate":  {Key: "k", Cost: 1, N: model.MaxRequests, Rate: 200},
	} {
		s := servertest.Start(t)
		path := filepath.Join(t.TempDir(), "audit")
		i := newRedis(t, feed.Options{URLs: []string{s.URL()}}).Injector(fire.Options{Armed: true, AuditPath: path, Timeout: 3 * time.Second})
		order.Target = target(limiter.SlidingLog, model.MaxRequests, time.Hour)
		n, id := 0, ""
		outcomes, err := i.Fire(context.Background(), order, func(f model.Fired) {
			if n++; n == 20 {
				id, _, _ = strings.Cut(f.Audit, ".")
				s.Freeze()
			}
		})
		s.Thaw()
		if id == "" {
			t.Fatalf("%s: ended before the server was stopped: %+v, %v", name, outcomes, err)
		}
		if err == nil || !strings.Contains(err.Error(), "stopped") || outcomes.Unanswered == 0 || outcomes.Unanswered > fire.InFlight || outcomes.Total() >= order.N {
			t.Errorf("%s: %+v, %v: want it to stop at the first unknown outcome", name, outcomes, err)
		}
		said := announced(t, path)
		if outcomes.Total() != said {
			t.Errorf("%s: %d requests are accounted for, and %d were announced", name, outcomes.Total(), said)
		}
		card := func() int { n, _ := strconv.Atoi(s.CLI("ZCARD", "k")); return n }
		s.CLI("PING") // what the server had not read yet it has read before this
		if got := card(); got < outcomes.Admitted || got > said {
			t.Errorf("%s: the key has %d members of %d announced and %d admitted", name, got, said, outcomes.Admitted)
		}
		late := card() - outcomes.Admitted // of the requests without an answer, one may still be on its way
		u, err := i.TakeBack(context.Background(), model.TakeBack{Action: id})
		left := card()
		if err != nil || u.Requests != int64(said) || u.Units != int64(outcomes.Admitted) || len(u.Open) != outcomes.Unanswered ||
			left < late || left > outcomes.Unanswered {
			t.Errorf("%s: %+v, %v, %d members are left: want %d taken off, %d open and %d of them left, or more",
				name, u, err, left, outcomes.Admitted, outcomes.Unanswered, late)
		}
	}
}

// TestALostServerEndsTheFiring: a server that goes away ends a rate at once, and one that begins
// to evict keys, too.
func TestALostServerEndsTheFiring(t *testing.T) {
	t.Parallel()
	gone := servertest.Start(t)
	i := newRedis(t, feed.Options{URLs: []string{gone.URL()}}).Injector(fire.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit"), Timeout: 30 * time.Second})
	order := model.Order{Key: "k", Cost: 1, Rate: 50, Target: target(limiter.GCRA, 100, time.Hour)}
	n := 0
	outcomes, err := i.Fire(context.Background(), order, func(model.Fired) {
		if n++; n == 5 {
			gone.Kill()
		}
	})
	if err == nil || !strings.Contains(err.Error(), "stopped") || outcomes.Failed+outcomes.Unanswered > fire.InFlight {
		t.Errorf("a server that went away: %+v, %v", outcomes, err)
	}

	full := servertest.Start(t, "--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru")
	i = newRedis(t, feed.Options{URLs: []string{full.URL()}}).Injector(fire.Options{Armed: true, AuditPath: filepath.Join(t.TempDir(), "audit"), Timeout: 30 * time.Second})
	ctx, cancel := context.WithTimeout(context.Background(), 2*servertest.Patience)
	defer cancel()
	n = 0
	order.Rate = 1 // so that a server that stands still has fewer requests in flight than what ends the firing
	value := strings.Repeat("x", 1_000_000)
	c := full.Client()
	_, err = i.Fire(ctx, order, func(model.Fired) {
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
		i := armed(t, s)
		for n := range 8 {
			key := fmt.Sprintf("f%d.%d", a, n)
			target := model.Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window}
			if _, err := i.Fire(context.Background(), model.Order{Key: key, Target: target, Cost: 1, N: 3 * (n + 1)}, nil); err != nil {
				t.Fatal(err)
			}
			order := model.Order{Key: key, Cost: int64(1 + n%3), N: 2 + 3*n}
			batch, all := once(t, feed.Options{URLs: []string{s.URL()}, Keys: []string{key}, Rules: []config.Rule{{Match: key, Algorithm: a, Limit: limit, LimitKnown: true, Library: model.OwnLibrary}}})
			order.Target = mustAim(t, all[key])
			var b model.Board
			b.Apply(batch)
			ticket := b.Key(key).Ticket(order, batch.At)
			outcomes, err := i.Fire(context.Background(), order, nil)
			if f := ticket.Forecast; err != nil || !f.Known || f.Admitted != outcomes.Admitted || f.Denied != outcomes.Denied {
				t.Errorf("%s: %+v, %v; the forecast was %+v", key, outcomes, err, ticket.Forecast)
			}
		}
	}
}
