package watch

import (
	"testing"
	"time"

	"ratescope/model"
)

// TestOthersUseTheServer: what this process sends itself does not count, and what is not known
// changes nothing.
func TestOthersUseTheServer(t *testing.T) {
	var s spending
	sent := int64(0)
	for _, step := range []struct {
		what string
		ops  model.Measure
		over time.Duration
		own  int64 // commands
		want bool
	}{
		{"the first look", model.Measure{}, 0, 5000, false},
		{"alone", model.Measure{Known: true, V: 700}, 2 * time.Second, 1400, false},
		{"others", model.Measure{Known: true, V: 5700}, 2 * time.Second, 1400, true},
		{"not known", model.Measure{}, 2 * time.Second, 1400, true},
		{"alone again", model.Measure{Known: true, V: 800}, 2 * time.Second, 1400, false},
	} {
		sent += step.own
		if s.divide(&model.Health{Ops: step.ops, Over: step.over}, sent); s.shared != step.want {
			t.Errorf("%s: shared is %t", step.what, s.shared)
		}
	}
}
