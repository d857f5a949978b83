package tui

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui/lab"
)

// classroom is the lab as a screen of the dashboard. The lab keeps its place while
// another screen is shown; its clock runs only while it can be seen.
type classroom struct {
	lab     *lab.Lab
	ticking bool
}

// labLeft is what quitting the lab becomes here: it leads back to the dashboard.
type labLeft struct{}

// openLab shows the lab, and sets it up the first time.
func (a *App) openLab() tea.Cmd {
	c := &a.class
	if c.lab == nil {
		save := a.o.Save
		if save == nil {
			save = func(string, []byte) error { return errors.New("this screen keeps no files") }
		}
		room, err := lab.New(lab.Options{Save: save, Shelf: a.o.Shelf, Theme: a.Look.Name, FPS: a.fps, ASCII: a.o.ASCII, Still: a.o.Still})
		if err != nil {
			a.say(true, err.Error())
			return nil
		}
		c.lab = room
	}
	a.screen, a.expanded = classScreen, false
	c.lab.Update(tea.WindowSizeMsg{Width: a.w, Height: a.h})
	if c.ticking {
		return nil
	}
	c.ticking = true
	return c.lab.Init()
}

// teach hands the lab a message, while it is on screen.
func (a *App) teach(msg tea.Msg) tea.Cmd {
	c := &a.class
	if c.lab == nil {
		return nil
	}
	if a.screen != classScreen {
		c.ticking = c.ticking && !lab.Ticks(msg)
		return nil
	}
	a.stale = true
	_, cmd := c.lab.Update(msg)
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		answer := cmd()
		if _, quits := answer.(tea.QuitMsg); quits {
			return labLeft{}
		}
		return answer
	}
}
