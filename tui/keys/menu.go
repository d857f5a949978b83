package keys

import (
	"cmp"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// rowActions are what can be done with a row beside what every screen can.
func (d *Screen) rowActions() shell.Actions {
	some := func(a shell.Action) shell.Action {
		return a.Unless("There is no key yet.", func() bool { return d.s.Selection.Current() == nil })
	}
	return shell.Actions{
		some(shell.Bind("keys", "key menu", "o", "lists what can be done with the key", func() tea.Cmd { return d.menuAt(-1, -1) }).
			For(shell.ToAct).Hinted("key")),
		some(shell.Bind("keys", "look ahead", "c", "says what a request would meet, of any cost", d.peek).For(shell.ToLook).
			In(shell.OfKey, nil).Also("why explain")),
		some(shell.Bind("keys", "same prefix", "z", "lists only keys that begin like this one", d.filterPrefix).For(shell.ToFind).
			In(shell.OfKey, nil)),
	}
}

// menuAt lists what can be done with the selected key, beside a cell, or with -1 in the middle.
func (d *Screen) menuAt(x, y int) tea.Cmd {
	k := d.s.Selection.Current()
	if k == nil {
		return nil
	}
	first := []shell.Choice{{Name: "select", What: "selects the key, and closes this", Aside: "enter"}}
	p := d.s.Shell.Menu(d.s.Name(k.Reading.Key), first, shell.OfKey)
	if x >= 0 {
		p.Beside(x, y)
	}
	return d.s.Shell.Open(p)
}

// rowAt returns the line of the table at a cell of the screen, or -1.
func (d *Screen) rowAt(x, y int) int {
	in := d.rowsArea()
	if i := d.table.top + d.table.rows.At(y-in.Y); in.Holds(x, y) && i < len(d.table.lines) {
		return i
	}
	return -1
}

// rightClick selects the row under the mouse and opens its menu.
func (d *Screen) rightClick(x, y int) tea.Cmd {
	i := d.rowAt(x, y)
	if i < 0 {
		return nil
	}
	d.focus = paneKeys
	d.table.goTo(i)
	return d.menuAt(x, y)
}

// peek says what one request would meet now, of cost 1 or of the cost that is typed.
func (d *Screen) peek() tea.Cmd {
	said := func(text string) {
		cost, err := strconv.ParseInt(cmp.Or(strings.TrimSpace(text), "1"), 10, 64)
		if k := d.s.Selection.Current(); err != nil || cost < 1 {
			d.s.Shell.Warn("A cost is a number of 1 or more.")
		} else if k != nil {
			d.s.Shell.Say(d.s.Name(k.Reading.Key) + ": " + d.lookAhead(k, cost))
		}
	}
	said("")
	var p *shell.Prompt
	hint := "1 where none is typed · ↑↓ another key"
	p = d.s.Shell.NewPrompt("look ahead with a cost of ", "", hint, said, nil, func(msg tea.KeyPressMsg) bool {
		step := map[string]int{"up": -1, "down": 1}[msg.String()]
		if step != 0 {
			d.table.step(step)
			said(p.Text())
		}
		return step != 0
	})
	return d.s.Shell.Open(p)
}

// lookAhead says what a request of a cost would meet now.
func (d *Screen) lookAhead(k *model.Watched, cost int64) string {
	if age, old := d.s.Shown.Outdated(k); old {
		return "last read " + format.Span(age) + " ago: what a request would meet is not known."
	}
	g := k.Gauge
	if f := k.Reading.Forecast(d.s.Shown.At(), 0, cost); cost > 1 {
		g.NextKnown, g.Next = g.NextKnown && f.Known, f.Next
	}
	return nextTip(&g, cost)
}

// filterPrefix lists only the keys that begin like the selected one, or of the group under
// the cursor.
func (d *Screen) filterPrefix() tea.Cmd {
	k := d.s.Selection.Current()
	if k == nil {
		return nil
	}
	prefix := ""
	if g := d.table.group(); g != nil {
		prefix = g.path
	} else if i := strings.LastIndexAny(strings.TrimRight(k.Reading.Key, separators), separators); i >= 0 {
		prefix = k.Reading.Key[:i+1]
	}
	if prefix == "" {
		return d.s.Shell.Say("The name has no part before it: there is no prefix.")
	}
	d.s.Selection.SetFilter(prefix)
	return nil
}

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
	w.result = k.Run(w.other.Terms, from, k.Reading.At, nil)
	points := collect.Map(w.result.Levels, func(l model.Level) chart.Point { return chart.Point{At: l.At, V: float64(l.Used)} })
	line := chart.Line{Style: w.s.Shell.Canvas.Look.Injected, Points: points}
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
		in.X, in.W = in.X+1, max(in.W-2, 0)
		v.c.Spans(in.X, in.Y, in.X+in.W, title...)
		_, in = in.Top(1)
	}
	w := &v.screen.what.result
	v.c.Flow(in, append(session.WhatIfWords(w, &v.c.Look),
		[]widget.Span{widget.Styled("of the last "+format.Span(w.To.Sub(w.From))+", which begin empty", v.c.Look.Dim)},
		[]widget.Span{widget.Styled("nothing is written", v.c.Look.Dim)},
		[]widget.Span{widget.Styled("w changes the terms, esc ends", v.c.Look.Dim)})...)
}
