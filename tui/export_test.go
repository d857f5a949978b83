package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/shell"
)

// App is a screen without a program around it.
type App struct {
	*shell.App
	session *session.Session
}

// New makes a screen without a program around it.
func New(ctx context.Context, o Options) (*App, error) {
	app, s, err := NewDashboard(ctx, o)
	if err != nil {
		return nil, err
	}
	return &App{app, s}, nil
}

// BatchMsg is what arrives when the source has a batch.
func BatchMsg(b model.Batch) tea.Msg { return session.BatchMsg(b) }

// TickMsg is what arrives when the clock moves.
func TickMsg(t time.Time) tea.Msg { return shell.TickAt(t) }

// FiredMsg is what arrives when requests were decided.
func FiredMsg(f ...model.Fired) tea.Msg { return firing.FiredMsg(f...) }

// TakeFired delivers what injectors have reported so far.
func (a *App) TakeFired() { a.Update(a.session.Orders.TakeFired()) }

// Selected returns the selected key.
func (a *App) Selected() string { return a.session.Selection.Selected }

// Group returns the name of the group under the cursor; "" it is on a key.
func (a *App) Group() string { return a.session.Selection.Group }

// Rows returns how many keys are listed.
func (a *App) Rows() int { return len(a.session.Rows.Rows) }

// Bindings returns the actions of the screen that is shown.
func (a *App) Bindings() shell.Actions { return a.All() }

// Listed returns the keys in the order of the table.
func (a *App) Listed() []*model.Watched { return a.session.Rows.Rows }

// SetFilter lists only the keys that fit.
func (a *App) SetFilter(text string) { a.session.Selection.SetFilter(text) }

// StateOf returns the state of a key on screen.
func (a *App) StateOf(k *model.Watched) model.KeyState { return k.State(a.session.Shown.At()) }

// Hits returns what the open picker lists, the best first.
func (a *App) Hits() []shell.Choice {
	if p, ok := a.Over.(*shell.Picker); ok {
		return p.Hits()
	}
	return nil
}

// At returns the instant on screen.
func (a *App) At() limiter.Instant { return a.session.Shown.At() }

// Back returns how far before now the screen looks.
func (a *App) Back() time.Duration { return a.session.Shown.Back() }

// Shown returns a key of the board on screen, or nil.
func (a *App) Shown(key string) *model.Watched { return a.session.Shown.Board().Key(key) }
