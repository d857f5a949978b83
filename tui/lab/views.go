package lab

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/tui/cell"
	"ratescope/tui/shell"
)

// view is one picture of the lab.
type view interface {
	name() string
	// layout is called before paint, with the room there is.
	layout(s *Screen, r cell.Rect)
	paint(p painter, r cell.Rect)
	// move selects what is above or below.
	move(s *Screen, by int)
	// keys are those of this view alone; they go before the lab's.
	keys() shell.Actions
}

// plain is a view without a choice, and with the keys that it is given.
type plain struct {
	title   string
	actions shell.Actions
}

func (v plain) name() string            { return v.title }
func (v plain) keys() shell.Actions     { return v.actions }
func (plain) layout(*Screen, cell.Rect) {}
func (plain) move(*Screen, int)         {}

// act is an action whose work is done at once.
func act(group, name, shown, what string, do func(), keys ...string) shell.Action {
	return shell.Bind(group, name, shown, what, func() tea.Cmd { do(); return nil }, keys...)
}

// views are the pictures of the lab, one of which is shown. The first is the one to go back to.
type views struct {
	list     []view
	current  int // number of the one that is shown
	decision *decisionView
}

// front returns the view that is shown.
func (v *views) front() view { return v.list[v.current] }

// view shows the view of that name.
func (v *views) view(name string) {
	for i, one := range v.list {
		if one.name() == name {
			v.current = i
		}
	}
}

// shows reports whether the view of that name is shown.
func (v *views) shows(name string) bool { return v.front().name() == name }

// after returns the name of the view so many after the one that is shown, or before it. The duel, which begins a story
// of its own, is passed over.
func (v *views) after(by int) string {
	name := v.list[(v.current+len(v.list)+by)%len(v.list)].name()
	if name == duelName {
		name = v.list[(v.current+len(v.list)+2*by)%len(v.list)].name()
	}
	return name
}

// follow lets the decision view follow the newest request.
func (v *views) follow() { v.decision.picked = -1 }

// Back returns what leaves a view for the first one; nil on that.
func (v *views) Back() func() {
	if v.current == 0 {
		return nil
	}
	return func() { v.current = 0 }
}
