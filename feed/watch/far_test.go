package watch_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// farAway is how long an answer takes from a server on another continent.
const farAway = 200 * time.Millisecond

// farServer starts a server behind a proxy that delays every answer, with a log and a
// stream in it.
func farServer(t testing.TB) (url string, s *servertest.Server) {
	t.Helper()
	s = servertest.Start(t)
	p := servertest.StartProxy(t, s.Addr())
	t.Cleanup(p.Close)
	p.Set(func(p *servertest.Proxy) { p.Delay = farAway })
	for range 5 {
		s.CLI("XADD", "rl:stream", "*", "count", "1")
	}
	return "redis://" + p.Listener.Addr().String(), s
}

var farRules = []config.Rule{{Match: "rl:*", Algorithm: limiter.StreamCounter, Limit: limiter.Limit{Count: 10, Window: time.Hour}, LimitKnown: true}}

// TestFarAwayIsNotAway watches a server 200 ms away: it is never called away while it answers, although
// a round takes longer than the refresh, and the round trip shown is the way's, not that of making
// connections.
func TestFarAwayIsNotAway(t *testing.T) {
	t.Parallel()
	url, s := farServer(t)
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{url}, Rules: farRules, Refresh: 50 * time.Millisecond}))
	servertest.Await(t, "the first reading", func() bool { r, ok := run.Reading("rl:stream"); return ok && feedtest.Used(r) == 5 })
	readings, last := 0, limiter.Instant(0)
	servertest.Await(t, "thirty readings", func() bool {
		if r, _ := run.Reading("rl:stream"); r.At != last {
			last = r.At
			if readings++; readings%5 == 0 {
				s.CLI("XADD", "rl:stream", "*", "count", "1")
			}
		}
		return readings >= 30
	})
	servertest.Await(t, "the round trip of the way", func() bool {
		rtt := run.Last().Server.RTT
		if rtt < farAway && run.Last().Server.Link == model.Live {
			t.Fatalf("the round trip is said to be %v, and is %v", rtt, farAway)
		}
		return rtt >= farAway && rtt < 2*farAway // which is what a connection takes, with its greeting
	})
	met := false
	for i, b := range run.All() {
		if i > 0 && b.Server.Link == model.Down || met && b.Server.Link != model.Live {
			t.Fatalf("batch %d says of a server that answers after %v that it is away: %s", i, farAway, b.Server.Err)
		}
		met = met || b.Server.Link == model.Live
	}
}

// TestFarAwayForLong watches 300 keys with traffic 200 ms away for the time of RATESCOPE_SOAK, as in
// 10m: the server is never called away, and batches keep coming.
func TestFarAwayForLong(t *testing.T) {
	soak, err := time.ParseDuration(os.Getenv("RATESCOPE_SOAK"))
	if err != nil {
		t.Skip("SKIPPED: RATESCOPE_SOAK=10m watches a far server for ten minutes")
	}
	url, s := farServer(t)
	fillKeys(t, s, 300)
	rules := append(slices.Clip(farRules), config.Rule{Match: "*", Window: time.Minute})
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{url}, Watch: feedtest.EveryKey, Rules: rules}))
	servertest.Await(t, "the first reading", func() bool { _, ok := run.Reading("rl:stream"); return ok })
	c, ctx := s.Client(), t.Context()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	seen, longest := len(run.All()), time.Duration(0)
	var before model.Batch
	for end := time.After(soak); ; {
		select {
		case <-end:
			t.Logf("%d batches in %v, none of them says that the server is away; the longest pause between two: %v", seen, soak, longest)
			return
		case now := <-tick.C:
			if err := c.ZAdd(ctx, "z:"+strconv.Itoa(3*rand.IntN(100)), redis.Z{Score: float64(now.UnixMicro()), Member: now.UnixMicro()}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		all := run.All()
		for _, b := range all[seen:] {
			if b.Server.Link != model.Live {
				t.Fatalf("after %d batches the server is said to be away: %s", seen, b.Server.Err)
			}
			if !before.Local.IsZero() {
				longest = max(longest, b.Local.Sub(before.Local))
			}
			before = b
		}
		seen = len(all)
	}
}

// BenchmarkFirstReadingFarAway tells how many round trips the first reading takes: what is
// found by SCAN, connections included.
func BenchmarkFirstReadingFarAway(b *testing.B) {
	url, _ := farServer(b)
	for b.Loop() {
		begun := time.Now()
		run := feedtest.Run(b, feedtest.NewRedis(b, feed.Options{URLs: []string{url}, Rules: farRules}))
		servertest.Await(b, "the first reading", func() bool { _, ok := run.Reading("rl:stream"); return ok })
		b.ReportMetric(float64(time.Since(begun))/float64(farAway), "trips")
		run.Stop()
	}
}

// TestFarAwayOnce: a single look at a far server succeeds.
func TestFarAwayOnce(t *testing.T) {
	t.Parallel()
	url, _ := farServer(t)
	for _, o := range []feed.Options{{URLs: []string{url}, Rules: farRules}, {URLs: []string{url}, Rules: farRules, Keys: []string{"rl:stream"}}} {
		b, _ := feedtest.Once(t, o)
		if len(b.Readings) != 1 {
			t.Errorf("with keys %q: %d readings", o.Keys, len(b.Readings))
		}
	}
}
