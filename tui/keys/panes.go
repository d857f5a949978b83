package keys

import (
	"strings"

	"ratescope/model"
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
		v.c.Spans(room.X, room.Y, room.X+room.W, v.s.Headline(k, v.c.Look, room.W)...)
	default: // no row is left for the sentence
		v.c.Aside(r, widget.Width(title...), v.s.NextSlot(k, v.c.Look))
	}
	v.s.Shown.Time.Paint(v.c, in, k, v.s.Shown.Moment(), k != nil && k.Reading.Key == v.s.Selection.Selected())
}

// advice is what to know while a server shows no key, and awayAdvice while it has never answered.
const (
	advice = `The keys of about sixty limiter libraries are known by their names and values, and appear here by themselves as soon as a request is counted.
Does yours write a form of its own? Name its keys with --watch 'rl:*' and its limit with --limit 100/1m, or give rules for several kinds of keys in a file: ratescope config init writes one to begin with.
ratescope without --redis shows what this looks like, on a Redis of its own with demo traffic.`
	awayAdvice = `Check the address, the port and the password: --redis redis://user:password@host:6379/0, or rediss:// for TLS. This screen connects by itself when the server answers.
ratescope without --redis shows what this looks like, on a Redis of its own with demo traffic.`
)

// paintAdvice fills the room of a timeline that has no key.
func (v view) paintAdvice(r cell.Rect) {
	if !v.s.Shown.Started() || v.s.Shown.Board().Len() > 0 {
		return
	}
	y, text := r.Y+1, advice
	if s := v.s.Shown.Live().Server; s.Link != model.Live && s.Err != "" {
		text = awayAdvice
	}
	for paragraph := range strings.SplitSeq(text, "\n") {
		for _, line := range format.Wrap(paragraph, min(r.W-2, 90)) {
			if y < r.Y+r.H {
				v.c.Buffer.Text(r.X+1, y, r.X+r.W, line, v.c.Look.Dim)
			}
			y++
		}
		y++
	}
}

// timelineTitle names the key and how it is limited; where room is short the name goes
// before the words about it.
func (v view) timelineTitle(k *model.Watched, room int) []widget.Span {
	if k == nil {
		return []widget.Span{widget.Styled("timeline", v.c.Look.Title)}
	}
	t := k.Reading.Target
	limit := session.LimitText(t)
	mark, style := v.s.Mark(k, v.c.Look)
	name := v.s.Name(k.Reading.Key)
	algorithm := t.Algorithm.Title()
	facts := " · " + algorithm + " · " + limit
	if t.Inferred {
		facts = " · " + algorithm + " (inferred) · " + limit
	}
	for _, shorter := range []string{" · " + algorithm + " · " + limit, " · " + t.Algorithm.Short() + " · " + limit, " · " + limit} {
		if safetext.Width(name+facts)+2 > room {
			facts = shorter
		}
	}
	return []widget.Span{
		widget.Styled(mark+" ", style),
		widget.Styled(safetext.Shorten(name, max(8, room-2-safetext.Width(facts)), safetext.Ellipsis), v.c.Look.Title),
		widget.Styled(facts, v.c.Look.Dim),
	}
}

// paintBars draws what counts for the selected key now.
func (v view) paintBars(r cell.Rect) {
	k, in := v.s.Selection.Current(), r
	title := []widget.Span{widget.Styled("window", v.c.Look.Title), widget.Styled(" · what counts now", v.c.Look.Dim)}
	age, old := v.age(k)
	if old {
		title[1] = widget.Styled(" · last known, "+format.Span(age)+" ago", v.c.Look.Near)
	}
	if v.c.Framed {
		in = v.c.Section(r, false, title...)
	} else { // in one line with the rows around it
		in.X, in.W = r.X+1, max(r.W-2, 0)
		if k != nil && v.screen.areas.timeline.H == 0 { // which has the sentence else
			v.c.Spans(in.X, in.Y, in.X+in.W, v.s.Headline(k, v.c.Look, in.W)...)
			_, in = in.Top(1)
		}
	}
	timeline.PaintWindow(v.c, in, k, v.s.Shown.At(), old)
}

// paintAlerts draws the newest alerts beside the keys; the injector has the decisions.
func (v view) paintAlerts(r cell.Rect) {
	if r.H > 0 {
		events.PaintRecent(v.c, r, v.s)
	}
}
