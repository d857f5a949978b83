package keys

import (
	"fmt"
	"strings"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/events"
	"ratescope/tui/format"
	"ratescope/tui/session"
	"ratescope/tui/widget"

	tea "charm.land/bubbletea/v2"
)

// decisionCells is the room for a decision beside the forecast, without its latency.
const decisionCells = 49

// injectorPane is the pane that says what firing would do and what it did, on the canvas that it is painted on.
type injectorPane struct {
	*widget.Canvas
	*session.Session
	split bool // the decisions stand beside the forecast
}

// paint draws the pane; focused says that it has the keyboard.
func (v injectorPane) paint(r cell.Rect, focused bool) {
	if r.H == 0 {
		return
	}
	in := v.Section(r, focused, v.title(widget.TitleRoom(r.W))...)
	left, right := in, cell.Rect{}
	if v.split {
		left, right = in.Left(in.W * 46 / 100)
		right, left.W = cell.Rect{X: right.X + 1, Y: right.Y, W: right.W - 1, H: right.H}, left.W-1
	}
	y := v.buttons(left.X, left.Y, left.X+left.W, left.Y+max(1, left.H-2))
	if left.H > 5 {
		y++
	}
	n, rows := len(v.Decisions()), left.Y+left.H-y
	if rows <= 2 && (rows == 1 || left.H > 2) && right.H == 0 && n > 0 && left.W >= 76 { // the forecast leaves no row: beside it
		x := left.X + left.W - decisionCells
		y = v.forecast(cell.Rect{X: left.X, Y: left.Y, W: left.W - decisionCells - 1, H: left.H}, y)
		events.PaintDecision(v.Canvas, x, y-1, left.X+left.W, &v.Decisions()[n-1])
		return
	}
	y = v.forecast(left, y)
	if right.H > 0 {
		v.decisions(right)
	} else if y < left.Y+left.H {
		if left.H-(y-left.Y) > 3 { // room to set the past apart from the forecast
			y++
		}
		v.decisions(cell.Rect{X: left.X, Y: y, W: left.W, H: left.Y + left.H - y})
	}
}

// title says what is being fired, and what became of it where there is room for all
// of that.
func (v injectorPane) title(room int) []widget.Span {
	title := []widget.Span{widget.Styled("injector", v.Look.Title)}
	var past []widget.Span
	if n := v.Outcomes().Total(); n > 0 {
		past = append(past, widget.Styled(fmt.Sprintf(" · fired %d: ", n), v.Look.Dim),
			widget.Styled(fmt.Sprintf("%d admitted", v.Outcomes().Admitted), v.Look.Admitted), widget.Styled(", ", v.Look.Dim),
			widget.Styled(fmt.Sprintf("%d denied", v.Outcomes().Denied), v.Look.Denied))
		if odd := v.Outcomes().Failed + v.Outcomes().Unanswered; odd > 0 {
			past = append(past, widget.Styled(fmt.Sprintf(", %d failed or unknown", odd), v.Look.Unknown))
		}
	}
	if s := v.Rate(); s != nil {
		title = append(title, widget.Styled(" · "+v.UnderWay(s)+" at ", v.Look.Injected),
			widget.Styled(v.ShortName(s.Key, 30), v.Look.Injected))
	} else if v.Firing() > 0 {
		title = append(title, widget.Styled(fmt.Sprintf(" · %d under way", v.Firing()), v.Look.Injected))
	}
	if widget.Width(title...)+widget.Width(past...) > room {
		return title
	}
	return append(title, past...)
}

// buttons draws what can be fired, or says why nothing can; it returns the row below.
func (v injectorPane) buttons(x, y, end, bottom int) int {
	if v.Inject.Injector == nil {
		v.Buffer.Text(x, y, end, "nothing can be fired here", v.Look.Dim)
		return y + 1
	}
	if why := v.CanFire(); why != "" {
		lines := format.Wrap(safetext.Clean(why), end-x)
		if len(lines) > bottom-y { // the remedy matters more than what is wrong
			_, remedy, _ := strings.Cut(lines[0]+" "+strings.Join(lines[1:], " "), ": ")
			if remedy != "" {
				lines = format.Wrap("read-only: "+remedy, end-x)
			}
		}
		for _, line := range lines {
			if y >= bottom {
				return y
			}
			v.Buffer.Text(x, y, end, line, v.Look.Dim)
			y++
		}
		if v.Inject.Arming != nil && v.Armament().Refused == nil && y < bottom {
			v.Button(x, y, end, "!", "arm", v.doing("arm"))
			y++
		}
		return y
	}
	x = v.Button(x, y, end, "space", "fire 1", v.doing("fire"))
	x = v.Button(x, y, end, "b", fmt.Sprintf("burst of %d", v.Burst()), v.doing("burst"))
	rate := "rate " + format.PerSecond(v.PerSecond())
	if v.Rate() != nil {
		rate = "stop rate"
	}
	x = v.Button(x, y, end, "r", rate, v.doing("rate"))
	x = v.Button(x, y, end, "x", "stop", v.doing("stop"))
	x = v.Button(x-1, y, end, "-", "less", v.doing("less"))
	x = v.Button(x-1, y, end, "+", "more", v.doing("more"))
	if v.Inject.Arming != nil {
		v.Button(x, y, end, "!", "disarm", v.doing("arm"))
	}
	return y + 1
}

// forecast says what the buttons would do now, and returns the row below.
func (v injectorPane) forecast(r cell.Rect, y int) int {
	k := v.Current()
	if k == nil || y >= r.Y+r.H {
		return y
	}
	end := r.X + r.W
	if age, old := v.Outdated(k); old {
		v.Buffer.Text(r.X, y, end, "no forecast: what is known is "+format.Span(age)+" old", v.Look.Unknown)
		return y + 1
	}
	if _, err := k.Reading.Aim(); err != nil {
		for _, line := range format.Wrap("nothing can be fired: "+safetext.Clean(err.Error()), end-r.X) {
			if y < r.Y+r.H {
				v.Buffer.Text(r.X, y, end, line, v.Look.Unknown)
				y++
			}
		}
		return y
	}
	one, many := k.Reading.Forecast(v.At(), 1, 1), k.Reading.Forecast(v.At(), v.Burst(), 1)
	column := 9
	if r.W < 36 {
		column = 0
	}
	label := func(s string) widget.Span { return widget.Styled(fmt.Sprintf("%-*s ", column-1, s), v.Look.Dim) }
	v.Spans(r.X, y, end, append([]widget.Span{label("one")}, v.fate(one)...)...)
	y++
	if r.H > 2 && y < r.Y+r.H {
		v.Spans(r.X, y, end, append([]widget.Span{label(fmt.Sprintf("burst %d", v.Burst()))}, v.fate(many)...)...)
		y++
	}
	return y
}

func (v injectorPane) fate(f model.Forecast) []widget.Span {
	var out []widget.Span
	if f.Admitted > 0 {
		text := fmt.Sprintf("%d admitted", f.Admitted)
		if f.Admitted == 1 && f.Denied == 0 {
			text = "admitted"
		}
		out = append(out, widget.Styled("→ "+text, v.Look.Admitted), widget.Styled(fmt.Sprintf(", %s left", format.Short(f.Remaining)), v.Look.Dim))
	}
	if f.Denied > 0 {
		lead, text := "→ ", "denied"
		if f.Admitted > 0 {
			lead = ", "
		}
		if f.Admitted+f.Denied > 1 {
			text = fmt.Sprintf("%d denied", f.Denied)
		}
		out = append(out, widget.Styled(lead+text, v.Look.Denied))
		switch {
		case f.Next == limiter.Never:
			out = append(out, widget.Styled(", never fits", v.Look.Dim))
		case f.Next > 0:
			out = append(out, widget.Styled(", next in "+format.Span(f.Next), v.Look.Dim))
		}
	}
	return out
}

// decisions lists what became of the last requests, newest first.
func (v injectorPane) decisions(r cell.Rect) {
	if len(v.Decisions()) == 0 {
		v.Buffer.Text(r.X, r.Y, r.X+r.W, "no request fired yet", v.Look.Dim)
		return
	}
	for i := range r.H {
		n := len(v.Decisions()) - 1 - i
		if n < 0 {
			return
		}
		events.PaintDecision(v.Canvas, r.X, r.Y+i, r.X+r.W, &v.Decisions()[n])
	}
}

// doing returns what a click on an action does.
func (v injectorPane) doing(name string) func(int) tea.Cmd {
	return func(int) tea.Cmd {
		if act := v.All().Named(name); act != nil {
			return act.Do()
		}
		return nil
	}
}
