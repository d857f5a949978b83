package keys

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/format"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// whatIf is other terms that the requests of the selected key are put through; nothing is
// written. The zero whatIf is off.
type whatIf struct {
	text   string // as typed
	on     bool
	terms  model.Target
	key    string          // what the outcome is of,
	read   limiter.Instant // as of which reading
	result model.WhatIf
}

// askWhatIf lets a person type other terms and shows at once what they would have done.
func (d *Screen) askWhatIf() tea.Cmd {
	k := d.Current()
	if k == nil {
		return nil
	}
	if d.what.text == "" {
		d.what.text = session.TermsText(k.Reading.Target)
	}
	var p *shell.Prompt
	try := func(text string) {
		d.what.text = text
		if p != nil {
			p.Complain("")
		}
		if t, ok := session.ParseTerms(text, k.Reading.Target); ok {
			d.what.terms, d.what.on, d.what.key = t, true, ""
		} else if p != nil {
			p.Complain("not understood: as in gcra 100/1m")
		}
	}
	try(d.what.text)
	p = d.NewPrompt("what if ", d.what.text, "algorithm, limit and burst; x2 doubles · enter keeps · esc ends", try,
		func(text string, kept bool) tea.Cmd {
			if !kept || strings.TrimSpace(text) == "" {
				d.what = whatIf{}
				d.Time.Compare(nil)
			}
			return nil
		}, nil)
	p.Suggest(session.TermsNear(k.Reading.Target))
	d.Open(p)
	return nil
}

// runWhatIf works the other terms out anew where there is a new reading. It begins where the
// timeline does, and three windows back at most.
func (d *Screen) runWhatIf() {
	k := d.Current()
	if !d.what.on || k == nil || k.Timeline == nil {
		return
	}
	if d.what.key == k.Reading.Key && d.what.read == k.Reading.At {
		return
	}
	d.what.key, d.what.read = k.Reading.Key, k.Reading.At
	from := max(d.At().Add(-3*k.Timeline.Window()), k.Timeline.First())
	d.what.result = k.Run(d.what.terms, from, k.Reading.At)
	line := chart.Line{Style: d.Look.Injected}
	for _, l := range d.what.result.Levels {
		line.Points = append(line.Points, chart.Point{At: l.At, V: float64(l.Used)})
	}
	d.Time.Compare(&line)
}

// paintWhatIf draws what became of the requests beside what would have.
func (v view) paintWhatIf(r cell.Rect) {
	title := []widget.Span{widget.Styled("what if", v.Look.Title), widget.Styled(" · "+session.TermsText(v.what.terms), v.Look.Injected)}
	in := r
	if v.Framed {
		in = v.Section(r, false, title...)
	} else {
		v.Spans(in.X, in.Y, in.X+in.W, title...)
		_, in = in.Top(1)
	}
	w := &v.what.result
	denied, unknown := format.Short(w.WasDenied), ""
	if !w.DeniedKnown {
		denied, unknown = format.Unknown, "at least: not recorded"
	}
	row := func(y int, label, was, would, note string) {
		if y >= in.Y+in.H {
			return
		}
		v.Buffer.Text(in.X, y, in.X+13, label, v.Look.Dim)
		v.Buffer.Right(in.X+13, y, in.X+23, was, v.Look.Text)
		v.Buffer.Right(in.X+24, y, in.X+34, would, v.Look.Injected)
		v.Buffer.Text(in.X+36, y, in.X+in.W, safetext.Clip(note, max(in.W-36, 0), safetext.Ellipsis), v.Look.Dim)
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
		v.Buffer.Text(in.X, y, in.X+in.W, text, v.Look.Text)
	}
	if y := in.Y + 5; y < in.Y+in.H {
		v.Buffer.Text(in.X, y, in.X+in.W, "nothing is written · w changes the terms · esc ends", v.Look.Dim)
	}
}
