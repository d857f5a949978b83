package health_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

func TestTheScaleOfARateKeepsItsUnit(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Edit = func(b *model.Batch) {
		if b.Health != nil {
			b.Health.Ops = model.Measure{Known: true, V: 15_000}
		}
	}
	s.Run(10 * time.Second)
	s.Press("4")
	s.See("15.0k/s")
	for line := range strings.Lines(s.Text()) {
		if at := strings.Index(line, "k/"); at >= 0 && !strings.HasPrefix(line[at:], "k/s") {
			t.Errorf("a rate is cut: %q", line)
		}
	}
}
