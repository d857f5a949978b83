package lab

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/format"
	"ratescope/model/lab/accuracy"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// accuracyView shows the plots of the accuracy command under the limit on screen.
type accuracyView struct {
	plain
	lines []string // nil while they are measured
	asked bool
	first int // the line on top
}

// measuredMsg brings what was measured.
type measuredMsg struct {
	by     *accuracyView
	report accuracy.Report
	err    error
}

func (v *accuracyView) reset() { v.lines, v.asked = nil, false }

// move scrolls.
func (v *accuracyView) move(_ *Screen, by int) { v.first += by }

// open measures under the limit on screen, beside what goes on.
func (v *accuracyView) open(s *Screen) error {
	limit := s.run.Setup().Limit
	if limit.Count == 0 {
		return fmt.Errorf("a limit of 0 denies nothing, so no decision can be wrong: raise it with w")
	}
	if v.asked {
		return nil
	}
	v.asked = true
	s.later = append(s.later, func() tea.Msg {
		report, err := accuracy.Measure(s.app.Context(), accuracy.Options{Limit: limit, Seed: accuracy.DefaultSeed})
		return measuredMsg{v, report, err}
	})
	return nil
}

// take keeps what was measured.
func (v *accuracyView) take(s *Screen, msg measuredMsg) {
	if msg.err != nil {
		s.fail(msg.err)
		return
	}
	v.lines = accuracy.Plots(msg.report, s.app.Options().ASCII)
	s.app.Redraw()
}

func (v *accuracyView) paint(p painter, r cell.Rect) {
	limit := p.s.run.Setup().Limit
	in := p.c.Section(r, true, widget.Styled("accuracy", p.c.Look.Title),
		widget.Styled(fmt.Sprintf(" · as ratescope accuracy --limit %d/%s", limit.Count, format.Length(limit.Window)), p.c.Look.Dim))
	if v.lines == nil {
		p.c.Buffer.Text(in.X, in.Y+1, in.X+in.W, "measuring…", p.c.Look.Accent)
		return
	}
	v.first = max(min(v.first, len(v.lines)-in.H), 0)
	for i, line := range v.lines[v.first:min(v.first+in.H, len(v.lines))] {
		y, st := in.Y+i, p.c.Look.Text
		if !strings.HasPrefix(line, " ") {
			st = p.c.Look.Title
		}
		x := p.c.Buffer.Text(in.X+1, y, in.X+in.W, line, st)
		for at := in.X + 1; at < x; at++ { // the bars: what is wrong or beyond the limit has not the colour of what is admitted
			if c := p.c.Buffer.At(at, y); c.R == '#' || c.R >= '▁' && c.R <= '▏' {
				p.c.Buffer.Set(at, y, c.R, p.c.Look.Near)
			}
		}
	}
}
