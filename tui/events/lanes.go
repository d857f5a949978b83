package events

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// logWidth is the room of the log where the lanes stand beside it.
const logWidth = 68

// arrange divides the room between the log and the lanes: beside each other where there is
// width, else the lanes below. What the panes hold moves no border.
func (sc *Screen) arrange(r cell.Rect, framed bool) {
	switch {
	case framed:
		sc.log, sc.lanes = r.Left(max(logWidth, r.W*3/5))
	case r.H >= 16:
		sc.log, sc.lanes = r.Top(r.H * 3 / 5)
	default:
		sc.log, sc.lanes = r, cell.Rect{}
	}
}

// spans are the lengths of time that the lanes can show.
var spans = [...]time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// lane is a key with the stretches of time in which it denied, newest first.
type lane struct {
	key    string
	denied []stretch
	near   []limiter.Instant
}

type stretch struct{ from, to limiter.Instant }

// laneList are the keys of the listed events, those with the newest first.
func (v view) laneList(list []event) (lanes []*lane) {
	of := map[string]*lane{}
	for i := range list {
		e := &list[i]
		key := e.key()
		if key == "" || e.alert == nil {
			continue
		}
		l := of[key]
		if l == nil {
			l = &lane{key: key}
			of[key], lanes = l, append(lanes, l)
		}
		switch e.alert.What {
		case model.BecameThrottled:
			l.denied = append(l.denied, stretch{e.at, e.at.Add(e.lasted)})
		case model.BecameClose:
			l.near = append(l.near, e.at)
		}
	}
	return lanes
}

// paintLanes draws when the keys of the listed events denied, on one axis of time; the column
// of the selected event is marked. A click opens the key at that moment.
func (sc *Screen) paintLanes(v view, r cell.Rect) {
	if r.H < 4 {
		return
	}
	in := v.c.Section(r, false, widget.Styled("lanes", v.c.Look.Title), widget.Styled(" · when keys denied", v.c.Look.Dim))
	name := min(max(in.W*2/5, 12), 30)
	plot := cell.Rect{X: in.X + name + 3, Y: in.Y, W: in.W - name - 3, H: in.H - 1}
	if plot.W < 8 || plot.H < 1 || len(sc.list) == 0 {
		return
	}
	now, oldest := v.s.Shown.At(), sc.list[len(sc.list)-1].at
	span := spans[0]
	for _, s := range spans[1:] {
		if now.Sub(oldest) > span {
			span = s
		}
	}
	column := span / time.Duration(plot.W)
	from := now.Add(-column * time.Duration(plot.W))
	place := func(at limiter.Instant) int { return int(at.Sub(from) / column) }
	for i, l := range v.laneList(sc.list) {
		if i >= plot.H {
			break
		}
		y := plot.Y + i
		v.paintLane(cell.Rect{X: plot.X, Y: y, W: plot.W, H: 1}, l, place)
		st := v.c.Look.Text
		if k := v.s.Shown.Board().Key(l.key); k != nil {
			mark, style := v.s.Mark(k, v.c.Look)
			v.c.Buffer.Text(in.X, y, in.X+2, mark+" ", style) // some fonts draw the mark wider than its cell
		} else {
			st = v.c.Look.Dim
		}
		v.c.Buffer.Text(in.X+2, y, in.X+2+name, v.s.ShortName(l.key, name), st)
		v.c.OnClick(cell.Rect{X: in.X, Y: y, W: in.W, H: 1}, func(x int) tea.Cmd {
			at := max(x-(plot.X-in.X), 0)
			return v.s.Visit(l.key, from.Add(column*time.Duration(at)+column/2))
		})
	}
	labels := plot.Y + plot.H
	v.c.Buffer.Text(plot.X, labels, plot.X+plot.W, "-"+format.Length(span), v.c.Look.Dim)
	end := "now"
	if v.s.Shown.Paused() {
		end = format.Clock(now)
	}
	v.c.Buffer.Right(plot.X, labels, plot.X+plot.W, end, v.c.Look.Text)
	if x := place(sc.list[sc.at].at); x >= 0 && x < plot.W {
		v.c.Buffer.Tint(cell.Rect{X: plot.X + x, Y: plot.Y, W: 1, H: plot.H}, v.c.Look.Selected)
	}
}

// paintLane draws one key: a cell that denied has the sign of denials, one in which it came
// near its limit that of near keys.
func (v view) paintLane(r cell.Rect, l *lane, place func(limiter.Instant) int) {
	v.c.Buffer.Fill(r.X, r.Y, r.W, v.c.Look.Room, v.c.Look.Faint)
	for _, at := range l.near {
		if x := place(at); x >= 0 && x < r.W {
			v.c.Buffer.Text(r.X+x, r.Y, r.X+r.W, v.c.Look.NearMark, v.c.Look.Near)
		}
	}
	for _, s := range l.denied {
		a, b := max(place(s.from), 0), min(place(s.to), r.W-1)
		if b >= a {
			v.c.Buffer.Fill(r.X+a, r.Y, b-a+1, v.c.Look.Cross, v.c.Look.Denied)
		}
	}
}
