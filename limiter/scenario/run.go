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

// Store is where scenarios run. The zero Store is the memory of this process.
type Store struct {
	client redisstore.Client
}

// Memory runs scenarios in this process.
func Memory() Store { return Store{} }

// Redis runs scenarios on a server. Each gets keys of its own, which are removed
// afterwards, and brings its own clock: it says nothing about the server's.
func Redis(c redisstore.Client) Store { return Store{client: c} }

// Name is "memory" or "redis".
func (s Store) Name() string {
	if s.client == nil {
		return "memory"
	}
	return "redis"
}

// Run plays a scenario and compares what comes out, until the first mismatch. An error
// means that the store failed, not that the scenario did.
func Run(ctx context.Context, s Scenario, store Store) (Result, error) {
	r := Result{Scenario: s.ID, Store: store.Name(), Status: Pass}
	zero := storyBegins(s.Limit.Window)
	now := zero
	l, err := store.limiter(s, func() limiter.Instant { return now })
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

func (s Store) limiter(sc Scenario, clock func() limiter.Instant) (limiter.Limiter, error) {
	if s.client == nil {
		return limiter.NewMemory(sc.Algorithm, limiter.WithConvention(sc.Convention), limiter.WithClock(clock))
	}
	return redisstore.New(s.client, sc.Algorithm, redisstore.WithConvention(sc.Convention), redisstore.WithClock(clock),
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
			return fmt.Sprintf("%s (request %d of %d)", verdict(*s.Expect), i+1, s.Repeat), verdict(d.Allowed), nil
		}
	}
	for _, one := range []struct {
		name string
		want *int64
		got  int64
	}{{"remaining", s.Remaining, d.Remaining}, {"count", s.Count, d.Used}} {
		if one.want != nil && *one.want != one.got {
			return fmt.Sprintf("%s %d", one.name, *one.want), fmt.Sprintf("%s %d", one.name, one.got), nil
		}
	}
	for _, one := range []struct {
		name string
		want *time.Duration
		got  time.Duration
	}{{"retry after", s.RetryAfter, d.RetryAfter}, {"reset after", s.ResetAfter, d.ResetAfter}} {
		if one.want != nil && *one.want != roundUp(one.got) {
			return one.name + " " + wait(*one.want), one.name + " " + wait(one.got), nil
		}
	}
	return "", "", nil
}

func verdict(allowed bool) string {
	if allowed {
		return "allow"
	}
	return "deny"
}

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
