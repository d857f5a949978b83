package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/shell"
)

// Stage is a dashboard without a terminal and without a clock of its own: what drives it says
// what the source reports and what time it is, so that the same calls always make the same
// picture. Make one with NewStage. Not safe for concurrent use.
type Stage struct{ app *shell.App }

// NewStage returns a dashboard of so many cells. o.Take is not called.
func NewStage(ctx context.Context, o Options, w, h int) (*Stage, error) {
	app, _, err := newApp(ctx, o)
	if err != nil {
		return nil, err
	}
	app.Update(tea.WindowSizeMsg{Width: w, Height: h})
	return &Stage{app}, nil
}

// Batch takes in what the source reports.
func (s *Stage) Batch(b model.Batch) { s.app.Update(session.BatchMsg(b)) }

// Fired takes in what became of requests that were fired from here.
func (s *Stage) Fired(f ...model.Fired) { s.app.Update(firing.FiredMsg(f...)) }

// Tick moves the clock to an instant.
func (s *Stage) Tick(at time.Time) { s.app.Update(shell.TickAt(at)) }

// Press presses keys, one for each letter. What they start is not carried out.
func (s *Stage) Press(letters string) {
	for _, r := range letters {
		s.app.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

// Text returns the picture as it can be read, a line a row.
func (s *Stage) Text() string { return s.app.Canvas.Buffer.Plain() }

// Rows returns the picture as cell.Document takes it.
func (s *Stage) Rows() []string { return s.app.Canvas.Buffer.SVG() }
