package lab

import (
	"iter"
	"time"

	"ratescope/limiter"
	"ratescope/tui/cell"
)

// tape is the last two windows up to an instant as marks on a line.
type tape struct {
	window time.Duration
	end    limiter.Instant
	next   string // what stands at the end, in one cell
	rows   int    // of marks above the line: those of one column stand on each other
}

// begin is the instant at which the line begins.
func (t tape) begin() limiter.Instant { return t.end.Add(-2 * t.window) }

// paint draws decisions, given with their instants, and returns the row below.
func (t tape) paint(p painter, r cell.Rect, decided iter.Seq2[limiter.Instant, bool]) int {
	begin := t.begin()
	place := func(at limiter.Instant) int {
		return r.X + min(int(float64(r.W-2)*float64(at.Sub(begin))/float64(2*t.window)), r.W-2)
	}
	y := r.Y + t.rows - 1
	if p.Framed {
		y++
	}
	p.Buffer.Fill(r.X, y+1, r.W, p.Look.Axis, p.Look.Faint)
	above := map[int]int{} // marks, by column
	for at, admitted := range decided {
		if at < begin {
			continue
		}
		mark, st := p.Look.YesMark, p.Look.Admitted
		if !admitted {
			mark, st = p.Look.OverMark, p.Look.Denied
		}
		x := place(at)
		p.Buffer.Text(x, y-min(above[x], t.rows-1), r.X+r.W, mark, st)
		above[x]++
	}
	x := place(t.end.Add(-t.window))
	p.Buffer.Fill(x, y+1, r.X+r.W-1-x, p.Look.Axis, p.Look.Accent)
	p.Buffer.Set(x, y+1, p.Look.Box.BL, p.Look.Accent)
	p.Buffer.Text(r.X+r.W-1, y, r.X+r.W, t.next, p.Look.Title)
	p.Buffer.Set(r.X+r.W-1, y+1, p.Look.Box.BR, p.Look.Accent)
	for edge := begin.Floor(t.window).Add(t.window); edge <= t.end; edge = edge.Add(t.window) {
		p.Buffer.Set(place(edge), y+1, p.Look.Tick, p.Look.Text)
		p.Buffer.Text(place(edge), y+2, r.X+r.W-5, "edge", p.Look.Dim)
	}
	p.Buffer.Right(r.X, y+2, r.X+r.W, "now", p.Look.Accent)
	label := " window "
	p.Buffer.Text(x+(r.X+r.W-x-len(label))/2, y+1, r.X+r.W, label, p.Look.Accent)
	return y + 4
}
