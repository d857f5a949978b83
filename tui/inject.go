package tui

import (
	"fmt"
	"strings"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// paintInjector draws what firing would do and what it did.
func (a *App) paintInjector(r cell.Rect) {
	if r.H == 0 {
		return
	}
	in := a.Section(r, a.focus == paneInjector, a.injectorTitle(pane.TitleRoom(r.W))...)
	left, right := in, cell.Rect{}
	if a.areas.split {
		left, right = in.Left(in.W * 46 / 100)
		right, left.W = cell.Rect{X: right.X + 1, Y: right.Y, W: right.W - 1, H: right.H}, left.W-1
	}
	y := a.paintButtons(left.X, left.Y, left.X+left.W, left.Y+max(1, left.H-2))
	if left.H > 5 {
		y++
	}
	y = a.paintForecast(left, y)
	if n := len(a.decisions); right.H > 0 {
		a.paintDecisions(right)
	} else if y == left.Y+left.H && n > 0 && left.W >= 76 { // no row is left: beside the forecast
		a.paintDecision(left.X+left.W-52, y-1, left.X+left.W, &a.decisions[n-1])
	} else if y < left.Y+left.H {
		if left.H-(y-left.Y) > 3 { // room to set the past apart from the forecast
			y++
		}
		a.paintDecisions(cell.Rect{X: left.X, Y: y, W: left.W, H: left.Y + left.H - y})
	}
}

// injectorTitle says what is being fired, and what became of it where there is room for all
// of that.
func (a *App) injectorTitle(room int) []pane.Piece {
	title := []pane.Piece{pane.Bit("injector", a.Look.Title)}
	var past []pane.Piece
	if n := a.tally.Total(); n > 0 {
		past = append(past, pane.Bit(fmt.Sprintf(" · fired %d: ", n), a.Look.Dim),
			pane.Bit(fmt.Sprintf("%d admitted", a.tally.Admitted), a.Look.Admitted), pane.Bit(", ", a.Look.Dim),
			pane.Bit(fmt.Sprintf("%d denied", a.tally.Denied), a.Look.Denied))
		if odd := a.tally.Failed + a.tally.Unanswered; odd > 0 {
			past = append(past, pane.Bit(fmt.Sprintf(", %d failed or unknown", odd), a.Look.Unknown))
		}
	}
	if s := a.rateShot(); s != nil {
		title = append(title, pane.Bit(" · firing "+figure.PerSecond(s.Rate)+" at ", a.Look.Injected),
			pane.Bit(safetext.Shorten(a.name(s.Key), 30, safetext.Ellipsis), a.Look.Injected))
	} else if len(a.shots) > 0 {
		title = append(title, pane.Bit(fmt.Sprintf(" · %d under way", len(a.shots)), a.Look.Injected))
	}
	if pane.Width(title...)+pane.Width(past...) > room {
		return title
	}
	return append(title, past...)
}

// paintButtons draws what can be fired, or says why nothing can; it returns the row below.
func (a *App) paintButtons(x, y, end, bottom int) int {
	if a.o.Injector == nil {
		a.Grid.Text(x, y, end, "nothing can be fired here", a.Look.Dim)
		return y + 1
	}
	if err := a.o.Injector.Armed(); err != nil {
		lines := figure.Wrap(safetext.Clean(err.Error()), end-x)
		if len(lines) > bottom-y { // the remedy matters more than what is wrong
			_, remedy, _ := strings.Cut(lines[0]+" "+strings.Join(lines[1:], " "), ": ")
			if remedy != "" {
				lines = figure.Wrap("read-only: "+remedy, end-x)
			}
		}
		for _, line := range lines {
			if y >= bottom {
				return y
			}
			a.Grid.Text(x, y, end, line, a.Look.Dim)
			y++
		}
		return y
	}
	x = a.Button(x, y, end, "space", "fire 1", a.doing(actFire))
	x = a.Button(x, y, end, "b", fmt.Sprintf("burst of %d", a.burst), a.doing(actBurst))
	rate := "rate " + figure.PerSecond(a.perSecond)
	if a.rateShot() != nil {
		rate = "stop rate"
	}
	x = a.Button(x, y, end, "r", rate, a.doing(actRate))
	x = a.Button(x, y, end, "x", "stop", a.doing(actStop))
	x = a.Button(x-1, y, end, "-", "less", a.doing(actLess))
	a.Button(x-1, y, end, "+", "more", a.doing(actMore))
	return y + 1
}

// paintForecast says what the buttons would do now, and returns the row below.
func (a *App) paintForecast(r cell.Rect, y int) int {
	k := a.current()
	if k == nil || y >= r.Y+r.H {
		return y
	}
	end := r.X + r.W
	if age, old := a.outdated(k); old {
		a.Grid.Text(r.X, y, end, "no forecast: what is known is "+figure.Span(age)+" old", a.Look.Unknown)
		return y + 1
	}
	if _, err := k.Reading.Aim(); err != nil {
		for _, line := range figure.Wrap("nothing can be fired: "+safetext.Clean(err.Error()), end-r.X) {
			if y < r.Y+r.H {
				a.Grid.Text(r.X, y, end, line, a.Look.Unknown)
				y++
			}
		}
		return y
	}
	one, many := k.Reading.Forecast(a.shownNow(), 1, 1), k.Reading.Forecast(a.shownNow(), a.burst, 1)
	label := func(s string) pane.Piece { return pane.Bit(fmt.Sprintf("%-9s", s), a.Look.Dim) }
	a.Words(r.X, y, end, append([]pane.Piece{label("one")}, a.fate(one)...)...)
	y++
	if r.H > 2 && y < r.Y+r.H {
		a.Words(r.X, y, end, append([]pane.Piece{label(fmt.Sprintf("burst %d", a.burst))}, a.fate(many)...)...)
		y++
	}
	return y
}

func (a *App) fate(f model.Forecast) []pane.Piece {
	var out []pane.Piece
	if f.Admitted > 0 {
		text := fmt.Sprintf("%d admitted", f.Admitted)
		if f.Admitted == 1 && f.Denied == 0 {
			text = "admitted"
		}
		out = append(out, pane.Bit("→ "+text, a.Look.Admitted), pane.Bit(fmt.Sprintf(", %s left", figure.Short(f.Remaining)), a.Look.Dim))
	}
	if f.Denied > 0 {
		lead, text := "→ ", "denied"
		if f.Admitted > 0 {
			lead = ", "
		}
		if f.Admitted+f.Denied > 1 {
			text = fmt.Sprintf("%d denied", f.Denied)
		}
		out = append(out, pane.Bit(lead+text, a.Look.Denied))
		switch {
		case f.Next == limiter.Never:
			out = append(out, pane.Bit(", never fits", a.Look.Dim))
		case f.Next > 0:
			out = append(out, pane.Bit(", next in "+figure.Span(f.Next), a.Look.Dim))
		}
	}
	return out
}

// paintDecisions lists what became of the last requests, newest first.
func (a *App) paintDecisions(r cell.Rect) {
	if len(a.decisions) == 0 {
		a.Grid.Text(r.X, r.Y, r.X+r.W, "no request fired yet", a.Look.Faint)
		return
	}
	for i := range r.H {
		n := len(a.decisions) - 1 - i
		if n < 0 {
			return
		}
		a.paintDecision(r.X, r.Y+i, r.X+r.W, &a.decisions[n])
	}
}

func (a *App) paintDecision(x, y, end int, d *decided) {
	mark, what, st := a.outcome(d.Outcome)
	if d.n > 1 {
		what += fmt.Sprintf(" ×%d", d.n)
	}
	x = a.Words(x, y, end, pane.Bit(figure.ClockMillis(d.At)+" ", a.Look.Dim), pane.Bit(fmt.Sprintf("%s %-13s", mark, what), st))
	switch d.Outcome {
	case model.Admitted:
		x = a.Words(x, y, end, pane.Bit(fmt.Sprintf("cost %-3d left %-7s", d.Cost, figure.Short(d.Decision.Remaining)), a.Look.Text))
	case model.Denied:
		x = a.Words(x, y, end, pane.Bit(fmt.Sprintf("cost %-3d retry %-6s", d.Cost, figure.Span(d.Decision.RetryAfter)), a.Look.Text))
	default:
		a.Grid.Text(x, y, end, safetext.Clip(safetext.Clean(d.Err), max(0, end-x), safetext.Ellipsis), a.Look.Text)
		return
	}
	a.Words(x, y, end, pane.Bit(fmt.Sprintf("%8s", figure.Latency(d.Latency)), a.Look.Dim))
}

func (a *App) outcome(o model.Outcome) (mark, what string, st themes.Style) {
	switch o {
	case model.Admitted:
		return a.Look.YesMark, "admitted", a.Look.Admitted
	case model.Denied:
		return a.Look.OverMark, "denied", a.Look.Denied
	case model.Failed:
		return "!", "error", a.Look.Near
	}
	return "?", "unknown", a.Look.Unknown
}
