package lab

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model/lab"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/pane"
)

// way is a journey through time that takes too long to be made between two frames.
type way struct {
	from, to limiter.Instant
	fired    []lab.Arrival // to be fired again on the way, in the order of time
}

// onwardMsg asks for the next stretch of a way.
type onwardMsg struct{}

// stretchOf is how many requests are decided about between two frames: with six
// algorithms about 50 ms.
const stretchOf = 25_000

// seek goes to a moment, and stops there.
func (l *Lab) seek(t limiter.Instant) tea.Cmd {
	l.playing, l.rate = false, false
	l.picked = -1
	if t <= l.run.Now() {
		l.run.SeekTo(t)
		return nil
	}
	return l.travel(t, nil)
}

// travel goes on to a moment and fires on the way. What takes long is done in stretches,
// with a bar that tells how far it is.
func (l *Lab) travel(to limiter.Instant, fired []lab.Arrival) tea.Cmd {
	l.way = &way{from: l.run.Now(), to: to, fired: fired}
	return l.onward()
}

func (l *Lab) onward() tea.Cmd {
	w := l.way
	if w == nil {
		return nil
	}
	for len(w.fired) > 0 {
		if !l.run.AdvanceSome(w.fired[0].At, stretchOf) {
			return onward
		}
		l.run.Fire(w.fired[0].Cost)
		w.fired = w.fired[1:]
	}
	if !l.run.AdvanceSome(w.to, stretchOf) {
		return onward
	}
	l.way = nil
	return nil
}

func onward() tea.Msg { return onwardMsg{} }

// done is how much of the way is behind, 0 to 1.
func (w *way) done(now limiter.Instant) float64 {
	if w.to <= w.from {
		return 1
	}
	return float64(now-w.from) / float64(w.to-w.from)
}

// paintWay is the bar in the place of the hints.
func (l *Lab) paintWay(r cell.Rect) {
	done := l.way.done(l.run.Now())
	end := r.X + r.W
	x := l.Words(r.X+1, r.Y, end, pane.Bit("going to "+lab.Seconds(l.way.to.Sub(l.run.Setup().Zero))+" ", l.Look.Text))
	tail := fmt.Sprintf(" %3.0f%%  any key stops", 100*done)
	w := max(min(end-x-len(tail)-1, 60), 0)
	l.Grid.Fill(x, r.Y, w, l.Look.Room, l.Look.Faint)
	chart.Bar(&l.Grid, x, r.Y, w, 1, l.Look.Glyphs, chart.Segment{Value: done, Style: l.Look.Accent})
	l.Grid.Text(x+w, r.Y, end, tail, l.Look.Dim)
}
