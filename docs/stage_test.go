package docs_test

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/shell"
)

// stage is a dashboard without a terminal and without a clock of its own: what drives it says
// what the source reports and what time it is, so that the same calls always make the same
// picture. Make one with newStage. Not safe for concurrent use.
type stage struct{ app *shell.App }

// newStage returns a dashboard of so many cells. o.Take is not called.
func newStage(ctx context.Context, o tui.Options, w, h int) (*stage, error) {
	app, _, err := tui.NewDashboard(ctx, o)
	if err != nil {
		return nil, err
	}
	app.Update(tea.WindowSizeMsg{Width: w, Height: h})
	return &stage{app}, nil
}

// batch takes in what the source reports.
func (s *stage) batch(b model.Batch) { s.app.Update(session.BatchMsg(b)) }

// fired takes in what became of requests that were fired from here.
func (s *stage) fired(f ...model.Fired) { s.app.Update(firing.FiredMsg(f...)) }

// tick moves the clock to an instant.
func (s *stage) tick(at time.Time) { s.app.Update(shell.TickAt(at)) }

// press presses keys, one for each letter. What they start is not carried out.
func (s *stage) press(letters string) {
	for _, r := range letters {
		s.app.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

// text returns the picture as it can be read, a line a row.
func (s *stage) text() string { return s.app.Canvas.Buffer.Plain() }

// rows returns the picture as cell.Document takes it.
func (s *stage) rows() []string { return s.app.Canvas.Buffer.SVG() }
