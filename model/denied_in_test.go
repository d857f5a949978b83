package model_test

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// TestDeniedIn says when the limit is reached at a rate, and nothing where it is not.
func TestDeniedIn(t *testing.T) {
	const now limiter.Instant = 1_795_000_000_000_000
	log := func(n int) limiter.State {
		s := limiter.State{Algorithm: limiter.SlidingLog, Log: []limiter.Entry{}}
		for i := range n {
			s.Log = append(s.Log, limiter.Entry{At: now.Add(time.Duration(i-n) * time.Millisecond), Count: 1})
		}
		return s
	}
	for name, tc := range map[string]struct {
		used  int
		limit int64
		rate  float64
		after time.Duration
		ok    bool
	}{
		"ten a second, room for 40":      {60, 100, 10, 4100 * time.Millisecond, true},
		"one in two seconds, room for 3": {97, 100, 0.5, 8 * time.Second, true},
		"as much as the limit admits":    {0, 100, 1, 0, false},
		"full already":                   {100, 100, 5, 0, false},
		"nothing comes":                  {50, 100, 0, 0, false},
		"no limit":                       {50, 0, 5, 0, false},
	} {
		r := model.Reading{At: now, State: log(tc.used), Target: model.Target{Algorithm: limiter.SlidingLog, LimitKnown: true, Window: time.Minute, Limit: limiter.Limit{Count: tc.limit, Window: time.Minute}}}
		if after, ok := r.DeniedIn(now, tc.rate); ok != tc.ok || (after-tc.after).Abs() > time.Millisecond {
			t.Errorf("%s: %v %v, want %v %v", name, after, ok, tc.after, tc.ok)
		}
		if len(r.State.Log) != tc.used {
			t.Errorf("%s: the state was changed", name)
		}
	}
	fast := model.Reading{At: now, State: log(0), Target: model.Target{Algorithm: limiter.SlidingLog, LimitKnown: true, Window: time.Hour, Limit: limiter.Limit{Count: 1_000_000, Window: time.Hour}}}
	if after, ok := fast.DeniedIn(now, 1000); !ok || after < 950*time.Second || after > 1050*time.Second {
		t.Errorf("a million at 1,000 a second are used after %v, %v", after, ok)
	}
}
