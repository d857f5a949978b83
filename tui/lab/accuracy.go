package lab

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/lab/accuracy"
	"ratescope/tui/cell"
	"ratescope/tui/keymap"
	"ratescope/tui/widget"
)

// accuracyView shows the plots of the accuracy command under the limit on screen, and runs a source of the selected load.
type accuracyView struct {
	report  *accuracy.Report // nil while it is measured
	lines   []string         // its plots
	asked   bool
	line    int // selected: those after the first are the bands', two each
	actions keymap.Actions
}

// measuredMsg brings what was measured.
type measuredMsg struct {
	report accuracy.Report
	err    error
}

func newAccuracyView(s *Screen) *accuracyView {
	v := &accuracyView{}
	v.actions = keymap.Actions{
		keymap.New("accuracy", "show a source", "enter", "shows a source of this load as a run", func() tea.Cmd { v.run(s); return nil },
			"enter").Hinted("run it"),
	}
	return v
}

func (*accuracyView) name() string              { return "accuracy" }
func (*accuracyView) layout(*Screen, cell.Rect) {}
func (v *accuracyView) keys() keymap.Actions    { return v.actions }
func (v *accuracyView) reset()                  { v.report, v.asked = nil, false }

// move selects the line above or below.
func (v *accuracyView) move(_ *Screen, by int) {
	v.line = min(max(v.line+by, 1), max(len(v.lines)-1, 1))
}

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
		return measuredMsg{report, err}
	})
	return nil
}

// take keeps what was measured.
func (v *accuracyView) take(s *Screen, msg measuredMsg) {
	if msg.err != nil {
		s.fail(msg.err)
		return
	}
	v.report, v.line, v.lines = &msg.report, max(v.line, 1), accuracy.Plots(msg.report, s.app.Options().ASCII)
	s.app.Redraw()
}

// run shows a source of the selected load: independent requests at the middle of its band.
func (v *accuracyView) run(s *Screen) {
	if v.report == nil || v.line > 2*len(v.report.Bands) {
		s.app.Say("Select a load: its source can be shown as a run.")
		return
	}
	b := v.report.Bands[(v.line-1)/2]
	load := (b.From + b.To) / 2
	if b.To == 0 {
		load = 2
	}
	setup := s.run.Setup()
	s.traffic, s.recorded, s.key = []lab.Traffic{{Model: lab.Poisson,
		PerSecond: max(load, 0.05) * float64(setup.Limit.Count) / setup.Limit.Window.Seconds()}}, false, 0
	if err := s.restart(setup); err != nil {
		s.fail(err)
		return
	}
	s.renew()
	s.view("compare")
	s.run.AdvanceTo(s.run.Setup().Zero.Add(2 * setup.Limit.Window))
	s.app.Say("A source of that load. p lets it run.")
}

func (v *accuracyView) paint(p painter, r cell.Rect) {
	limit := p.s.run.Setup().Limit
	in := p.c.Section(r, true, widget.Styled("accuracy", p.c.Look.Title),
		widget.Styled(fmt.Sprintf(" · as ratescope accuracy --limit %d/%s", limit.Count, format.Length(limit.Window)), p.c.Look.Dim))
	if v.report == nil {
		p.c.Buffer.Text(in.X, in.Y+1, in.X+in.W, "measuring…", p.c.Look.Accent)
		return
	}
	first := max(min(v.line-in.H/2, len(v.lines)-in.H), 0)
	for i, line := range v.lines[first:min(first+in.H, len(v.lines))] {
		y, st := in.Y+i, p.c.Look.Text
		switch {
		case first+i == v.line:
			p.c.Buffer.Text(in.X, y, in.X+1, p.c.Look.SelMark, p.c.Look.Accent)
			st = p.c.Look.Title
		case !strings.HasPrefix(line, " "):
			st = p.c.Look.Dim
		}
		x := p.c.Buffer.Text(in.X+1, y, in.X+in.W, line, st)
		for at := in.X + 1; at < x; at++ { // the bars: what is wrong or beyond the limit has not the colour of what is admitted
			if c := p.c.Buffer.At(at, y); c.R == '#' || c.R >= '▁' && c.R <= '▏' {
				p.c.Buffer.Set(at, y, c.R, p.c.Look.Near)
			}
		}
	}
}
