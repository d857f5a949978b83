package lab_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/redisstore"
	"ratescope/model/lab"
)

// TestALogInSteadyTraffic: requests at whole milliseconds of the story come at any microsecond of a server's
// clock, so that a log keeps there what was not trimmed yet: the lab says about as many entries as a server has.
func TestALogInSteadyTraffic(t *testing.T) {
	client := servertest.Client(t)
	ctx := context.Background()
	client.FlushDB(ctx)
	limit := limiter.Limit{Count: 50, Window: 5 * time.Second}
	s := lab.Setup{Candidates: []lab.Candidate{{Algorithm: limiter.SlidingLog}}, Limit: limit, Zero: limiter.Instant(2_000_000_000_000_000)}
	run, at := lab.NewRun(s, lab.NewWorkload(nil)), s.Zero
	micro := limiter.Instant(0)
	store, err := redisstore.New(client, limiter.SlidingLog, redisstore.WithPrefix(""),
		redisstore.WithClock(func() limiter.Instant { return at + micro }))
	if err != nil {
		t.Fatal(err)
	}
	var said, held int64
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		at = at.Add(110 * time.Millisecond)
		micro = limiter.Instant(random.IntN(1000)) // as a server's clock is in a millisecond
		run.AdvanceTo(at)
		run.Fire(1)
		if _, err := store.AllowN(ctx, "rl:lab", limit, 1); err != nil {
			t.Fatal(err)
		}
		said += run.Ask(0, 0).Stored.Entries(run.Now())
		held += client.ZCard(ctx, "rl:lab").Val()
	}
	if ratio := float64(said) / float64(held); ratio < 0.9 || ratio > 1.1 {
		t.Errorf("in the mean the lab says %d entries, the server holds %d", said/2000, held/2000)
	}
}

// TestRoomUnderTheRuleBelow: as many requests as a weighted counter says it has room for are admitted, and no more.
func TestRoomUnderTheRuleBelow(t *testing.T) {
	c := lab.Candidate{Algorithm: limiter.SlidingWindow}
	s := lab.Setup{Candidates: []lab.Candidate{c}, Limit: limiter.Limit{Count: 10, Window: 10 * time.Second}}
	s.Convention = limiter.Convention{Rule: convention.Below, Rounding: convention.Exact}
	for after := 100 * time.Millisecond; after < 20*time.Second; after += 370 * time.Millisecond {
		run := lab.NewRun(s, lab.NewWorkload(nil))
		for range 7 {
			run.Fire(1)
		}
		run.AdvanceTo(s.Zero.Add(after))
		room := run.Ask(0, 1).Room()
		for range room {
			run.Fire(1)
		}
		if admitted := run.Counts(0).Admitted; admitted != 7+room {
			t.Fatalf("after %v it says room for %d and admits %d", after, room, admitted-7)
		}
		if m := run.Ask(0, 1); m.Decision.Allowed {
			t.Fatalf("after %v and %d more it admits another one: %s", after, room, m.Explain().Verdict)
		}
	}
}

// TestTokensThatComeAtIntervals come whole.
func TestTokensThatComeAtIntervals(t *testing.T) {
	s := lab.Setup{Candidates: []lab.Candidate{{Algorithm: limiter.TokenBucket}}, Limit: limiter.Limit{Count: 1, Window: 10 * time.Second}}
	s.Convention.Refill = convention.Interval
	run := lab.NewRun(s, lab.NewWorkload(nil))
	run.Fire(1)
	run.AdvanceTo(s.Zero.Add(5 * time.Second))
	if says := run.Ask(0, 1).Explain().Numbers[1]; !strings.Contains(says, "tokens = 0") || strings.Contains(says, ".") {
		t.Errorf("half an interval after the only token it says %q", says)
	}
}

// TestASetThatShrankIsNotSmallAgain: a sorted set that outgrew one piece of memory stays in many, until it is dropped.
func TestASetThatShrankIsNotSmallAgain(t *testing.T) {
	s := budget.Clone()
	s.Candidates, s.Limit.Count = []lab.Candidate{{Algorithm: limiter.SlidingLog}}, 200
	run := lab.NewRun(s, lab.NewWorkload(nil))
	fill := func(n int) int64 {
		for range n {
			run.AdvanceTo(run.Now() + 997)
			run.Fire(1)
		}
		return run.Bytes(0, run.Now())
	}
	small := fill(100)
	fill(100)
	run.AdvanceTo(run.Now().Add(s.Limit.Window - 5*time.Millisecond))
	for run.Ask(0, 1).Stored.Entries(run.Now()) > 120 { // what no longer counts is trimmed
		fill(1)
	}
	if shrunk := run.Bytes(0, run.Now()); shrunk < 4*small {
		t.Errorf("%d bytes after it shrank to %d members, %d when it had 100", shrunk, run.Ask(0, 1).Stored.Entries(run.Now()), small)
	}
	run.AdvanceTo(run.Now().Add(2 * s.Limit.Window))
	if again := fill(100); again != small {
		t.Errorf("%d bytes of 100 members anew, %d before", again, small)
	}
}
