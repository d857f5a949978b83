package lab_test

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/lab"
)

// TestDuel: the solver breaks what breaks by traffic that shows it in the lab, finds nothing where nothing is, and
// answers when its time is up; who was faster has won. What it finds is the worst case that the lessons and the
// documents name: 2L of the fixed window, 199 of the exact counter of 100.
func TestDuel(t *testing.T) {
	ten, hundred := limiter.Limit{Count: 10, Window: 10 * time.Second}, limiter.Limit{Count: 100, Window: time.Minute}
	for name, c := range map[string]struct {
		limit limiter.Limit
		worst int64
	}{
		"fixed-window":                  {ten, 20},
		"fixed-window/first-request":    {ten, 19},
		"sliding-log":                   {ten, 10},
		"stream":                        {ten, 10},
		"gcra":                          {ten, 19},
		"sliding-window/exact":          {hundred, 199},
		"sliding-log/colliding-members": {ten, 36}, // as many as come at one instant
	} {
		t.Run(name, func(t *testing.T) {
			one, err := lab.ParseCandidate(name)
			if err != nil {
				t.Fatal(err)
			}
			log := lab.Candidate{Algorithm: limiter.SlidingLog}
			s := lab.Setup{Limit: c.limit, Zero: limiter.InstantOf(time.Unix(2_000_000_040, 0)).Floor(c.limit.Window)}
			if s.Candidates = []lab.Candidate{one}; one != log {
				s.Candidates = []lab.Candidate{log, one}
			}
			i := len(s.Candidates) - 1
			d := lab.NewDuel(s, i)
			if d.Solver, err = lab.Solve(d.Setup); err != nil {
				t.Fatal(err)
			}
			if d.Solver.Admitted != c.worst || d.Holds() != (c.worst == c.limit.Count) {
				t.Errorf("the solver found %d: %v", d.Solver.Admitted, d.Solver.Steps)
			}
			l, err := lab.DuelLesson(s)
			if err != nil {
				t.Fatal(err)
			}
			reply := d.Reply(l, s, i)
			_, b := lab.Judge(lab.Shared{Setup: s, Selected: i}, reply)
			if b.Most != c.worst && !d.Solver.AtLeast || b.Most <= c.limit.Count && !d.Holds() {
				t.Errorf("the solver's traffic admits %d by %d requests in the lab", b.Most, b.Requests)
			}

			now := time.Unix(5, 0)
			d.Tick(now)
			d.Tick(now.Add(lab.DuelTime - time.Second))
			if d.Left != time.Second {
				t.Errorf("%s are left", d.Left)
			}
			arrivals, err := l.Workload(s, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			run := lab.NewRun(s, arrivals)
			if d.See(run, i) {
				t.Error("no request broke it")
			}
			reply.Play(run)
			if d.See(run, i) == d.Holds() || d.First == d.Holds() || d.See(run, i) {
				t.Errorf("what a person did is %+v", d.Best)
			}
			d.Tick(now.Add(2 * lab.DuelTime))
			if d.Left != 0 {
				t.Errorf("%s are left", d.Left)
			}
		})
	}
}
