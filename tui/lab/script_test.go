package lab_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"ratescope/feed/script/sandbox"
	"ratescope/limiter"
	engine "ratescope/model/lab"
	"ratescope/tui/lab"
	"ratescope/tui/tuitest"
)

// counter is a script that admits its limit and no more for ever.
type counter struct{ count, limit int64 }

func (c *counter) Reset(l limiter.Limit, _ limiter.Instant) error {
	*c = counter{limit: l.Count}
	return nil
}

func (c *counter) Admit(limiter.Instant, int64) (bool, []engine.Command, error) {
	c.count++
	return c.count <= c.limit, []engine.Command{{Text: "INCR lock", Answer: fmt.Sprint(c.count)}}, nil
}

// TestScript compares the lane of a script, and its decision, with what they were; every view can be opened with it.
func TestScript(t *testing.T) {
	shots := []struct {
		name, keys    string
		width, height int
	}{
		{"compare", "space space", 140, 42}, {"compare", "space space", 80, 24}, {"decision", "space space D up", 140, 42},
		{"decision", "space space D up", 80, 24}, {"map", "M", 80, 24}, {"quiz", "Q", 80, 24}, {"presenter", "space B", 140, 42},
	}
	for _, shot := range shots {
		t.Run(fmt.Sprintf("%s-%dx%d", shot.name, shot.width, shot.height), func(t *testing.T) {
			own := engine.NewUserScript("lock.lua", &counter{})
			lesson, err := engine.ScriptLesson(own, limiter.Limit{Count: 1, Window: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			var on sandbox.Stage
			defer on.Close()
			model, err := lab.New(context.Background(), lab.Options{Lessons: []engine.Lesson{lesson}, Redis: &on})
			if err != nil {
				t.Fatal(err)
			}
			var m tea.Model = model
			m, _ = m.Update(tea.WindowSizeMsg{Width: shot.width, Height: shot.height})
			for key := range strings.FieldsSeq(shot.keys) {
				m, _ = m.Update(tuitest.Key(key))
			}
			golden.RequireEqual(t, ansi.Strip(m.View().Content)+"\n")
		})
	}
}
