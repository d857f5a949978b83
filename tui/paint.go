package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
	"ratescope/tui/scope"
	"ratescope/tui/vitals"
	"ratescope/tui/window"
)

// View returns the screen. It repaints only when something changed since the last
// call: Bubble Tea asks after every message, not once a frame.
func (a *App) View() tea.View {
	if a.screen == classScreen {
		a.class.lab.Remind(a.remark())
		return a.class.lab.View()
	}
	if a.stale {
		a.stale = false
		a.paint()
		a.frame = a.Grid.String()
	}
	v := tea.NewView(a.frame)
	v.AltScreen = true
	v.WindowTitle = a.title()
	if w := a.board.Sweep; a.started && w.Passes == 0 && w.Total > 0 { // discovery, in the terminal's own bar
		v.ProgressBar = tea.NewProgressBar(tea.ProgressBarDefault, int(100*min(w.Scanned, w.Total)/w.Total))
	}
	if a.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

// remark is what the lab must show of the dashboard behind it. What stops is left out:
// in the lab that key stops the lab.
func (a *App) remark() string {
	text := strings.TrimSuffix(strings.TrimSpace(a.firing(a.w/2-5)), " · x stops") // half of a line is its room there
	if text != "" {
		text = "dashboard: " + text
	}
	return text
}

func (a *App) title() string {
	if !a.started {
		return "ratescope"
	}
	return "ratescope " + safetext.Clip(safetext.Clean(a.board.Server.Target), 60, safetext.Ellipsis)
}

func (a *App) paint() {
	a.Begin()
	a.scope.Forget()
	if a.w < minWidth || a.h < minHeight {
		a.tooSmall()
		return
	}
	a.Framed = a.w >= wideEnough && a.h >= 30
	a.areas = arrange(a.w, a.h, a.focus, a.expanded, a.Framed, a.shown().Len(), len(a.decisions) > 0)
	a.paintHeader(a.areas.header)
	body := cell.Rect{Y: a.areas.header.H, W: a.w, H: a.h - a.areas.header.H - a.areas.footer.H}
	switch a.screen {
	case smallMultiples:
		a.paintGrid(body)
	case health:
		a.vitals().Paint(body)
	case eventLog:
		a.paintEvents(body)
	default:
		a.paintDashboard()
	}
	a.paintFooter(a.areas.footer)
	if a.menu != nil {
		a.paintMenu()
	}
	if a.help {
		a.paintHelp()
	}
}

// vitals is the health screen.
func (a *App) vitals() *vitals.View {
	const hottest = 12
	b := a.shown()
	v := &vitals.View{
		Paper: &a.Paper, Health: &b.Health, Past: b.Vitals(), Hot: &b.Hot, Name: a.name,
		Link: a.board.Server, Server: a.server, Cost: a.cost,
	}
	if b.Hot.At != 0 {
		v.Hottest = b.Hottest(hottest)
	}
	return v
}

func (a *App) paintDashboard() {
	a.paintKeys(a.areas.keys)
	if r := a.areas.timeline; r.H > 0 {
		if other := a.compared(); other != nil && a.expanded {
			var below cell.Rect
			r, below = r.Top(r.H / 2)
			a.paintTimeline(below, other)
		}
		a.paintTimeline(r, a.current())
		a.paintBars(a.areas.bars)
	}
	a.paintAlerts(a.areas.alerts)
	a.paintInjector(a.areas.injector)
}

// compared is the pinned key that an expanded timeline shows below the selected one.
func (a *App) compared() *model.Watched {
	for _, k := range a.rows {
		if k.Pinned && k.Reading.Key != a.selected {
			return k
		}
	}
	return nil
}

func (a *App) tooSmall() {
	a.TooSmall("ratescope", minWidth, minHeight)
	a.Grid.Text(0, 1, a.w, strings.TrimSpace(a.firing(a.w)), a.Look.BadgeWarn)
}

// doing returns what a click on an action does.
func (a *App) doing(act action) func(int) tea.Cmd {
	return func(int) tea.Cmd { return a.do(act) }
}

// moment is when the keys are looked at.
func (a *App) moment() scope.Moment {
	return scope.Moment{Now: a.shownNow(), Live: a.board.Server.Link == model.Live, Stopped: a.frozen != nil, Still: a.o.Still}
}

func (a *App) paintTimeline(r cell.Rect, k *model.Watched) {
	in := a.Section(r, a.focus == paneTimeline, a.timelineTitle(k, pane.TitleRoom(r.W))...)
	if k == nil {
		a.paintAdvice(in)
	}
	a.scope.Paint(&a.Paper, in, k, a.moment(), k != nil && k.Reading.Key == a.selected)
}

// advice is what to know while there is no key to show.
const advice = `What is found by itself: streams with a field count; sorted sets whose scores are times; counters named prefix:resource:subject:<window start>; GCRA and bucket values; and what the limiters of this program's library write.
Say which keys with --watch 'rl:*', what limits them with --limit 100/1m, or both for many kinds of keys in a file of rules with --config.`

// paintAdvice fills the room of a timeline that has no key.
func (a *App) paintAdvice(r cell.Rect) {
	if !a.started || a.shown().Len() > 0 {
		return
	}
	y := r.Y + 1
	for paragraph := range strings.SplitSeq(advice, "\n") {
		for _, line := range figure.Wrap(paragraph, min(r.W-2, 90)) {
			if y < r.Y+r.H {
				a.Grid.Text(r.X+1, y, r.X+r.W, line, a.Look.Dim)
			}
			y++
		}
		y++
	}
}

// timelineTitle names the key and how it is limited; where room is short the name goes
// before the words about it.
func (a *App) timelineTitle(k *model.Watched, room int) []pane.Piece {
	if k == nil {
		return []pane.Piece{pane.Bit("timeline", a.Look.Title)}
	}
	t := k.Reading.Target
	limit := limitText(t)
	mark, style := a.mark(k)
	name := a.name(k.Reading.Key)
	algorithm := figure.AlgorithmInFull(t.Algorithm)
	facts := " · " + algorithm + " · " + limit
	if t.Inferred {
		facts = " · " + algorithm + " (inferred) · " + limit
	}
	for _, shorter := range []string{" · " + algorithm + " · " + limit, " · " + figure.Algorithm(t.Algorithm) + " · " + limit, " · " + limit} {
		if safetext.Width(name+facts)+2 > room {
			facts = shorter
		}
	}
	return []pane.Piece{
		pane.Bit(mark+" ", style),
		pane.Bit(safetext.Shorten(name, max(8, room-2-safetext.Width(facts)), safetext.Ellipsis), a.Look.Title),
		pane.Bit(facts, a.Look.Dim),
	}
}

// limitText is a limit in words.
func limitText(t model.Target) string {
	switch {
	case t.LimitKnown && t.Limit.Count == 0:
		return "count only in " + figure.Length(t.Window)
	case t.LimitKnown:
		return figure.Short(t.Limit.Count) + " in " + figure.Length(t.Window)
	case t.Window > 0:
		return "limit unknown in " + figure.Length(t.Window)
	}
	return "limit unknown"
}

// paintBars draws what counts for the selected key now.
func (a *App) paintBars(r cell.Rect) {
	k, in, old := a.current(), r, false
	title := []pane.Piece{pane.Bit("window", a.Look.Title), pane.Bit(" · what counts now", a.Look.Dim)}
	if k != nil {
		var age time.Duration
		if age, old = a.outdated(k); old {
			title[1] = pane.Bit(" · last known, "+figure.Span(age)+" ago", a.Look.Near)
		}
	}
	if a.Framed {
		in = a.Section(r, false, title...)
	}
	window.Paint(&a.Paper, in, k, a.shownNow(), old)
}
