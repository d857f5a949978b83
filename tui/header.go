package tui

import (
	"fmt"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
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
	arms, armStyle := a.armed()
	edge := end - len(right) - 1
	a.grid.Right(x, y, end-1, right, a.look.Dim)
	edge -= len(arms) + 1
	a.grid.Text(edge, y, end, arms, armStyle)

	x = a.words(x, y, edge, piece{" ratescope ", a.look.Title}, piece{" " + label + " ", style}, piece{" ", a.look.Text})
	if !a.started {
		a.words(x, y, edge, piece{"connecting…", a.look.Dim})
		return
	}
	x = a.words(x, y, edge, piece{safetext.Shorten(safetext.Clean(s.Target), max(12, (edge-x)/2), safetext.Ellipsis), a.look.Text})
	for _, p := range a.serverFacts(s) {
		if x+3+safetext.Width(p.text) >= edge {
			break
		}
		x = a.words(x, y, edge, piece{" · ", a.look.Faint}, p)
	}
}

func (a *App) serverFacts(s model.Server) []piece {
	var facts []piece
	if s.Role != "" && !s.Embedded {
		facts = append(facts, piece{safetext.Clean(s.Role), a.look.Dim})
	}
	if s.Version != "" && !s.Embedded {
		facts = append(facts, piece{"redis " + safetext.Clean(s.Version), a.look.Dim})
	}
	if s.Link == model.Live && s.RTT > 0 {
		st := a.look.Good
		if s.RTT > 50*time.Millisecond {
			st = a.look.Near
		}
		facts = append(facts, piece{"rtt " + figure.Latency(s.RTT), st})
	}
	if off := s.Offset; off > 100*time.Millisecond || off < -100*time.Millisecond {
		facts = append(facts, piece{"clock " + figure.Signed(off), a.look.Near})
	}
	if s.Link != model.Live {
		return facts
	}
	if n := len(s.Lacks); n > 0 {
		facts = append(facts, piece{figure.Plural(n, "gap") + " in sight: press 4", a.look.Near})
	}
	if c := a.cost; c.Server > 0 && c.Over > 0 {
		facts = append(facts, piece{fmt.Sprintf("watching costs %.2f%%", 100*float64(c.Server)/float64(c.Over)), a.look.Dim})
	} else if c.Over > 0 && !s.Embedded {
		facts = append(facts, piece{figure.PerSecond(float64(c.Commands) / c.Over.Seconds())[:] + " reads", a.look.Dim})
	}
	return facts
}

// state is the badge of what the screen shows.
func (a *App) state() (string, themes.Style) {
	switch {
	case a.frozen != nil:
		return "PAUSED", a.look.BadgeWarn
	case !a.started || a.board.Server.Link == model.Connecting:
		return "CONNECTING", a.look.BadgeWarn
	case a.board.Server.Link == model.Down:
		return "DOWN " + figure.Span(a.board.Server.Down), a.look.BadgeBad
	}
	return "LIVE", a.look.BadgeLive
}

// armed says whether firing is possible, in a word.
func (a *App) armed() (string, themes.Style) {
	switch {
	case a.o.Injector == nil || a.o.Injector.Armed() != nil:
		return "read-only", a.look.Dim
	case a.board.Server.Embedded:
		return "armed", a.look.Injected
	}
	return " ARMED ", a.look.BadgeWarn
}

func (a *App) paintVerdict(x, y, end int) {
	s := a.board.Server
	if s.Link != model.Live && s.Err != "" {
		a.words(x+1, y, end, piece{a.look.OverMark + " ", a.look.Denied}, piece{safetext.Clean(s.Err), a.look.Denied})
		return
	}
	if !a.started {
		return
	}
	t := a.shown().Totals()
	if t.Keys == 0 {
		a.words(x+1, y, end, piece{a.searching(), a.look.Near})
		return
	}
	ok := t.Keys - t.Throttled - t.Near - t.Broken
	x = a.words(x+1, y, end,
		count(a.look.OverMark, t.Throttled, "throttled", a.look.Denied, a.look.Faint), piece{"   ", a.look.Text},
		count(a.look.NearMark, t.Near, "near limit", a.look.Near, a.look.Faint), piece{"   ", a.look.Text},
		count(a.look.OKMark, ok, "ok", a.look.Good, a.look.Faint))
	if t.Broken > 0 {
		x = a.words(x, y, end, piece{"   ", a.look.Text}, count(a.look.BadMark, t.Broken, "unreadable", a.look.Unknown, a.look.Faint))
	}
	end = a.paintFlow(x, y, end, &t)
	if k := t.Worst; k != nil {
		room := end - x - 28
		if room < 6 {
			return
		}
		from := x + 3
		x = a.words(from, y, end, piece{"longest: ", a.look.Dim},
			piece{safetext.Shorten(a.name(k.Reading.Key), min(room, 28), safetext.Ellipsis), a.look.Text},
			piece{" frees in " + nextText(&k.Gauge), a.look.Denied})
		key := k.Reading.Key
		a.zone(from, y, x-from, 1, func() tea.Cmd { a.selected = key; a.follow(); return nil })
	}
}

// paintFlow writes what is admitted and denied a second at the right, where there is
// room, and returns the column before it.
func (a *App) paintFlow(x, y, end int, t *model.Totals) int {
	denied := piece{"denied: not recorded", a.look.Dim}
	if t.DeniedKnown > 0 {
		denied = piece{fmt.Sprintf("%7s denied", figure.PerSecond(t.Denied)), a.look.Denied}
		if t.Denied == 0 {
			denied.style = a.look.Dim
		}
	}
	admitted := piece{fmt.Sprintf("%7s admitted", figure.PerSecond(t.Admitted)), a.look.Admitted}
	width := len(admitted.text) + len(denied.text) + 2
	if end-x < width+3 {
		return end
	}
	a.words(end-1-width, y, end, admitted, piece{"  ", a.look.Text}, denied)
	return end - 1 - width
}

func count(mark string, n int, what string, lit, unlit themes.Style) piece {
	if n == 0 {
		lit = unlit
	}
	return piece{mark + " " + strconv.Itoa(n) + " " + what, lit}
}

// searching is what to say while there is no key to show.
func (a *App) searching() string {
	w := a.board.Sweep
	if w.Passes == 0 {
		return fmt.Sprintf("Looking for rate limits… %s keys scanned.", figure.Short(w.Scanned))
	}
	text := "No key looks like a rate limit"
	if len(w.Patterns) > 0 && !(len(w.Patterns) == 1 && w.Patterns[0] == "*") {
		text = "No key matches " + safetext.Clean(fmt.Sprint(w.Patterns))
	}
	return text + " yet; still looking."
}

func nextText(g *model.Gauge) string {
	switch {
	case !g.NextKnown:
		return figure.Unknown
	case g.Next == 0:
		return "now"
	}
	return figure.Span(g.Next)
}
