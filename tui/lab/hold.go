package lab

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui/cell"
	"ratescope/tui/shell"
)

// heldWords say why a key does nothing while the teacher has locked the class.
const heldWords = "Held by the teacher: look and answer; the clock and the lessons are the teacher's."

// What a held student can still do is to look, to answer and to copy: actions of these groups, and
// these of other groups.
var (
	freeGroups  = []string{"predict", "quiz", "decision"}
	freeActions = []string{"zoom out", "zoom in", "compare", "decision", "lesson", "up", "down", "expand", "present", "share", "copy"}
)

// held reports whether the teacher holds the keys of this lab.
func (c *classroom) held() bool { return c.learns() && c.Now().Held }

// hold returns the actions with those blocked that a held student cannot do.
func (c *classroom) hold(list shell.Actions) shell.Actions {
	if !c.held() {
		return list
	}
	for i, act := range list {
		if !slices.Contains(freeGroups, act.Group) && !slices.Contains(freeActions, act.Name) {
			list[i] = act.When(func() string { return heldWords })
		}
	}
	return list
}

// catch closes what is open over the lab when the hold begins: a list of lessons would lead away.
func (c *classroom) catch(s *Screen) {
	held := c.held()
	if held && !c.caught {
		s.app.Open(nil)
		s.app.Say(heldWords)
	}
	c.caught = held
}

// OnClick lets a rectangle of the lab answer clicks, which a held student makes in vain: they
// move the clock or the focus that the teacher's question is about.
func (p painter) OnClick(r cell.Rect, do func(x int) tea.Cmd) {
	p.c.OnClick(r, func(x int) tea.Cmd {
		if p.s.class.held() {
			p.s.app.Say(heldWords)
			return nil
		}
		return do(x)
	})
}
