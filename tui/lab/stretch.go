package lab

import (
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/lab"
	"ratescope/tui/cell"
	"ratescope/tui/figure"
)

// stretch is the piece of time that the lanes show.
type stretch struct {
	zero   limiter.Instant
	window int64 // microseconds
	per    int64 // bins a column; a window has model.BinsPerWindow
	first  int64 // number of the leftmost column
	n      int
	now    int // index of the column that holds the moment
}

// column returns the number of the column that holds t.
func (s stretch) column(t limiter.Instant) int64 {
	bin := int64(t-s.zero) * model.BinsPerWindow / s.window
	if t < s.zero {
		bin = -1
	}
	return bin / s.per
}

// begin returns the first instant of column i on screen.
func (s stretch) begin(i int) limiter.Instant {
	return s.zero + limiter.Instant((s.first+int64(i))*s.per*s.window/model.BinsPerWindow)
}

// length of one column.
func (s stretch) length() time.Duration {
	return time.Duration(s.window*s.per/model.BinsPerWindow) * time.Microsecond
}

// stretch works out what w columns show: two windows, of which an eighth of a window is
// still to come.
func (l *Lab) stretch(run *lab.Run, w int) stretch {
	setup := run.Setup()
	s := stretch{zero: setup.Zero, window: int64(setup.Limit.Window / time.Microsecond), n: w}
	s.per = int64(model.PerColumn(max(w/2, 1)) * l.zoom)
	ahead := max(w/10, 2)
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
func (l *Lab) paintTimes(r cell.Rect, s stretch) {
	const gap = 11
	for _, step := range steps {
		if step < s.length()*gap {
			continue
		}
		begin := s.begin(0).Sub(s.zero)
		for d := (begin + step - 1) / step * step; ; d += step {
			c := int(s.column(s.zero.Add(d)) - s.first)
			text := figure.Length(d)
			if d == 0 {
				text = "0s"
			}
			if c+len(text) > r.W {
				break
			}
			if c < s.now-len(text)-2 || c > s.now+5 {
				l.Grid.Text(r.X+c, r.Y, r.X+r.W, text, l.Look.Dim)
			}
		}
		break
	}
	x := r.X + min(max(s.now-1, 0), r.W-3)
	l.Grid.Text(x, r.Y, r.X+r.W, "now", l.Look.Accent)
}
