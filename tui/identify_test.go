package tui_test

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/identify"
	"ratescope/tui"
)

// TestIdentifyOverlay lists the limiters by library, fits every size, and makes a rule of a group
// that is only likely, and of no other.
func TestIdentifyOverlay(t *testing.T) {
	var adopted []string
	s := newStage(t, 140, 42, tui.Options{
		Library: func(name string) (identify.Library, bool) {
			return identify.Library{Silent: []string{"the limit of " + name}}, name == "rate-limit-redis"
		},
		Adopt: func(g identify.Group) error { adopted = append(adopted, g.Pattern); return nil },
	})
	s.edit = func(b *model.Batch) {
		for i := range b.Readings {
			r := &b.Readings[i]
			if r.Pattern = "rl:*"; i%2 == 1 {
				r.Pattern, r.Target.Evidence, r.Target.Library = "home:\x1b[2J*", model.Likely, "homemade"
				r.Unsettled = []string{"the window: watch on"}
			} else {
				r.Target.Evidence, r.Target.Library = model.Known, "rate-limit-redis"
			}
		}
	}
	s.run(3 * time.Second)
	s.press("W")
	s.see("limiters: 1 of", "rate-limit-redis", "the limit of rate-limit-redis")
	for _, size := range [][2]int{{60, 20}, {80, 24}, {200, 55}, {140, 42}} {
		s.size(size[0], size[1])
		s.check("the limiters")
	}
	s.press("enter")
	if len(adopted) > 0 {
		t.Errorf("a rule is made of known ones: %q", adopted)
	}
	s.press("end", "W")
	for range 20 {
		s.press("down")
	}
	s.see("not yet known", "the window: watch on")
	_, cmd := s.app.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	if cmd == nil {
		t.Fatal("nothing is done")
	}
	for _, msg := range messages(cmd) {
		s.app.Update(msg)
	}
	if len(adopted) != 1 || adopted[0] != "home:\x1b[2J*" {
		t.Errorf("rules were made of %q", adopted)
	}
	s.see("holds until the program ends")
}

// messages carries out a command, and those in it.
func messages(cmd tea.Cmd) (all []tea.Msg) {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			all = append(all, messages(c)...)
		}
	default:
		all = append(all, msg)
	}
	return all
}
