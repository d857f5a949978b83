package lab_test

import (
	"strings"
	"testing"

	"ratescope/feed/script/sandbox"
	"ratescope/limiter"
	"ratescope/model/lab"
)

// TestTheLineThatRan: of a log's denied request the script looks up the entry that has to leave and the newest one, and
// never the one that stands where nothing counts; every command of every lesson has its line.
func TestTheLineThatRan(t *testing.T) {
	var on sandbox.Stage
	defer on.Close()
	for _, l := range lessons(t) {
		run := play(t, l, l.Solution())
		s := run.Setup()
		for c, candidate := range s.Candidates {
			for i := range run.Decided() {
				m, ok := run.Inspect(c, i)
				if !ok {
					continue
				}
				lines, err := m.ScriptRun(&on)
				if err != nil {
					continue
				}
				ran := 0
				for _, line := range lines {
					ran += len(line.Ran)
					if used := m.Decision.Used; len(line.Ran) > 0 && strings.Contains(line.Text, "entry = call('ZRANGE', key, '-1'") &&
						!m.Decision.Allowed && used > 0 {
						t.Errorf("%s, %s, request %d: %q is marked with %q", l.ID, candidate, i, line.Text, line.Ran)
					}
				}
				if ran == 0 {
					t.Errorf("%s, %s, request %d: no line ran anything", l.ID, candidate, i)
				}
			}
		}
	}
}

// TestTheExcessIsMarkedOnce: of a burst and what drips after it GCRA is wrong about none, and marked are as many requests
// as it admits above the limit in a true window.
func TestTheExcessIsMarkedOnce(t *testing.T) {
	s := budget.Clone()
	s.Candidates = []lab.Candidate{{Algorithm: limiter.GCRA}, {Algorithm: limiter.SlidingLog}}
	run := lab.NewRun(s, lab.NewWorkload(nil))
	for range 10 {
		run.Fire(1)
	}
	for range 60 {
		run.AdvanceTo(run.Now().Add(s.Limit.Window / 20))
		run.Fire(1)
	}
	over := [2]int64{}
	for i := range run.Decided() {
		_, v := run.Arrival(i)
		for c := range over {
			if v.Over(c) {
				over[c]++
			}
			if v.Wrong(c) {
				t.Errorf("request %d is wrong at %s", i, s.Candidates[c])
			}
		}
	}
	if want := run.Counts(0).Largest - s.Limit.Count; want < 3 || over != [2]int64{want, 0} {
		t.Errorf("%v are marked, the excess is %d", over, want)
	}
}
