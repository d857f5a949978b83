package lab_test

import (
	"strings"
	"testing"

	"ratescope/feed/script/sandbox"
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
				lines, err := lab.ScriptRun(&on, candidate, m, s)
				if !ok || err != nil {
					continue
				}
				ran := 0
				for _, line := range lines {
					ran += len(line.Ran)
					if used := m.Decision.Used; len(line.Ran) > 0 && strings.Contains(line.Text, "entry = call('ZRANGE', key, '-1'") && !m.Decision.Allowed && used > 0 {
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
