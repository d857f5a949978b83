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
	if p.c.Framed {
		y++
	}
	p.c.Buffer.Fill(r.X, y+1, r.W, p.c.Look.Axis, p.c.Look.Faint)
	above := map[int]int{} // marks, by column
	for at, admitted := range decided {
		if at < begin {
			continue
		}
		mark, st := p.c.Look.YesMark, p.c.Look.Admitted
		if !admitted {
			mark, st = p.c.Look.OverMark, p.c.Look.Denied
		}
		x := place(at)
		p.c.Buffer.Text(x, y-min(above[x], t.rows-1), r.X+r.W, mark, st)
		above[x]++
	}
	x := place(t.end.Add(-t.window))
	p.c.Buffer.Fill(x, y+1, r.X+r.W-1-x, p.c.Look.Axis, p.c.Look.Accent)
	p.c.Buffer.Set(x, y+1, p.c.Look.Box.BL, p.c.Look.Accent)
	p.c.Buffer.Text(r.X+r.W-1, y, r.X+r.W, t.next, p.c.Look.Title)
	p.c.Buffer.Set(r.X+r.W-1, y+1, p.c.Look.Box.BR, p.c.Look.Accent)
	for edge := begin.Floor(t.window).Add(t.window); edge <= t.end; edge = edge.Add(t.window) {
		p.c.Buffer.Set(place(edge), y+1, p.c.Look.Tick, p.c.Look.Text)
		p.c.Buffer.Text(place(edge), y+2, r.X+r.W-5, "edge", p.c.Look.Dim)
	}
	p.c.Buffer.Right(r.X, y+2, r.X+r.W, "now", p.c.Look.Accent)
	label := " window "
	p.c.Buffer.Text(x+(r.X+r.W-x-len(label))/2, y+1, r.X+r.W, label, p.c.Look.Accent)
	return y + 4
}
