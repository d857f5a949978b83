package shell

import tea "charm.land/bubbletea/v2"

// guarded is an App, or a Group, as the program runs it: a panic in what it does ends the program in
// order, with the terminal as it was and one sentence, not with a trace over the screen.
type guarded struct {
	of   tea.Model
	life *lifetime
}

// Init is the program's, with its commands guarded.
func (g guarded) Init() (cmd tea.Cmd) {
	defer g.caught()
	return g.guard(g.of.Init())
}

// Update is the program's, with its commands guarded.
func (g guarded) Update(msg tea.Msg) (m tea.Model, cmd tea.Cmd) {
	defer g.caught()
	m = g
	_, cmd = g.of.Update(msg)
	return g, g.guard(cmd)
}

// View is the program's; after a panic it is empty.
func (g guarded) View() (v tea.View) {
	defer g.caught()
	return g.of.View()
}

// guard returns cmd with its panics caught, and those of the commands it starts.
func (g guarded) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer g.caught()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = g.guard(batch[i])
			}
		}
		return msg
	}
}

// caught ends the program when what defers it panics.
func (g guarded) caught() {
	what := recover()
	if what == nil {
		return
	}
	g.life.crash(what)
}
