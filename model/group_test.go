package model_test

import (
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// TestRunAllAddsUp puts two keys through other terms and compares the sums with each alone.
func TestRunAllAddsUp(t *testing.T) {
	const w = 10 * time.Second
	start := limiter.Instant(1_700_000_000_000_000).Floor(w)
	terms := model.Target{Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 3, Window: w}, LimitKnown: true, Window: w}
	var b model.Board
	var keys []*model.Watched
	for i, name := range []string{"a", "b"} {
		r := model.Reading{Key: name, At: start, Target: terms, Denied: model.Count{Known: i == 0}}
		b.Apply(model.Batch{At: start, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}})
		for n := range 6 * (i + 1) {
			r.Arrivals = append(r.Arrivals, model.Arrival{At: start.Add(time.Duration(n) * 200 * time.Millisecond), N: 1})
		}
		r.Since, r.At = start, start.Add(4*time.Second)
		b.Apply(model.Batch{At: r.At, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}})
		keys = append(keys, b.Key(name))
	}
	all := model.RunAll(keys, terms, 3, nil)
	x, y := keys[0].Run(terms, start, start.Add(4*time.Second), nil), keys[1].Run(terms, start, start.Add(4*time.Second), nil)
	if all.Admitted != x.Admitted+y.Admitted || all.Denied != x.Denied+y.Denied || all.Was != 18 || all.DeniedKnown {
		t.Errorf("together %+v, apart %+v and %+v", all, x, y)
	}
	if all.Longest != max(x.Longest, y.Longest) || all.Differs == 0 {
		t.Errorf("waits up to %v, differs at %v", all.Longest, all.Differs)
	}
	lanes := model.Compared{End: start.Add(4 * time.Second), Column: time.Second, Was: make([]model.Bin, 3), Would: make([]model.Bin, 3)}
	model.RunAll(keys, terms, 3, &lanes)
	var was, admitted, denied []int64 // of the second, third and fourth second; the first is older than the columns
	for i := range lanes.Was {
		was, admitted, denied = append(was, lanes.Was[i].Admitted), append(admitted, lanes.Would[i].Admitted), append(denied, lanes.Would[i].Denied)
	}
	if want := []int64{6, 2, 0}; !slices.Equal(was, want) || !slices.Equal(denied, want) || !slices.Equal(admitted, []int64{0, 0, 0}) {
		t.Errorf("by seconds %v were admitted, and would be %v, denied %v", was, admitted, denied)
	}
}
