package tui_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ratescope/tui"
)

// TestTheHeaderAgreesWithTheRows: in every picture the header counts as many throttled keys as rows have the mark, and no
// such row stands below another one.
func TestTheHeaderAgreesWithTheRows(t *testing.T) {
	row := regexp.MustCompile(`(?m)^[│▌ ]+([✖▲●·↓?~]) \S+:\S+ .*\d+/\d+`)
	s := newStage(t, 140, 42, tui.Options{})
	for frame := range 300 {
		s.run(200 * time.Millisecond)
		table, _, _ := strings.Cut(s.text(), "injector")
		marks := ""
		for _, m := range row.FindAllStringSubmatch(table, -1) {
			marks += m[1]
		}
		n := strings.Count(marks, "✖")
		if !strings.Contains(table, fmt.Sprintf("✖ %d throttled", n)) || len(marks) < 6 || strings.Contains(strings.TrimLeft(marks, "✖"), "✖") {
			t.Fatalf("picture %d has the marks %s:\n%s", frame, marks, s.text())
		}
	}
}
