package shell

import (
	"reflect"
	"slices"

	tea "charm.land/bubbletea/v2"
)

// Group is several programs in one terminal. One of them is shown and has the keyboard; all go on. Make it
// with NewGroup.
type Group struct {
	apps  []*App
	shown int
}

// NewGroup puts programs together, of which the first is shown. They end together.
func NewGroup(apps ...*App) *Group {
	g := &Group{apps: apps}
	for i, a := range apps {
		a.Group, a.keys = g, a.actions() // the host has other keys in a group
		if i > 0 {
			a.life.stop()
			a.life = apps[0].life
		}
	}
	return g
}

// Run shows the programs until a person quits or the context of the first ends.
func (g *Group) Run(extra ...tea.ProgramOption) error { return run(g, g.apps[0], extra) }

// Front shows a program of the group, on the screen on which the one before was. A nil group does nothing.
func (g *Group) Front(a *App) {
	if g.Shows(a) {
		return
	}
	was := g.apps[g.shown]
	g.shown, a.stale = slices.Index(g.apps, a), true
	a.current, a.past, a.mouse, a.theming.fixed = was.current, slices.Clone(was.past), was.mouse, was.theming.fixed
	a.theming.set(was.Canvas.Look.Theme)
	a.toast = was.toast
}

// Shows reports whether a program is the one that is shown, as the only one of a nil group is.
func (g *Group) Shows(a *App) bool { return g == nil || g.apps[g.shown] == a }

// groupMsg is a message of a command of one of the programs.
type groupMsg struct {
	to  *App
	msg tea.Msg
}

// Init is that of all programs.
func (g *Group) Init() tea.Cmd {
	var all []tea.Cmd
	for _, a := range g.apps {
		all = append(all, addressed(a, a.Init()))
	}
	return tea.Batch(all...)
}

// Update gives what a person does to the program that is shown, what a command brings to its own, and what
// is of the terminal to all.
func (g *Group) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	hand := func(a *App, msg tea.Msg) {
		_, cmd := a.Update(msg)
		cmds = append(cmds, addressed(a, cmd))
	}
	switch m := msg.(type) {
	case groupMsg:
		hand(m.to, m.msg)
	case tea.KeyMsg, tea.MouseMsg, tea.PasteMsg:
		hand(g.apps[g.shown], msg)
	default:
		for _, a := range g.apps {
			hand(a, msg)
		}
	}
	if a := g.apps[g.shown]; a.stale {
		cmds = append(cmds, addressed(a, refresh(a)))
	}
	return g, tea.Batch(cmds...)
}

// View is that of the program that is shown.
func (g *Group) View() tea.View { return g.apps[g.shown].View() }

// addressed returns a command whose message comes back to the program that gave it. A message of Bubble
// Tea's own, such as one that quits, stays as it is.
func addressed(a *App, cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = addressed(a, batch[i])
			}
			return batch
		}
		if _, is := msg.(groupMsg); is || msg == nil || reflect.TypeOf(msg).PkgPath() == reflect.TypeFor[tea.BatchMsg]().PkgPath() {
			return msg
		}
		return groupMsg{a, msg}
	}
}
