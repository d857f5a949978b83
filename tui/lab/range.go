package lab

import (
	"time"

	"ratescope/limiter"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/tui/cell"
)

// timeRange is what the lanes show of the time of a story, column by column. The windows
// on the clock begin with a column, unless columns are longer than windows.
type timeRange struct {
	zero    limiter.Instant
	window  int64 // microseconds
	columns int64 // so many columns show so many windows
	windows int64
	first   int64 // number of the leftmost column
	n       int
	now     int // index of the column that holds the moment
}

// column returns the number of the column that holds t; -1 before the story.
func (s timeRange) column(t limiter.Instant) int64 {
	if t < s.zero {
		return -1
	}
	return int64(t-s.zero) * s.columns / (s.window * s.windows)
}

// begin returns the first instant of column i on screen.
func (s timeRange) begin(i int) limiter.Instant {
	micros, per := (s.first+int64(i))*s.window*s.windows, s.columns
	return s.zero + limiter.Instant((micros+per-1)/per)
}

// roundest returns the instant of column i on screen that is written shortest: a click on
// the label of a time means that time.
func (s timeRange) roundest(i int) limiter.Instant {
	begin, end := s.begin(i).Sub(s.zero), s.begin(i+1).Sub(s.zero)
	for k := len(steps) - 1; k >= 0; k-- {
		if at := (begin + steps[k] - 1) / steps[k] * steps[k]; at < end {
			return s.zero.Add(at)
		}
	}
	return s.begin(i)
}

// length returns how much time a column shows.
func (s timeRange) length() time.Duration {
	return time.Duration(s.window*s.windows/s.columns) * time.Microsecond
}

// opensWindow reports whether a window on the clock begins in column i on screen.
func (s timeRange) opensWindow(i int) bool {
	begin, end := s.begin(i)-s.zero, s.begin(i+1)-s.zero
	w := limiter.Instant(s.window)
	return (begin+w-1)/w*w < end
}

// rangeOf returns what w columns show of a run: two windows, or columns of a given length,
// each step of zoom twice as much. A quarter of it is still to come.
func rangeOf(run *lab.Run, w int, column time.Duration, zoom int) timeRange {
	setup := run.Setup()
	s := timeRange{zero: setup.Zero, window: int64(setup.Limit.Window / time.Microsecond), windows: 1, columns: int64(max(w/2, 1)), n: w}
	if column > 0 {
		s.columns = max(int64(setup.Limit.Window/column), 1)
	}
	for ; zoom < 0 && s.columns < s.window; zoom++ {
		s.columns *= 2
	}
	for ; zoom > 0; zoom-- {
		if s.columns%2 == 0 {
			s.columns /= 2
		} else {
			s.windows *= 2
		}
	}
	ahead := max(w/4, 2)
	at := s.column(run.Now())
	s.first = max(at-int64(w-1-ahead), 0)
	s.now = int(at - s.first)
	return s
}

// steps are the distances between labels of the time axis.
var steps = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour,
	2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// paintTimes labels the time axis with the time of the story.
func (p painter) paintTimes(r cell.Rect, s timeRange) {
	const gap = 11
	for _, step := range steps {
		if step < s.length()*gap {
			continue
		}
		begin := s.begin(0).Sub(s.zero)
		for d := (begin + step - 1) / step * step; ; d += step {
			c := int(s.column(s.zero.Add(d)) - s.first)
			text := format.Length(d)
			if d == 0 {
				text = "0s"
			}
			if c+len(text) > r.W {
				break
			}
			if c < s.now-len(text)-2 || c > s.now+5 {
				p.c.Buffer.Text(r.X+c, r.Y, r.X+r.W, text, p.c.Look.Dim)
			}
		}
		break
	}
	x := r.X + min(max(s.now-1, 0), r.W-3)
	p.c.Buffer.Text(x, r.Y, r.X+r.W, "now", p.c.Look.Accent)
}
