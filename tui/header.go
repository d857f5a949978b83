package tui

import (
	"fmt"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
	"ratescope/tui/vitals"
)

// paintHeader answers the three questions of the person on call in two lines: is
// Redis well, who is throttled, who is close.
func (a *App) paintHeader(r cell.Rect) {
	a.paintServer(r.X, r.Y, r.X+r.W)
	a.paintVerdict(r.X, r.Y+1, r.X+r.W)
}

func (a *App) paintServer(x, y, end int) {
	s := a.server
	label, style := a.state()
	right := figure.Clock(a.shownNow())
	if a.shownNow() == 0 {
		right = ""
	}
	edge := end - len(right) - 1
	a.Grid.Right(x, y, end-1, right, a.Look.Dim)
	arms, armStyle := a.armed(edge - x - len(" ratescope  ") - safetext.Width(label) - 4)
	edge -= safetext.Width(arms) + 1
	if len(a.shots) > 0 {
		a.Zone(cell.Rect{X: edge, Y: y, W: safetext.Width(arms), H: 1}, a.doing(actStop))
	}
	a.Grid.Text(edge, y, end, arms, armStyle)

	x = a.Words(x, y, edge, pane.Bit(" ratescope ", a.Look.Title), pane.Bit(" "+label+" ", style), pane.Bit(" ", a.Look.Text))
	if !a.started {
		a.Words(x, y, edge, pane.Bit("connecting…", a.Look.Dim))
		return
	}
	x = a.Words(x, y, edge, pane.Bit(safetext.Shorten(safetext.Clean(s.Target), max(12, (edge-x)/2), safetext.Ellipsis), a.Look.Text))
	for _, p := range a.serverFacts(s) {
		if x+3+safetext.Width(p.Text) >= edge {
			break
		}
		x = a.Words(x, y, edge, pane.Bit(" · ", a.Look.Faint), p)
	}
}

// serverFacts is what there is to say of the server beside its name, what matters most
// first: those that do not fit are left out.
func (a *App) serverFacts(s model.Server) []pane.Piece {
	var facts []pane.Piece
	say := func(text string, st themes.Style) { facts = append(facts, pane.Bit(safetext.Clean(text), st)) }
	concern := ""
	if list := vitals.Concerns(&a.shown().Health, s); len(list) > 0 && a.screen != health {
		concern = list[0].What
		st := a.Look.Near
		if list[0].Bad {
			st = a.Look.Denied
		}
		say(concern+": press 4", st)
	}
	live := s.Link == model.Live
	if n := len(s.Lacks); n > 0 && live {
		say(figure.Plural(n, "gap")+" in sight: press 4", a.Look.Near)
	}
	if off := s.Offset; off > 100*time.Millisecond || off < -100*time.Millisecond {
		say("clock "+figure.Signed(off), a.Look.Near)
	}
	if rtt := "rtt " + figure.Latency(s.RTT); live && s.RTT > 0 && rtt != concern {
		say(rtt, a.Look.Good)
	}
	if s.Role != "" && !s.Embedded {
		role := s.Role
		if m := a.shown().Health.Unheard; m.Known {
			role += ", heard its master " + fmt.Sprintf("%.0fs", m.V) + " ago"
		}
		say(role, a.Look.Dim)
	}
	if s.Version != "" && !s.Embedded {
		say("redis "+s.Version, a.Look.Dim)
	}
	if c := a.cost; live && c.Over > 0 && c.Server > 0 {
		say(fmt.Sprintf("watching costs %.2f%%", 100*float64(c.Server)/float64(c.Over)), a.Look.Dim)
	} else if live && c.Over > 0 && !s.Embedded {
		say(figure.PerSecond(float64(c.Commands)/c.Over.Seconds())+" reads", a.Look.Dim)
	}
	return facts
}

// state is the badge of what the screen shows.
func (a *App) state() (string, themes.Style) {
	switch {
	case a.o.Player != nil && a.started:
		return a.replayed()
	case a.frozen != nil:
		return "PAUSED", a.Look.BadgeWarn
	case !a.started || a.board.Server.Link == model.Connecting:
		return "CONNECTING", a.Look.BadgeWarn
	case a.board.Server.Link == model.Down:
		return "DOWN " + figure.Span(a.board.Server.Down), a.Look.BadgeBad
	}
	if a.recorder != nil {
		return "LIVE, RECORDING", a.Look.BadgeWarn
	}
	return "LIVE", a.Look.BadgeLive
}

// firing says what is being fired and how to stop it, in at most so many columns: "" when
// nothing is, and whatever the screen is it can be read.
func (a *App) firing(columns int) string {
	if len(a.shots) == 0 {
		return ""
	}
	what, key := "firing", ""
	if s := a.rateShot(); s != nil {
		what, key = "firing "+figure.PerSecond(s.Rate), s.Key
	} else if len(a.shots) == 1 {
		for _, s := range a.shots {
			what, key = fmt.Sprintf("firing %d", s.N), s.Key
		}
	}
	const stops = " · x stops"
	if room := columns - safetext.Width(" "+what+" at "+stops+" "); key != "" && room >= 8 {
		return " " + what + " at " + safetext.Shorten(a.name(key), room, safetext.Ellipsis) + stops + " "
	}
	return figure.First(columns, " "+what+stops+" ", " "+what+" ", "firing")
}

// armed says whether firing is possible, in a word, or what is being fired, in at most so
// many columns.
func (a *App) armed(columns int) (string, themes.Style) {
	if text := a.firing(min(columns, 60)); text != "" {
		return text, a.Look.BadgeWarn
	}
	switch {
	case a.o.Injector == nil || a.o.Injector.Armed() != nil:
		return "read-only", a.Look.Dim
	case a.board.Server.Embedded:
		return "armed", a.Look.Injected
	}
	return " ARMED ", a.Look.BadgeWarn
}

func (a *App) paintVerdict(x, y, end int) {
	s := a.board.Server
	if s.Link != model.Live && s.Err != "" {
		a.Words(x+1, y, end, pane.Bit(a.Look.OverMark+" ", a.Look.Denied), pane.Bit(safetext.Clean(s.Err), a.Look.Denied))
		return
	}
	if !a.started {
		return
	}
	t := a.shown().Totals()
	if t.Keys == 0 {
		a.Words(x+1, y, end, pane.Bit(a.searching(), a.Look.Near))
		return
	}
	stale := a.unread
	ok := max(t.Keys-t.Throttled-t.Near-t.Broken-stale, 0)
	x = a.Words(x+1, y, end,
		count(a.Look.OverMark, t.Throttled, "throttled", a.Look.Denied, a.Look.Faint), pane.Bit("   ", a.Look.Text),
		count(a.Look.NearMark, t.Near, "near limit", a.Look.Near, a.Look.Faint), pane.Bit("   ", a.Look.Text),
		count(a.Look.OKMark, ok, "ok", a.Look.Good, a.Look.Faint))
	if stale > 0 {
		x = a.Words(x, y, end, pane.Bit("   ", a.Look.Text), count(a.Look.StaleMark, stale, "stale", a.Look.Unknown, a.Look.Faint))
	}
	if t.Broken > 0 {
		x = a.Words(x, y, end, pane.Bit("   ", a.Look.Text), count(a.Look.BadMark, t.Broken, "unreadable", a.Look.Unknown, a.Look.Faint))
	}
	end = a.paintFlow(x, y, end, &t)
	if k := t.Worst; k != nil {
		room := end - x - 28
		if room < 6 {
			return
		}
		from, limit := x+3, " · "+limitText(k.Reading.Target)
		if name := min(safetext.Width(a.name(k.Reading.Key)), 28); room < name+safetext.Width(limit) {
			limit = ""
		}
		frees := " frees in " + nextText(&k.Gauge, 6)
		if k.Gauge.Next == limiter.Never {
			frees = " never frees"
		}
		x = a.Words(from, y, end, pane.Bit("longest: ", a.Look.Dim),
			pane.Bit(safetext.Shorten(a.name(k.Reading.Key), min(room, 28), safetext.Ellipsis), a.Look.Text),
			pane.Bit(limit, a.Look.Dim), pane.Bit(frees, a.Look.Denied))
		key := k.Reading.Key
		a.Zone(cell.Rect{X: from, Y: y, W: x - from, H: 1}, func(int) tea.Cmd { a.pick(key); return nil })
	}
}

// paintFlow writes what is admitted and denied a second at the right, where there is
// room, and returns the column before it.
func (a *App) paintFlow(x, y, end int, t *model.Totals) int {
	denied := pane.Bit("denied: not recorded", a.Look.Dim)
	if t.DeniedKnown > 0 {
		denied = pane.Bit(fmt.Sprintf("%7s denied", figure.PerSecond(t.Denied)), a.Look.Denied)
		if t.Denied == 0 {
			denied.Style = a.Look.Dim
		}
	}
	admitted := pane.Bit(fmt.Sprintf("%7s admitted", figure.PerSecond(t.Admitted)), a.Look.Admitted)
	width := len(admitted.Text) + len(denied.Text) + 2
	if end-x < width+3 {
		return end
	}
	a.Words(end-1-width, y, end, admitted, pane.Bit("  ", a.Look.Text), denied)
	return end - 1 - width
}

func count(mark string, n int, what string, lit, unlit themes.Style) pane.Piece {
	if n == 0 {
		lit = unlit
	}
	return pane.Bit(mark+" "+strconv.Itoa(n)+" "+what, lit)
}

// searching is what to say while there is no key to show.
func (a *App) searching() string {
	w := a.board.Sweep
	if lacks := a.board.Server.Lacks; len(lacks) > 0 && w.Passes > 0 {
		return "No rate limit was found, and " + safetext.Clean(lacks[0])
	}
	if w.Passes == 0 {
		return fmt.Sprintf("Looking for rate limits… %s keys scanned.", figure.Short(w.Scanned))
	}
	text := "No key looks like a rate limit"
	if len(w.Patterns) > 0 && !(len(w.Patterns) == 1 && w.Patterns[0] == "*") {
		text = "No key matches " + safetext.Clean(fmt.Sprint(w.Patterns))
	}
	return text + " yet; still looking."
}

// nextText says in at most so many columns, five or more, when a request is admitted.
func nextText(g *model.Gauge, columns int) string {
	switch {
	case !g.NextKnown:
		return figure.Unknown
	case g.Next == 0:
		return "now"
	}
	return figure.SpanIn(g.Next, columns)
}
