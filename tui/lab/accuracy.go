package lab

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/lab"
	"ratescope/model/lab/accuracy"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/keymap"
	"ratescope/tui/widget"
)

// accuracyView measures the sliding window counter against the truth: wrong decisions by
// how heavily a source loads its limit, and the mean difference beside the theory.
type accuracyView struct {
	report  *accuracy.Report // nil while it is measured
	asked   bool
	band    int // selected
	actions keymap.Actions
}

// measuredMsg brings what was measured.
type measuredMsg struct {
	report accuracy.Report
	err    error
}

// How much is measured: enough for two digits, in about a second.
const (
	accuracySources = 200
	accuracyWindows = 1000
)

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

// move selects the band above or below.
func (v *accuracyView) move(_ *Screen, by int) {
	if v.report != nil {
		v.band = min(max(v.band+by, 0), len(v.report.Bands)-1)
	}
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
		report, err := accuracy.Measure(context.Background(), accuracy.Options{Limit: limit, Sources: accuracySources, Windows: accuracyWindows})
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
	v.report, v.band = &msg.report, min(v.band, len(msg.report.Bands)-1)
	s.app.Redraw()
}

// run shows a source of the selected load: independent requests at the middle of its band.
func (v *accuracyView) run(s *Screen) {
	if v.report == nil {
		return
	}
	b := v.report.Bands[v.band]
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
	in := p.c.Section(r, true, widget.Styled("accuracy", p.c.Look.Title),
		widget.Styled(fmt.Sprintf(" · sliding window counter, exact rounding, limit %d in %s", p.s.run.Setup().Limit.Count,
			lab.Seconds(p.s.run.Setup().Limit.Window)), p.c.Look.Dim))
	if v.report == nil {
		p.c.Buffer.Text(in.X, in.Y+1, in.X+in.W, "measuring…", p.c.Look.Accent)
		return
	}
	const lawWidth = 30
	bands, law := 1+2*len(v.report.Bands), 1+len(v.report.Poisson)
	if in.H >= bands+1+law || in.W < 2*lawWidth+barLabel {
		y := v.paintBands(p, in)
		v.paintLaw(p, cell.Rect{X: in.X, Y: y + 1, W: in.W, H: in.Y + in.H - y - 1})
		return
	}
	left, right := in.Left(in.W - lawWidth)
	left.W -= 2
	v.paintBands(p, left)
	v.paintLaw(p, right)
}

// Columns of the bars.
const (
	barLabel = 14
	barValue = 9
)

// share writes a share of 1 with two digits, so that the figures of a column stand under each
// other.
func share(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }

// paintBands draws the share of wrong decisions by load, denied free above denied charged.
func (v *accuracyView) paintBands(p painter, r cell.Rect) int {
	full := string(p.c.Look.Rise[len(p.c.Look.Rise)-1])
	p.c.SpansFit(r.X, r.Y, r.X+r.W, widget.Styled("wrong decisions by load  ", p.c.Look.Title),
		widget.Styled(full+" denied free", p.c.Look.Admitted), widget.Styled("  ",
			p.c.Look.Dim), widget.Styled(string(p.c.Look.Gone)+" denied charged", p.c.Look.Previous))
	most := 0.01
	for i, b := range v.report.Bands {
		most = max(most, b.Wrong(1), v.report.Free.Bands[i].Wrong(1))
	}
	y := r.Y + 1
	shown := max((r.H-1)/2, 1) // where not all have room, those around the selected one
	first := min(max(v.band-shown/2, 0), max(len(v.report.Bands)-shown, 0))
	for i, b := range v.report.Bands {
		free := v.report.Free.Bands[i]
		if i < first || i >= first+shown || y+1 >= r.Y+r.H {
			continue
		}
		label, st := accuracy.LoadWords(b), p.c.Look.Text
		if i == v.band {
			p.c.Buffer.Text(r.X, y, r.X+1, p.c.Look.SelMark, p.c.Look.Accent)
			st = p.c.Look.Title
		}
		p.c.Buffer.Text(r.X+1, y, r.X+barLabel, label, st)
		width := max(r.W-barLabel-barValue-1, 1)
		for k, one := range []struct {
			v     float64
			known bool
			bar   chart.Segment
		}{
			{free.Wrong(1), free.Requests > 0, chart.Segment{Value: free.Wrong(1), Style: p.c.Look.Admitted}},
			{b.Wrong(1), b.Requests > 0, chart.Segment{Value: b.Wrong(1), Style: p.c.Look.Previous, Glyph: p.c.Look.Gone}},
		} {
			text := "–"
			if one.known {
				text = share(one.v)
			}
			chart.Bar(&p.c.Buffer, r.X+barLabel, y+k, width, most, p.c.Look.Glyphs, one.bar)
			p.c.Buffer.Right(r.X+r.W-barValue, y+k, r.X+r.W, text, p.c.Look.Text)
		}
		y += 2
	}
	return y
}

// paintLaw draws the mean difference for Poisson arrivals beside 0.313/√n.
func (v *accuracyView) paintLaw(p painter, r cell.Rect) {
	if r.H < 3 {
		return
	}
	words := []string{"mean difference of the estimate  ", "measured", ", and the stroke is the theory: 0.313/sqrt(n)"}
	label, value := barLabel, barValue
	if r.W < 60 {
		words = []string{"mean error  ", "measured", ", | theory"}
		label, value = 10, 7
	}
	p.c.SpansFit(r.X, r.Y, r.X+r.W, widget.Styled(words[0], p.c.Look.Title), widget.Styled(words[1], p.c.Look.Admitted),
		widget.Styled(words[2], p.c.Look.Dim))
	most := 0.0
	for _, x := range v.report.Poisson {
		most = max(most, x.Measured, x.Law)
	}
	width := max(r.W-label-value-1, 1)
	for i, x := range v.report.Poisson {
		y := r.Y + 1 + i
		if y >= r.Y+r.H {
			return
		}
		p.c.Buffer.Text(r.X+1, y, r.X+label, fmt.Sprintf("n = %d", x.Mean), p.c.Look.Text)
		chart.Bar(&p.c.Buffer, r.X+label, y, width, most, p.c.Look.Glyphs, chart.Segment{Value: x.Measured, Style: p.c.Look.Admitted})
		p.c.Buffer.Set(r.X+label+min(int(x.Law/most*float64(width)), width-1), y, p.c.Look.LimitV, p.c.Look.Denied)
		p.c.Buffer.Right(r.X+r.W-value, y, r.X+r.W, share(x.Measured), p.c.Look.Text)
	}
}
