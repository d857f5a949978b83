package keys

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// whatIf is other terms that the requests of the selected key are put through; nothing is
// written. It is off before ask.
type whatIf struct {
	s *session.Session

	other  session.OtherTerms
	key    string          // what the outcome is of,
	read   limiter.Instant // as of which reading
	result model.WhatIf
}

// ask lets a person type other terms and shows at once what they would have done.
func (w *whatIf) ask() tea.Cmd {
	if k := w.s.Selection.Current(); k != nil {
		w.s.AskWhatIf(&w.other, k.Reading.Target, "algorithm, limit and burst; x2 doubles · enter keeps · esc ends", func() {
			if w.key = ""; !w.other.On {
				w.s.Shown.Time.Compare(nil)
			}
		})
	}
	return nil
}

// run works the other terms out anew where there is a new reading. It begins where the
// timeline does, and three windows back at most.
func (w *whatIf) run() {
	k := w.s.Selection.Current()
	if !w.other.On || k == nil || k.Timeline == nil {
		return
	}
	if w.key == k.Reading.Key && w.read == k.Reading.At {
		return
	}
	w.key, w.read = k.Reading.Key, k.Reading.At
	from := max(w.s.Shown.At().Add(-3*k.Timeline.Window()), k.Timeline.First())
	w.result = k.Run(w.other.Terms, from, k.Reading.At)
	line := chart.Line{Style: w.s.Shell.Canvas.Look.Injected}
	for _, l := range w.result.Levels {
		line.Points = append(line.Points, chart.Point{At: l.At, V: float64(l.Used)})
	}
	w.s.Shown.Time.Compare(&line)
}

// end shows the requests as they were again.
func (w *whatIf) end() {
	*w = whatIf{s: w.s}
	w.s.Shown.Time.Compare(nil)
}

// paintWhatIf draws what became of the requests beside what would have.
func (v view) paintWhatIf(r cell.Rect) {
	title := []widget.Span{widget.Styled("what if", v.c.Look.Title),
		widget.Styled(" · "+session.TermsText(v.screen.what.other.Terms), v.c.Look.Injected)}
	in := r
	if v.c.Framed {
		in = v.c.Section(r, false, title...)
	} else {
		v.c.Spans(in.X, in.Y, in.X+in.W, title...)
		_, in = in.Top(1)
	}
	w := &v.screen.what.result
	denied, unknown := format.Short(w.WasDenied), ""
	if !w.DeniedKnown {
		denied, unknown = format.Unknown, "at least: not recorded"
	}
	row := func(y int, label, was, would, note string) {
		if y >= in.Y+in.H {
			return
		}
		v.c.Buffer.Text(in.X, y, in.X+13, label, v.c.Look.Dim)
		v.c.Buffer.Right(in.X+13, y, in.X+23, was, v.c.Look.Text)
		v.c.Buffer.Right(in.X+24, y, in.X+34, would, v.c.Look.Injected)
		v.c.Buffer.Text(in.X+36, y, in.X+in.W, safetext.Clip(note, max(in.W-36, 0), safetext.Ellipsis), v.c.Look.Dim)
	}
	row(in.Y, "last "+format.Span(w.To.Sub(w.From)), "as it was", "what if", "")
	row(in.Y+1, "admitted", format.Short(w.Was), format.Short(w.Admitted), "")
	row(in.Y+2, "denied", denied, format.Short(w.Denied), unknown)
	row(in.Y+3, "longest wait", "", format.Span(w.Longest), "")
	if y := in.Y + 4; y < in.Y+in.H {
		text := "no request would have met another fate"
		if w.Differs != 0 {
			text = "differs first at " + format.ClockMillis(w.Differs) + ": admits more"
			if w.Stricter {
				text = "differs first at " + format.ClockMillis(w.Differs) + ": denies more"
			}
		}
		v.c.Buffer.Text(in.X, y, in.X+in.W, text, v.c.Look.Text)
	}
	if y := in.Y + 5; y < in.Y+in.H {
		v.c.Buffer.Text(in.X, y, in.X+in.W, "nothing is written · w changes the terms · esc ends", v.c.Look.Dim)
	}
}
