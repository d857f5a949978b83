package keys

import (
	"cmp"
	_ "embed" // of tips.txt
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/timeline"
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
			In(shell.OfKey).Also("why explain")),
		some(shell.Bind("keys", "same prefix", "z", "lists only keys that begin like this one", d.filterPrefix).For(shell.ToFind).
			In(shell.OfKey)),
	}
}

// menuAt lists what can be done with the selected key, beside a cell, or with -1 in the middle.
func (d *Screen) menuAt(x, y int) tea.Cmd {
	k := d.s.Selection.Current()
	if k == nil {
		return nil
	}
	first := []shell.Choice{{Name: "select", What: "selects the key, and closes this", Aside: "enter"}}
	p := d.s.Shell.Menu(d.s.Names.Of(k.Reading.Key), first, shell.OfKey)
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
			d.s.Shell.Say(d.s.Names.Of(k.Reading.Key) + ": " + d.lookAhead(k, cost))
		}
	}
	said("")
	var p *shell.Prompt
	hint := "1 where none is typed · ↑↓ another key"
	p = d.s.Shell.NewPrompt("look ahead with a cost of ", "", hint, said, nil, func(by int) {
		d.table.step(by)
		said(p.Text())
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
func (w *whatIf) ask() {
	if k := w.s.Selection.Current(); k != nil {
		w.other.Ask(w.s.Shell, k.Reading.Target, "algorithm, limit and burst; x2 doubles · enter keeps · esc ends", func() {
			if w.key = ""; !w.other.On {
				w.s.Shown.Time.Compare(nil)
			}
		})
	}
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

// tips say what the columns of the table are, by their titles, and the rows of the weighted bars, by the word that each begins with.
//
//go:embed tips.txt
var tips string

// tip returns what the line of tips says that begins so; "" where there is none.
func tip(of string) string { return format.Line(tips, of) }

// cellTip says what a cell of a row is made of.
func (t *table) cellTip(title string, k *model.Watched) string {
	if k.Reading.Err != "" {
		return t.s.Names.Of(k.Reading.Key) + " " + safetext.Clean(k.Reading.Err) + "."
	}
	g, target := &k.Gauge, &k.Reading.Target
	limit := describe.Title(target.Algorithm) + ", " + session.LimitText(*target) + tip("from "+target.LimitFrom.String()) + "."
	switch title {
	case "used/limit":
		return t.usedTip(k)
	case "rate":
		text := model.Measure{Known: g.RateKnown, V: g.Rate}.Text(format.PerSecond) +
			" over the window of " + format.Length(target.Window) + "."
		if g.RecentKnown {
			text = format.PerSecond(g.Recent) + " over the latest seconds; " + text
		}
		text += " What is admitted; the order by rate counts what is denied, too, where that is known."
		if k := describe.KindOf(target.Algorithm); k == describe.Arrival || k == describe.Bucket {
			text += " At least: what leaks away between two readings is not seen."
		}
		return text
	case "denied":
		if !g.DeniedInW.Known {
			return "The store does not record what this limiter denies."
		}
		text := format.Plural(int(g.DeniedInW.N), "request") + " denied in the last " + format.Length(target.Window)
		if g.DeniedPerSec.Known {
			text += ", " + format.PerSecond(g.DeniedPerSec.V) + " in the latest seconds"
		}
		return text + "."
	case "next":
		return nextTip(g, 1)
	case "limiter", "limit":
		return limit
	case "library":
		return evidenceTip(target)
	}
	return t.s.Names.Of(k.Reading.Key) + ": " + limit + " " + evidenceTip(target)
}

// usedTip writes down what the used count is the sum of.
func (t *table) usedTip(k *model.Watched) string {
	g, target := &k.Gauge, &k.Reading.Target
	if !g.Used.Known {
		return "What is used is not known."
	}
	of := ""
	if g.Remaining.Known {
		of = fmt.Sprintf(" of %s, %.0f %%", format.Short(model.Capacity(*target)), 100*g.Utilization)
	}
	used := format.Short(g.Used.N)
	switch describe.KindOf(target.Algorithm) {
	case describe.Weighted:
		if g.Previous.Known {
			return fmt.Sprintf("%s previous × %s + %s current = %s%s. The share of the previous window shrinks as time passes.",
				format.Short(g.Previous.N), model.SumOf(g, target.Convention.Rounding).Weight, format.Short(g.Current.N), used, of)
		}
	case describe.Log:
		return fmt.Sprintf("%s%s, in the last %s, counted one by one.", format.Plural(int(g.Used.N), "request"), of,
			format.Length(target.Window))
	case describe.Window:
		return fmt.Sprintf("%s since the window began%s; it ends in %s.", format.Plural(int(g.Used.N), "request"), of,
			format.Wait(g.End.Sub(t.s.Shown.At())))
	case describe.Arrival:
		return fmt.Sprintf("The next arrival time is %s ahead of now: as much as %s%s.", format.Span(max(0, g.TAT.Sub(t.s.Shown.At()))),
			format.Plural(int(g.Used.N), "request"), of)
	case describe.Bucket:
		if target.Algorithm == limiter.LeakyBucket {
			return fmt.Sprintf("The level is %s%s; it drains evenly.", used, of)
		}
		return fmt.Sprintf("%s tokens are taken%s; they refill evenly.", used, of)
	}
	return used + " used" + of + "."
}

// nextTip says when a request of a cost is admitted, by a gauge whose Next is of that cost.
func nextTip(g *model.Gauge, cost int64) string {
	request := "request of cost " + format.Thousands(cost)
	switch {
	case !g.NextKnown:
		return "Without a limit nothing says when the next request is admitted."
	case g.Next == limiter.Never:
		return "One " + request + " is never admitted: the key does not expire, or the limit is smaller."
	case g.Next > 0:
		return "One " + request + " is admitted in " + format.Wait(g.Next) + ", if nothing else comes."
	}
	return fmt.Sprintf("One %s is admitted now; there is room for %s.", request, g.Remaining.Short())
}

// evidenceTip says what says that the key is a limiter.
func evidenceTip(t *model.Target) string {
	switch {
	case t.Evidence == model.Likely:
		return "Likely a limiter: value and behaviour fit, the name does not say which."
	case t.Evidence == model.Known && t.Library != "":
		return "Known: name, type, value and expiry agree with the layout of " + safetext.Clean(t.Library) + "."
	case t.Library != "":
		return "Told by a rule or a pattern; the layout is that of " + safetext.Clean(t.Library) + "."
	}
	return "Told: a rule or a pattern names it; the form of its value decides the algorithm."
}

// groupTip says what the row of a group adds up.
func (t *table) groupTip(g *group) string {
	text := fmt.Sprintf("%s begin with %s: %d denied, %d near.", format.Plural(g.keys, "key"), g.path, g.denied, g.near)
	if g.worst != nil {
		text += fmt.Sprintf(" The fill is that of the nearest to its limit, %s.", t.s.Names.Of(g.worst.Reading.Key))
	}
	return text + " Rates are sums."
}

// parts are what of the past makes a row of the bars.
var parts = map[string]timeline.Part{
	"previous": timeline.PreviousPart, "current": timeline.CurrentPart, "estimate": timeline.CountedPart, "exact": timeline.CountedPart,
}

// labelAt returns the word that the row at y of a pane begins with, as it was painted last.
func labelAt(b *cell.Buffer, r cell.Rect, y int) string {
	var word strings.Builder
	for x := r.X; x < r.X+r.W; x++ {
		c := b.At(x, y).R
		if letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'; letter {
			word.WriteRune(c)
		} else if word.Len() > 0 {
			break
		}
	}
	return word.String()
}

// partAt returns what of the past makes the figure at a cell.
func (d *Screen) partAt(x, y int) timeline.Part {
	if !d.areas.bars.Holds(x, y) {
		return timeline.NoPart
	}
	return parts[labelAt(&d.s.Shell.Canvas.Buffer, d.areas.bars, y)]
}

// paintTips lets the timeline and the bars say what they show.
func (v view) paintTips() {
	v.c.Tip(v.screen.areas.timeline, func(x, y int) string {
		if !v.s.Shown.Time.Holds(x, y) {
			return ""
		}
		return v.s.Shown.Time.Describe(x, v.s.Selection.Current())
	})
	if !v.screen.what.other.On {
		v.c.Tip(v.screen.areas.bars, func(_, y int) string { return tip("bar " + labelAt(&v.c.Buffer, v.screen.areas.bars, y)) })
	}
}
