package scenario

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/redisstore"
)

// Status is how a run ended.
type Status string

// The ways in which a run ends.
const (
	Pass           Status = "pass"
	Mismatch       Status = "mismatch"
	NotOnStore     Status = "not on this store"
	NotImplemented Status = "algorithm not available"
)

// Result is what became of one scenario on one store.
type Result struct {
	Scenario string
	Store    string
	Status   Status
	Step     int    // the first one that went wrong, from 1; 0 for none
	Want     string // what it expected, where Status is Mismatch
	Got      string // what came instead; else why it did not run
}

// Run plays a scenario on a server, or in the memory of this process where that is nil, and compares what comes out, until
// the first mismatch. On a server each gets keys of its own, which are removed afterwards, and brings its own clock: it says
// nothing about the server's. An error means that the store failed, not that the scenario did.
func Run(ctx context.Context, s Scenario, server redisstore.Client) (Result, error) {
	r := Result{Scenario: s.ID, Store: "memory", Status: Pass}
	if server != nil {
		r.Store = "redis"
	}
	zero := storyBegins(s.Limit.Window)
	now := zero
	l, err := s.limiter(server, func() limiter.Instant { return now })
	switch {
	case errors.Is(err, limiter.ErrNotOnStore):
		r.Status, r.Got = NotOnStore, err.Error()
		return r, nil
	case errors.Is(err, limiter.ErrBadRequest):
		r.Status, r.Got = NotImplemented, err.Error()
		return r, nil
	case err != nil:
		return r, err
	}
	key := "ratescope:scenario:" + rand.Text() // of this run alone, also where another runs at the same time
	defer func() {
		// Window by window, because the names of a server's counters follow from the clock.
		done := map[limiter.Instant]bool{}
		for _, step := range s.Steps {
			if now = zero.Add(step.At.Truncate(s.Limit.Window)); !done[now] && l.Reset(context.WithoutCancel(ctx), key, s.Limit) != nil {
				return
			}
			done[now] = true
		}
	}()
	for i, step := range s.Steps {
		now = zero.Add(step.At)
		want, got, err := step.play(ctx, l, key, s.Limit)
		if err != nil {
			return r, fmt.Errorf("scenario %s, step %d: %w", s.ID, i+1, err)
		}
		if want != "" {
			r.Status, r.Step, r.Want, r.Got = Mismatch, i+1, want, got
			return r, nil
		}
	}
	return r, nil
}

// storyBegins is the instant that a story calls zero: aligned to its window, and far
// enough ahead that no server's clock gets there, because some expiries are judged on
// the story's clock.
func storyBegins(w time.Duration) limiter.Instant {
	far := limiter.InstantOf(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	return far.Floor(w).Add(w).Floor(w)
}

func (s Scenario) limiter(server redisstore.Client, clock func() limiter.Instant) (limiter.Limiter, error) {
	if server == nil {
		return limiter.NewMemory(s.Algorithm, limiter.WithConvention(s.Convention), limiter.WithClock(clock))
	}
	return redisstore.New(server, s.Algorithm, redisstore.WithConvention(s.Convention), redisstore.WithClock(clock),
		redisstore.WithPrefix(""))
}

// play makes the requests of a step and says what was wrong, or "".
func (s Step) play(ctx context.Context, l limiter.Limiter, key string, limit limiter.Limit) (want, got string, err error) {
	var d limiter.Decision
	for i := range s.Repeat {
		if d, err = l.AllowN(ctx, key, limit, s.Cost); err != nil {
			return "", "", err
		}
		if s.Expect != nil && d.Allowed != *s.Expect {
			return fmt.Sprintf("%s (request %d of %d)", verdict[*s.Expect], i+1, s.Repeat), verdict[d.Allowed], nil
		}
	}
	switch {
	case s.Remaining != nil && *s.Remaining != d.Remaining:
		return fmt.Sprintf("remaining %d", *s.Remaining), fmt.Sprintf("remaining %d", d.Remaining), nil
	case s.Count != nil && *s.Count != d.Used:
		return fmt.Sprintf("count %d", *s.Count), fmt.Sprintf("count %d", d.Used), nil
	case s.RetryAfter != nil && *s.RetryAfter != roundUp(d.RetryAfter):
		return "retry after " + wait(*s.RetryAfter), "retry after " + wait(d.RetryAfter), nil
	case s.ResetAfter != nil && *s.ResetAfter != roundUp(d.ResetAfter):
		return "reset after " + wait(*s.ResetAfter), "reset after " + wait(d.ResetAfter), nil
	}
	return "", "", nil
}

var verdict = map[bool]string{true: "allow", false: "deny"}

func wait(d time.Duration) string {
	if d == limiter.Never {
		return "never"
	}
	return d.String()
}

// roundUp is how a time is printed in milliseconds, so that waiting that long is enough.
func roundUp(d time.Duration) time.Duration {
	if d == limiter.Never {
		return d
	}
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}
