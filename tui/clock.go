package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
)

// nextTick arms the clock: a picture ahead, or while nothing moves, at the next full second.
func (a *App) nextTick() tea.Cmd {
	wait := a.pace()
	if a.dozing = a.o.Still || a.calm(); a.dozing {
		wait = time.Second - time.Duration(int64(a.now)%1e6)*time.Microsecond
	}
	generation := a.generation
	return tea.Tick(wait, func(t time.Time) tea.Msg { return tickMsg{t, generation} })
}

// pace is the time to the next picture. Sending one to the terminal is what costs most
// here, so there are as many as there are steps of the timeline to show, and else half as
// many as are allowed: numbers cannot be read any faster.
func (a *App) pace() time.Duration {
	step := time.Duration(0)
	if a.screen == dashboard {
		step = a.scope.Step()
	}
	unhurried := 2 * a.tick
	quiet := len(a.shots) == 0 && !a.throttled && a.now.Sub(a.moved) > 2*time.Second
	switch {
	case step > unhurried && quiet: // at the very moment of the step
		return max(a.tick, min(step-time.Duration(a.now)*time.Microsecond%step, time.Second))
	case step > 0:
		return max(a.tick, min(step, unhurried))
	}
	return unhurried
}

// calm says that nothing on screen changes faster than its clock: nothing arrives, no
// column moves within a second, nothing counts down.
func (a *App) calm() bool {
	if !a.started || a.board.Server.Link != model.Live || len(a.shots) > 0 || a.throttled {
		return false
	}
	quiet := a.now.Sub(a.moved)
	if k := a.board.Key(a.selected); k != nil {
		if w := k.Timeline.Window(); a.screen != dashboard || w < 48*time.Second {
			return quiet > max(2*w, 3*time.Second)
		}
	}
	return quiet > 3*time.Second
}

// wake ends a doze at once: something moves again.
func (a *App) wake() tea.Cmd {
	if !a.dozing {
		return nil
	}
	a.generation++
	return a.nextTick()
}

// advance moves the clock on.
func (a *App) advance(local time.Time) {
	if a.started {
		if p := a.o.Player; p != nil {
			a.now = p.Now(local)
		} else if a.heard != 0 { // the server's clock goes on while it is away
			a.now = max(a.now, a.heard.Add(local.Sub(a.heardAt)))
		}
	}
	if a.toast.text != "" && local.After(a.toast.until) {
		a.toast = toast{}
		a.stale = true
	}
	if a.frozen != nil {
		return
	}
	if a.started {
		if a.board.Server.Link == model.Live { // else what was last known stays
			a.board.Refresh(a.now)
		}
		a.stale = true
		// What is renewed once a second changes together with the clock: a calm screen is
		// drawn once a second.
		if second := int64(a.now) / 1e6; second != a.second {
			a.second = second
			a.resort()
			a.throttled = a.board.Totals().Throttled > 0
			a.unread = a.stalled()
			a.server = a.board.Server
		}
	}
}
