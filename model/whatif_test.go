package model_test

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// TestWhatIf puts thirty requests of three seconds, of which ten were admitted, through other
// terms.
func TestWhatIf(t *testing.T) {
	const w = 10 * time.Second
	start := limiter.Instant(1_700_000_000_000_000).Floor(w)
	terms := func(a limiter.Algorithm, n int64) model.Target {
		return model.Target{Algorithm: a, Limit: limiter.Limit{Count: n, Window: w}, LimitKnown: true, Window: w}
	}
	var b model.Board
	r := model.Reading{Key: "k", At: start, Target: terms(limiter.FixedWindow, 10), Denied: model.Count{Known: true}}
	b.Apply(model.Batch{At: start, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}})
	for i := range 30 {
		r.Arrivals = append(r.Arrivals, model.Arrival{At: start.Add(time.Duration(i) * 100 * time.Millisecond), N: 1, Denied: i >= 10})
	}
	r.Since, r.At = start, start.Add(4*time.Second)
	b.Apply(model.Batch{At: r.At, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}})
	for _, tc := range []struct {
		terms            model.Target
		admitted, denied int64
		differs          time.Duration
		stricter         bool
		longest          time.Duration
	}{
		{terms(limiter.FixedWindow, 10), 10, 20, 0, false, 9 * time.Second},
		{terms(limiter.SlidingLog, 100), 30, 0, time.Second, false, 0},
		{terms(limiter.FixedWindow, 5), 5, 25, 500 * time.Millisecond, true, 10 * time.Second},
		{terms(limiter.SlidingLog, 20), 20, 10, time.Second, false, 8 * time.Second},
	} {
		got := b.Key("k").Run(tc.terms, start, r.At, nil)
		if got.Was != 10 || got.WasDenied != 20 || got.Admitted != tc.admitted || got.Denied != tc.denied {
			t.Errorf("%v: %+v", tc.terms, got)
		}
		bin := w / model.BinsPerWindow
		if tc.differs > 0 && (got.Differs.Sub(start)-tc.differs).Abs() > bin || tc.differs == 0 && got.Differs != 0 || got.Stricter != tc.stricter {
			t.Errorf("%v differs at %v, stricter %v; want %v, %v", tc.terms, got.Differs.Sub(start), got.Stricter, tc.differs, tc.stricter)
		}
		if got.Longest > tc.longest || tc.longest > 0 && got.Longest < tc.longest/2 {
			t.Errorf("%v: the longest wait is %v, want about %v", tc.terms, got.Longest, tc.longest)
		}
	}
}
