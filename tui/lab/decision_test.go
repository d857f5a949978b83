package lab

import (
	"slices"
	"testing"

	"ratescope/limiter"
	"ratescope/model/lab"
)

// TestEqualRequestsAreFolded: of a limit of 3, twenty requests at once are two rows, and the requests that are equal to the
// selected one have a row each.
func TestEqualRequestsAreFolded(t *testing.T) {
	s := lab.Setup{Candidates: []lab.Candidate{{Algorithm: limiter.SlidingLog}}, Limit: limiter.Limit{Count: 3, Window: 1e9}, Zero: 1e15}
	run := lab.NewRun(s, lab.NewWorkload(nil))
	for range 20 {
		run.Fire(1)
	}
	run.AdvanceTo(run.Now() + 1000)
	run.Fire(1)
	for _, c := range []struct {
		at, height int
		want       []folded
	}{
		{21, 10, []folded{{0, 3}, {3, 17}, {20, 1}, {21, 1}}},
		{1, 10, []folded{{0, 1}, {1, 1}, {2, 1}, {3, 17}, {20, 1}, {21, 1}}},
		{20, 2, []folded{{3, 17}, {20, 1}, {21, 1}}},
	} {
		if got := fold(run, c.at, c.height); !slices.Equal(got, c.want) {
			t.Errorf("around %d in %d rows: %v, want %v", c.at, c.height, got, c.want)
		}
	}
	if got := fold(run, 10, 8); got[0].from > 7 || !slices.Contains(got[:8], folded{10, 1}) {
		t.Errorf("the selected request is not among the rows: %v", got)
	}
}
