package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
)

// New makes a screen without a program around it.
func New(ctx context.Context, o Options) (*App, error) { return newApp(ctx, o) }

// BatchMsg is what arrives when the source has a batch.
func BatchMsg(b model.Batch) tea.Msg { return batchMsg{batch: b} }

// TickMsg is what arrives when the clock moves.
func TickMsg(t time.Time) tea.Msg { return tickMsg{at: t} }

// FiredMsg is what arrives when requests were decided.
func FiredMsg(f ...model.Fired) tea.Msg { return firedMsg{fired: f} }

// TakeFired delivers what injectors have reported so far.
func (a *App) TakeFired() {
	select {
	case a.keep.wake <- struct{}{}:
	default:
	}
	a.Update(a.nextFired()())
}

// Selected returns the selected key.
func (a *App) Selected() string { return a.selected }

// Rows returns how many keys are listed.
func (a *App) Rows() int { return len(a.rows) }

// Binding is a line of the table of keys.
type Binding struct {
	Keys  []string
	What  string
	Shown string
	Act   uint8
}

// Bindings returns the table of keys.
func Bindings() []Binding {
	list := make([]Binding, len(bindings))
	for i, b := range bindings {
		list[i] = Binding{b.Keys, b.What, b.Shown, uint8(b.Act)}
	}
	return list
}

// Actions returns how many actions there are; they are numbered from 1.
func Actions() int { return int(actQuit) }

// Groups returns the groups that the help shows, and those that bindings are in.
func Groups() (shown, used map[string]bool) {
	shown, used = map[string]bool{}, map[string]bool{}
	for _, g := range groups {
		shown[g.Name] = true
	}
	for _, b := range bindings {
		used[b.Group] = true
	}
	return shown, used
}

// Screen returns the name of the screen that is shown.
func (a *App) Screen() string {
	return [...]string{dashboard: "dashboard", smallMultiples: "grid", health: "health", eventLog: "events", classScreen: "lab"}[a.screen]
}
