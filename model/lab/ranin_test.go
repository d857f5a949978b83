package lab_test

import (
	"strings"
	"testing"

	"ratescope/model/lab"
)

// TestTheLineThatRan: of a log's denied request the script looks up the entry that has to leave and the newest one, and
// never the one that stands where nothing counts; every command of every lesson has its line.
func TestTheLineThatRan(t *testing.T) {
	for _, l := range lessons(t) {
		run := play(t, l, l.Solution())
		s := run.Setup()
		for c, candidate := range s.Candidates {
			for i := range run.Decided() {
				m, ok := run.Inspect(c, i)
				lines, err := lab.ScriptRun(candidate, m, s)
				if !ok || err != nil {
					continue
				}
				ran := 0
				for _, line := range lines {
					if line.Ran == nil {
						continue
					}
					ran++
					if used := m.Decision.Used; strings.Contains(line.Text, "entry = call('ZRANGE', key, '-1'") && !m.Decision.Allowed && used > 0 {
						t.Errorf("%s, %s, request %d: %q is marked with %q", l.ID, candidate, i, line.Text, line.Ran.Text)
					}
					for _, option := range []string{"'-1'", "'0'", "MINID", "'+'"} {
						if strings.Contains(line.Text, "("+option) && !strings.Contains(line.Ran.Text, strings.Trim(option, "'")) {
							t.Errorf("%s: %q did not run %q", l.ID, line.Text, line.Ran.Text)
						}
					}
				}
				if all := lab.Commands(candidate, m, s); ran == 0 && len(all) > 0 {
					t.Errorf("%s, %s, request %d: no line ran any of %v", l.ID, candidate, i, all)
				}
			}
		}
	}
}
