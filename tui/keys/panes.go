package keys

import (
	"cmp"
	_ "embed" // of advice.txt
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/events"
	"ratescope/tui/session"
	"ratescope/tui/timeline"
	"ratescope/tui/widget"
)

func (v view) paintTimeline(r cell.Rect, k *model.Watched) {
	title := v.timelineTitle(k, widget.TitleRoom(r.W))
	room := v.c.Section(r, v.screen.focus == paneTimeline, title...)
	in, sentence := timelineIn(r, v.c.Framed)
	switch {
	case k == nil:
		v.paintAdvice(room)
	case sentence:
		v.c.Spans(room.X, room.Y, room.X+room.W, v.s.Tell.Headline(k, v.c.Look, room.W)...)
	default: // no row is left for the sentence
		v.c.Aside(r, widget.Width(title...), v.s.Tell.NextSlot(k, v.c.Look))
	}
	v.s.Shown.Time.Paint(v.c, in, k, v.s.Shown.Moment(), k != nil && k.Reading.Key == v.s.Selection.Selected)
}

// advice is what to know while a server shows no key, and below the rule while it has never answered: a paragraph a line.
//
//go:embed advice.txt
var advice string

// paintAdvice fills the room of a timeline that has no key.
func (v view) paintAdvice(r cell.Rect) {
	if !v.s.Shown.Started || v.s.Shown.Board().Len() > 0 {
		return
	}
	text, away, _ := strings.Cut(strings.TrimSpace(advice), "\n---\n")
	if s := v.s.Shown.Live().Server; s.Link != model.Live && s.Err != "" {
		text = away
	}
	room := cell.Rect{X: r.X + 1, Y: r.Y + 1, W: min(r.W-2, 90), H: r.H - 1}
	v.c.Paragraphs(room, v.c.Look.Dim, strings.Split(text, "\n")...)
}

// timelineTitle names the key and how it is limited; where room is short the name goes
// before the words about it.
func (v view) timelineTitle(k *model.Watched, room int) []widget.Span {
	if k == nil {
		return []widget.Span{widget.Styled("timeline", v.c.Look.Title)}
	}
	t := k.Reading.Target
	limit := session.LimitText(t)
	mark, style := v.s.Tell.Mark(k, v.c.Look)
	name := v.s.Names.Of(k.Reading.Key)
	algorithm := describe.Title(t.Algorithm)
	inferred := algorithm + collect.If(t.Inferred, " (inferred)", "")
	facts := " · " + cmp.Or(format.First(room-safetext.Width(name+" · ")-2, inferred+" · "+limit, algorithm+" · "+limit,
		describe.Short(t.Algorithm)+" · "+limit), limit)
	return []widget.Span{
		widget.Styled(mark+" ", style),
		widget.Styled(safetext.Shorten(name, max(8, room-2-safetext.Width(facts)), safetext.Ellipsis), v.c.Look.Title),
		widget.Styled(facts, v.c.Look.Dim),
	}
}

// paintBars draws what counts for the selected key now.
func (v view) paintBars(r cell.Rect) {
	k, in, at := v.s.Selection.Current(), r, v.s.Shown.FiguresAt()
	note := collect.If(v.s.Shown.Paused(), " · what counted at "+v.s.Shown.NowText(), " · what counts now")
	title := []widget.Span{widget.Styled("window", v.c.Look.Title), widget.Styled(note, v.c.Look.Dim)}
	old := false
	if k != nil {
		age := time.Duration(0)
		if age, old = v.s.Shown.Outdated(k); old {
			title[1] = widget.Styled(" · last known, "+format.Span(age)+" ago", v.c.Look.Near)
		}
	}
	if v.c.Framed {
		in = v.c.Section(r, false, title...)
	} else { // in one line with the rows around it
		in.X, in.W = r.X+1, max(r.W-2, 0)
		if k != nil && v.screen.areas.timeline.H == 0 { // which has the sentence else
			v.c.Spans(in.X, in.Y, in.X+in.W, v.s.Tell.Headline(k, v.c.Look, in.W)...)
			_, in = in.Top(1)
		}
	}
	timeline.PaintWindow(v.c, in, k, at, old)
}

// decisionCells is the room for a decision beside the forecast, without its latency.
const decisionCells = 49

// injectorPane is the pane that says what firing would do and what it did, on the canvas that it is painted on.
type injectorPane struct {
	c     *widget.Canvas
	s     *session.Session
	split bool // the decisions stand beside the forecast
}

// paint draws the pane; focused says that it has the keyboard. Where one row is all there is, the forecast stands behind the
// buttons, and where one is left below them, the latest decision beside the forecast.
func (v injectorPane) paint(r cell.Rect, focused bool) {
	if r.H == 0 {
		return
	}
	in := v.c.Section(r, focused, v.title(widget.TitleRoom(r.W))...)
	if in.H == 1 && v.s.Orders.CanFire() == "" {
		x := v.keys(in.X, in.Y, in.X+in.W) + 1
		v.c.Flow(cell.Rect{X: x, Y: in.Y, W: in.X + in.W - x, H: 1}, v.forecast(in.W, 1)...)
		return
	}
	left, right := in, cell.Rect{}
	if v.split {
		left, right = in.Left(in.W * 46 / 100)
		right, left.W = cell.Rect{X: right.X + 1, Y: right.Y, W: right.W - 1, H: right.H}, left.W-1
	}
	gap := collect.If(left.H > 5, 1, 0)
	_, room := left.Top(v.buttons(left.X, left.Y, left.X+left.W, left.Y+max(1, left.H-2)) - left.Y + gap)
	list, forecast := v.s.Orders.Decisions, room
	if room.H == 1 && len(list) > 0 && !v.split && room.W >= 76 {
		forecast.W -= decisionCells + 1
		events.PaintDecision(v.c, room.X+room.W-decisionCells, room.Y, room.X+room.W, &list[len(list)-1])
	}
	if said := v.forecast(forecast.W, forecast.H); len(said) > 0 && room.H > 0 {
		_, room = room.Top(v.c.Flow(forecast, said...) - room.Y + gap)
	}
	if v.split {
		room = right
	}
	v.decisions(room)
}

// title says what is being fired, and what became of it where there is room for all
// of that.
func (v injectorPane) title(room int) []widget.Span {
	title := []widget.Span{widget.Styled("injector", v.c.Look.Title)}
	var past []widget.Span
	if n := v.s.Orders.Outcomes.Total(); n > 0 {
		past = append(past, widget.Styled(fmt.Sprintf(" · fired %d: ", n), v.c.Look.Dim),
			widget.Styled(fmt.Sprintf("%d admitted", v.s.Orders.Outcomes.Admitted), v.c.Look.Admitted), widget.Styled(", ", v.c.Look.Dim),
			widget.Styled(fmt.Sprintf("%d denied", v.s.Orders.Outcomes.Denied), v.c.Look.Denied))
		if odd := v.s.Orders.Outcomes.Failed + v.s.Orders.Outcomes.Unanswered; odd > 0 {
			past = append(past, widget.Styled(fmt.Sprintf(", %d failed or unknown", odd), v.c.Look.Unknown))
		}
	}
	if s := v.s.Orders.Rate(); s != nil {
		title = append(title, widget.Styled(" · "+v.s.Orders.UnderWay(s)+" at ", v.c.Look.Injected),
			widget.Styled(v.s.Names.Short(s.Key, 30), v.c.Look.Injected))
	} else if v.s.Orders.Firing() > 0 {
		title = append(title, widget.Styled(fmt.Sprintf(" · %d under way", v.s.Orders.Firing()), v.c.Look.Injected))
	}
	if widget.Width(title...)+widget.Width(past...) > room {
		return title
	}
	return append(title, past...)
}

// buttons draws what can be fired, or says why nothing can; it returns the row below.
func (v injectorPane) buttons(x, y, end, bottom int) int {
	if why := v.s.Orders.CanFire(); why != "" {
		lines := format.Wrap(safetext.Clean(why), end-x)
		if len(lines) > bottom-y { // the remedy matters more than what is wrong
			state := collect.If(v.s.Shown.Back() > 0, "the past: ", "read-only: ")
			if _, remedy, _ := strings.Cut(strings.Join(lines, " "), ": "); remedy != "" {
				lines = format.Wrap(state+remedy, end-x)
			}
		}
		for _, line := range lines {
			if y >= bottom {
				return y
			}
			v.c.Buffer.Text(x, y, end, line, v.c.Look.Dim)
			y++
		}
		if v.s.Options.Inject.Arming != nil && v.s.Orders.Armament().Refused == nil && y < bottom {
			v.c.Button(x, y, end, "!", "arm", v.doing("arm"))
			y++
		}
		return y
	}
	v.keys(x, y, end)
	return y + 1
}

// keys draws a button for each way to fire, and returns the column behind them.
func (v injectorPane) keys(x, y, end int) int {
	x = v.c.Button(x, y, end, "space", "fire 1", v.doing("fire"))
	x = v.c.Button(x, y, end, "b", fmt.Sprintf("burst of %d", v.s.Orders.Burst), v.doing("burst"))
	rate := collect.If(v.s.Orders.Rate() != nil, "stop rate", "rate "+format.PerSecond(v.s.Orders.PerSecond))
	x = v.c.Button(x, y, end, "r", rate, v.doing("rate"))
	x = v.c.Button(x, y, end, "x", "stop", v.doing("stop"))
	x = v.c.Button(x-1, y, end, "-", "less", v.doing("less"))
	x = v.c.Button(x-1, y, end, "+", "more", v.doing("more"))
	if v.s.Options.Inject.Arming != nil {
		x = v.c.Button(x, y, end, "!", "disarm", v.doing("arm"))
	}
	return x
}

// forecast says what the buttons would do now, or in so many lines why they would do nothing.
func (v injectorPane) forecast(columns, lines int) [][]widget.Span {
	k := v.s.Selection.Current()
	if k == nil {
		return nil
	}
	if age, old := v.s.Shown.Outdated(k); old {
		return [][]widget.Span{{widget.Styled("no forecast: what is known is "+format.Span(age)+" old", v.c.Look.Unknown)}}
	}
	if _, err := k.Reading.Aim(); err != nil {
		return collect.Map(format.WrapTo("nothing can be fired: "+safetext.Clean(err.Error()), columns, lines),
			func(line string) []widget.Span { return []widget.Span{widget.Styled(line, v.c.Look.Unknown)} })
	}
	of := func(label string, n int) []widget.Span {
		return append([]widget.Span{widget.Styled(label, v.c.Look.Dim)}, v.fate(k.Reading.Forecast(v.s.Shown.At(), n, 1))...)
	}
	burst := v.s.Orders.Burst
	return [][]widget.Span{of("one ", 1), of(fmt.Sprintf("burst %d ", burst), burst)}
}

func (v injectorPane) fate(f model.Forecast) []widget.Span {
	var out []widget.Span
	if f.Admitted > 0 {
		text := collect.If(f.Admitted == 1 && f.Denied == 0, "admitted", fmt.Sprintf("%d admitted", f.Admitted))
		out = append(out, widget.Styled("→ "+text, v.c.Look.Admitted),
			widget.Styled(fmt.Sprintf(", %s left", format.Short(f.Remaining)), v.c.Look.Dim))
	}
	if f.Denied > 0 {
		lead, text := collect.If(f.Admitted > 0, ", ", "→ "), "denied"
		if f.Admitted+f.Denied > 1 {
			text = fmt.Sprintf("%d denied", f.Denied)
		}
		out = append(out, widget.Styled(lead+text, v.c.Look.Denied))
		switch {
		case f.Next == limiter.Never:
			out = append(out, widget.Styled(", never fits", v.c.Look.Dim))
		case f.Next > 0:
			out = append(out, widget.Styled(", next in "+format.Wait(f.Next), v.c.Look.Dim))
		}
	}
	return out
}

// decisions lists what became of the last requests, newest first.
func (v injectorPane) decisions(r cell.Rect) {
	list := v.s.Orders.Decisions
	if len(list) == 0 && r.H > 0 {
		v.c.Buffer.Text(r.X, r.Y, r.X+r.W, "no request fired yet", v.c.Look.Dim)
	}
	for i := range min(r.H, len(list)) {
		events.PaintDecision(v.c, r.X, r.Y+i, r.X+r.W, &list[len(list)-1-i])
	}
}

// doing returns what a click on an action does.
func (v injectorPane) doing(name string) func(int) tea.Cmd {
	return func(int) tea.Cmd {
		if act := v.s.Shell.All().Named(name); act != nil {
			return act.Do()
		}
		return nil
	}
}
