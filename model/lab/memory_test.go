package lab_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
	"ratescope/model/lab"
)

// TestMemoryIsThatOfAServer: what the lab says of memory is what MEMORY USAGE tells of the
// same requests on a server, to the byte where a value is in one piece of memory, and
// near it for skiplists and long streams, whose pieces are drawn by lot or have room.
func TestMemoryIsThatOfAServer(t *testing.T) {
	client := servertest.Client(t)
	for _, c := range []string{"fixed-window", "fixed-window/first-request", "sliding-window", "sliding-log", "stream", "gcra",
		"token-bucket", "leaky-bucket", "token-bucket/interval"} {
		for _, tc := range []struct {
			name     string
			limit    limiter.Limit
			gap      time.Duration
			cost     int64
			requests int
		}{
			{"one window", limiter.Limit{Count: 400, Window: time.Minute}, 97 * time.Millisecond, 1, 420},
			{"parts of a microsecond", limiter.Limit{Count: 7, Window: 10 * time.Second}, 1_100_003 * time.Microsecond, 1, 60},
			{"cost", limiter.Limit{Count: 120, Window: time.Minute}, 531 * time.Millisecond, 3, 100},
			{"trimmed", limiter.Limit{Count: 300, Window: 10 * time.Second}, 43_018 * time.Microsecond, 1, 1500},
		} {
			t.Run(c+" "+tc.name, func(t *testing.T) {
				candidate, err := lab.ParseCandidate(c)
				if err != nil {
					t.Fatal(err)
				}
				s := lab.Setup{Candidates: []lab.Candidate{candidate}, Limit: tc.limit, Cost: tc.cost,
					Zero: limiter.Instant(2_000_000_000_000_000).Floor(tc.limit.Window)}
				compareMemory(t, client, s, tc.gap, tc.requests)
			})
		}
	}
}

func compareMemory(t *testing.T, client *redis.Client, s lab.Setup, gap time.Duration, requests int) {
	ctx := context.Background()
	if err := client.FlushDB(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	c, run := s.Candidates[0], lab.NewRun(s, lab.NewWorkload(nil))
	at := s.Zero.Add(time.Millisecond + time.Microsecond) // no instant in whole milliseconds, which stand for others
	l, err := redisstore.New(client, c.Algorithm, redisstore.WithConvention(c.Convention(s.Convention)),
		redisstore.WithClock(func() limiter.Instant { return at }), redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	older := map[limiter.Instant]limiter.Instant{} // when the counter of a window was made
	for i := range requests {
		at = at.Add(gap)
		if start := at.Floor(s.Limit.Window); older[start] == 0 {
			older[start] = at
		}
		run.AdvanceTo(at)
		run.Fire(s.Cost)
		if _, err := l.AllowN(ctx, "rl:lab", s.Limit, s.Cost); err != nil {
			t.Fatal(err)
		}
		if i%7 != 0 && i > 20 {
			continue
		}
		got, want := run.Bytes(0, run.Now()), memory(t, client, c, s.Limit, at)
		before := at.Floor(s.Limit.Window).Add(-2 * s.Limit.Window)
		if made, ok := older[before]; ok && c.Algorithm == limiter.SlidingWindow && at < made.Add(2*s.Limit.Window) {
			want += 72 // it lives for two windows from its first request
		}
		off := 0.0
		switch stored := run.Ask(0, 0).Stored; {
		case len(stored.Nodes) > 1:
			off = 0.25
		case stored.Units > 128:
			off = 0.1
		}
		if math.Abs(float64(got-want)) > off*float64(want) {
			t.Fatalf("after %d requests: the lab says %d bytes, the server %d", i+1, got, want)
		}
	}
}

// memory asks the server about the keys that have not expired on the clock of the story.
func memory(t *testing.T, client *redis.Client, c lab.Candidate, limit limiter.Limit, at limiter.Instant) (sum int64) {
	t.Helper()
	names := []string{"rl:lab"}
	if c.Algorithm == limiter.SlidingWindow || c.Algorithm == limiter.FixedWindow && c.Variant == "" {
		names = layout.Keys(c.Algorithm, "rl:lab", limit, layout.Layout{}, at)
	}
	for _, name := range names {
		n, err := client.MemoryUsage(context.Background(), name, 0).Result()
		if err != nil && err != redis.Nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// TestMemoryByEncoding holds the figures that are taught to what Redis 7 was measured at.
func TestMemoryByEncoding(t *testing.T) {
	for _, tc := range []struct {
		algorithm limiter.Algorithm
		requests  int
		bytes     int64
	}{
		{limiter.SlidingLog, 10, 272}, {limiter.SlidingLog, 54, 1328}, {limiter.SlidingLog, 100, 2096},
		{limiter.StreamCounter, 3, 4728}, {limiter.GCRA, 3, 48}, {limiter.TokenBucket, 3, 80}, {limiter.LeakyBucket, 3, 80},
		{limiter.FixedWindow, 3, 72}, {limiter.SlidingWindow, 3, 72},
	} {
		s := lab.Setup{Candidates: []lab.Candidate{{Algorithm: tc.algorithm}}, Limit: limiter.Limit{Count: 1000, Window: time.Minute},
			Zero: 2_000_000_040_000_000}
		run := lab.NewRun(s, lab.NewWorkload(nil))
		if got := run.Bytes(0, run.Now()); got != 0 {
			t.Errorf("%v takes %d bytes before the first request", tc.algorithm, got)
		}
		for range tc.requests {
			run.Fire(1)
		}
		if got := run.Bytes(0, run.Now()); got != tc.bytes {
			t.Errorf("%v after %d requests: %d bytes, want %d", tc.algorithm, tc.requests, got, tc.bytes)
		}
		run.AdvanceTo(s.Zero.Add(5 * time.Minute))
		if got := run.Bytes(0, run.Now()); got != 0 {
			t.Errorf("%v takes %d bytes when its key has expired", tc.algorithm, got)
		}
	}
}
