package lab_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"ratescope/feed/script/sandbox"
	engine "ratescope/model/lab"
	"ratescope/tui/lab"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// pictures are the lab's screens, by the lesson and the keys that lead there.
var pictures = []struct{ name, lesson, keys string }{
	{"compare", "counter-rounding", "H"},
	{"storm", "storm-without-backoff", "C g 2 8 . 3 enter"},
	{"inspector", "fixed-edge", "H D up a"},
	{"quiz", "log-silence", "Q"},
	{"quiz-answered", "gcra-next-slot", "Q d b"},
	{"lesson", "counter-weighted-sum", "T i"},
	{"lessons", "fixed-edge", "H L down"},
	{"terms", "log-lockout", "H w down down down down down down down down"},
	{"presenter", "bucket-burst-and-drip", "H B"},
}

// shoot opens a lesson at a size and presses keys.
func shoot(t *testing.T, o lab.Options, lesson, keys string, w, h int) string {
	t.Helper()
	var on sandbox.Stage
	defer on.Close()
	o.Redis = &on
	var err error
	if o.Lessons, o.First, err = engine.Open(lesson, nil); err != nil {
		t.Fatal(err)
	}
	model, err := lab.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	var m tea.Model = model
	m, _ = m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	for key := range strings.FieldsSeq(keys) {
		m, _ = m.Update(tuitest.Key(key))
	}
	return m.View().Content
}

// TestPictures compares what can be read with what it was when it was last looked at;
// -update takes it as it is now. The lesson and the comparison are seen on a small terminal too.
func TestPictures(t *testing.T) {
	for _, p := range pictures {
		for i, size := range [][2]int{{140, 42}, {80, 24}} {
			if i > 0 && p.name != "lesson" && p.name != "compare" {
				continue
			}
			t.Run(fmt.Sprintf("%s-%dx%d", p.name, size[0], size[1]), func(t *testing.T) {
				golden.RequireEqual(t, ansi.Strip(shoot(t, lab.Options{}, p.lesson, p.keys, size[0], size[1]))+"\n")
			})
		}
	}
}

// TestColours keeps the compare screen with its colours, dark and light.
func TestColours(t *testing.T) {
	for _, theme := range []string{"phosphor", "paper"} {
		t.Run(theme, func(t *testing.T) {
			golden.RequireEqual(t, shoot(t, lab.Options{Look: shell.Options{Theme: theme}}, "fixed-edge", "H", 140, 42)+"\n")
		})
	}
}
