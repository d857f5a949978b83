package keys

import (
	"strconv"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/tui/chart"
)

// columnLengths are the lengths of time that a column of the lanes may stand for.
var columnLengths = [...]time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute,
}

// axis is the time axis that all lanes share. Now is on the cell behind the past.
type axis struct {
	past, ahead int // cells before and after the line at now
	column      time.Duration
	newest, now limiter.Instant // end of the column that holds now
}

// axisOf returns the axis of lanes of so many cells: about the last minute, and a quarter as much of
// the time to come.
func axisOf(cells int, now limiter.Instant) axis {
	const minute = 50 * time.Second // "about"
	a := axis{now: now, ahead: max(cells/4, 0), column: columnLengths[len(columnLengths)-1]}
	a.past = max(cells-a.ahead-1, 0)
	for _, d := range columnLengths {
		if time.Duration(a.past)*d >= minute {
			a.column = d
			break
		}
	}
	a.newest = now.Floor(a.column).Add(a.column)
	return a
}

// lanes keeps the cells of the keys that were on screen lately. The zero value is ready.
type lanes struct {
	axis  axis
	known map[string]*laneOf
	turn  int
}

// laneOf is the cells of one key.
type laneOf struct {
	past   chart.Past
	coming chart.Future
	turn   int // in which picture it was shown last
}

// begin begins a picture of lanes of so many cells, and drops the keys that are long out of sight.
func (l *lanes) begin(cells int, now limiter.Instant) {
	l.axis = axisOf(cells, now)
	l.turn++
	if l.known == nil {
		l.known = map[string]*laneOf{}
	}
	const most, pictures = 512, 200
	if len(l.known) > most {
		for key, y := range l.known {
			if l.turn-y.turn > pictures {
				delete(l.known, key)
			}
		}
	}
}

// paint draws the lane of a key.
func (l *lanes) paint(s slot, k *model.Watched, calm bool) {
	y := l.known[k.Reading.Key]
	if y == nil {
		y = &laneOf{}
		l.known[k.Reading.Key] = y
	}
	y.turn = l.turn
	y.past.Update(k, l.axis.newest, l.axis.now, l.axis.column, l.axis.past)
	y.coming.Update(k, l.axis.newest, l.axis.column, l.axis.ahead)
	chart.River(&s.c.Buffer, s.x, s.y, 1, y.past.Cells, y.coming.Columns, calm, &s.c.Look)
}

// paintTimes labels the axis in the row of the titles, and continues the line of now there.
func (l *lanes) paintTimes(s slot, now string) {
	g, a := &s.c.Buffer, l.axis
	at := s.x + a.past
	const apart = 15
	for n := apart; n+4 <= a.past; n += apart {
		text := "-" + format.Length(time.Duration(n)*a.column)
		g.Text(at-n-len(text)/2, s.y, at-3, text, s.c.Look.Dim)
	}
	for n := apart / 2; n+3 <= a.ahead; n += apart {
		text := "+" + format.Length(time.Duration(n)*a.column)
		g.Text(at+n-len(text)/2, s.y, s.x+s.w, text, s.c.Look.Dim)
	}
	g.Text(at-len(now)/2, s.y, s.x+s.w, now, s.c.Look.Accent)
}

// continueLine draws the line of now through rows that no key takes.
func (l *lanes) continueLine(s slot, rows int) {
	for y := range rows {
		s.c.Buffer.Set(s.x+l.axis.past, s.y+y, s.c.Look.LimitV, s.c.Look.Faint)
	}
}

// at says which instant a cell of a lane shows, and whether it is one of the time to come.
func (a axis) at(cells int) (from limiter.Instant, coming bool) {
	if cells > a.past {
		return a.newest.Add(time.Duration(cells-a.past-1) * a.column), true
	}
	return a.newest.Add(-time.Duration(a.past-cells) * a.column), false
}

// lane draws the last minute of a key and what is to come.
func (c keyCell) lane() {
	if c.k.Timeline == nil || c.k.Reading.Err != "" {
		return
	}
	c.table.lanes.paint(c.slot, c.k, c.fine())
}

// lane draws that of the key of a group that is nearest to its limit.
func (c groupCell) lane() {
	if k := c.g.shown(); k != nil && k.Timeline != nil && k.Reading.Err == "" {
		c.table.lanes.paint(c.slot, k, c.g.denied+c.g.near == 0)
	}
}

// laneTip says what the lanes show.
func (t *table) laneTip(k *model.Watched, cells int) string {
	at, coming := t.lanes.axis.at(cells)
	if coming {
		return nextTip(&k.Gauge) + " To the right of the line is what becomes of the key if no other request comes."
	}
	b := k.Timeline.Between(at, at.Add(t.lanes.axis.column))
	text := format.Clock(at) + ": " + strconv.FormatInt(b.Admitted, 10) + " admitted, " + strconv.FormatInt(b.Denied, 10) + " denied"
	if b.UsedKnown {
		text += ", up to " + format.Short(b.Used) + " used"
	}
	return text + "."
}
