package chart

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/NimbleMarkets/ntcharts/v2/canvas"
	"github.com/NimbleMarkets/ntcharts/v2/linechart/timeserieslinechart"

	"ratescope/limiter"
	"ratescope/themes"
	"ratescope/tui/cell"
)

// Point is a value at an instant; NaN breaks the line.
type Point struct {
	At limiter.Instant
	V  float64
}

// Line is a series in one colour.
type Line struct {
	Points []Point
	Style  themes.Style
}

// Lines are series on one axis of time, drawn in braille by ntcharts and kept as cells: Plot
// costs about a millisecond, Draw some microseconds. The zero Lines is empty.
type Lines struct {
	w, h  int
	cells []cell.Cell
}

// LeastLines is the least height, in cells, that lines can be drawn in.
const LeastLines = 3

// leastWidth is the least width that a line chart of ntcharts can be.
const leastWidth = 6

// Plot draws lines into w by h cells, from one instant to another and from least to most.
func (l *Lines) Plot(w, h int, from, to limiter.Instant, least, most float64, lines ...Line) {
	l.w, l.h, l.cells = w, h, l.cells[:0]
	if w < leastWidth || h < LeastLines || to <= from || !(most > least) || math.IsInf(most-least, 0) {
		l.w = 0
		return
	}
	chart := timeserieslinechart.New(w, h, timeserieslinechart.WithXYSteps(0, 0),
		timeserieslinechart.WithTimeRange(from.Time(), to.Time()), timeserieslinechart.WithYRange(least, most))
	chart.AutoMinX, chart.AutoMaxX, chart.AutoMinY, chart.AutoMaxY = false, false, false, false
	chart.SetViewTimeAndYRange(from.Time(), to.Time(), least, most)
	var names []string
	for i, line := range lines {
		broken := true
		for _, p := range line.Points {
			if math.IsNaN(p.V) || math.IsInf(p.V, 0) || p.At < from || p.At > to {
				broken = true
				continue
			}
			if broken {
				names = append(names, fmt.Sprintf("%d.%d", i, len(names)))
				chart.SetDataSetStyle(names[len(names)-1], lipgloss.NewStyle().Foreground(line.Style.Fg.Color()))
				broken = false
			}
			v := min(max(p.V, least), most)
			chart.PushDataSet(names[len(names)-1], timeserieslinechart.TimePoint{Time: p.At.Time().Round(time.Millisecond), Value: v})
		}
	}
	chart.DrawBrailleDataSets(names)
	for y := range h {
		for x := range w {
			c := chart.Canvas.Cell(canvas.Point{X: x, Y: y})
			out := cell.Cell{R: c.Rune}
			if c.Rune != 0 && c.Rune != ' ' {
				out.S = themes.Style{Fg: themes.InkOf(c.Style.GetForeground())}
			}
			l.cells = append(l.cells, out)
		}
	}
}

// Draw writes the lines into r over what is there: on braille their dots are added, and the
// ground stays.
func (l *Lines) Draw(g *cell.Buffer, r cell.Rect) {
	if l.w == 0 {
		return
	}
	for y := range min(l.h, r.H) {
		for x := range min(l.w, r.W) {
			c := l.cells[y*l.w+x]
			if c.R < braille || c.R > braille+0xff || c.R == braille {
				continue
			}
			under := g.At(r.X+x, r.Y+y)
			if under.R >= braille && under.R <= braille+0xff {
				c.R |= under.R
			}
			g.Set(r.X+x, r.Y+y, c.R, c.S.On(under.S.Bg))
		}
	}
}

// Area is the space between a base and a series of values; the newest stands at the right. NaN is not
// known, and marked as such.
type Area struct {
	Values []float64
	Hangs  bool                              // from a base above, else it stands on one below
	Top    float64                           // the value that reaches the far edge
	Ink    func(height float64) themes.Style // of a cell, by how far from the base it is, 0 to 1
}

// Draw fills r. In braille a cell shows two values and four levels, in ASCII one value.
func (a Area) Draw(g *cell.Buffer, r cell.Rect, look Look) {
	if r.H <= 0 {
		return
	}
	per, levels, base, onward := 2, 4, r.Y+r.H-1, -1
	if g.ASCII {
		per, levels = 1, len(look.Rise)
	}
	dots := [2][5]rune{dotsLeft, dotsRight}
	if a.Hangs {
		base, onward, dots = r.Y, 1, dotsBelow
	}
	for i := range min(r.W, len(a.Values)/per) {
		at := len(a.Values) - per*i
		older, newest := a.Values[at-per], a.Values[at-1]
		x := r.X + r.W - 1 - i
		if math.IsNaN(newest) && math.IsNaN(older) {
			g.Set(x, base, look.Before, look.Faint)
			continue
		}
		left, right := a.height(older, r.H*levels), a.height(newest, r.H*levels)
		for k := 0; levels*k < max(left, right); k++ {
			l, h := min(max(left-levels*k, 0), levels), min(max(right-levels*k, 0), levels)
			glyph := braille | dots[0][min(l, 4)] | dots[1][min(h, 4)]
			switch {
			case g.ASCII && a.Hangs: // no shape hangs there
				glyph = look.Cross
			case g.ASCII:
				glyph = look.Rise[max(h, 1)-1]
			}
			g.Set(x, base+k*onward, glyph, a.Ink((float64(k)+0.5)/float64(r.H)))
		}
	}
}

// height returns how many of n levels a value reaches: what is above 0 reaches one.
func (a Area) height(v float64, n int) int {
	if !(a.Top > 0) || !(v > 0) {
		return 0
	}
	return max(int(math.Round(min(v/a.Top, 1)*float64(n))), 1)
}

// Segment is one part of a bar.
type Segment struct {
	Value float64 // in the bar's unit; below 0 counts as 0
	Glyph rune    // 0: solid, in fractions of a cell
	Style themes.Style
}

// Bar draws segments one after the other from the left of a row of w cells, where
// `full` fills it. Solid segments end in a fraction of a cell, and no cell is shared: where
// one ends within a cell the next one begins behind it.
func Bar(g *cell.Buffer, x, y, w int, full float64, gl *Glyphs, segments ...Segment) {
	if w <= 0 || !(full > 0) || math.IsInf(full, 1) {
		return
	}
	n := len(gl.Reach)
	at, free := 0.0, 0 // the first cell that is not taken
	for _, s := range segments {
		if !(s.Value > 0) {
			continue
		}
		at = min(at+s.Value, full)
		to := max(int(math.Round(at/full*float64(w*n))), free*n+1)
		if s.Glyph != 0 { // whole cells
			to = max((to+n/2)/n, free+1) * n
		}
		for ; free*n < to && free < w; free++ {
			g.Set(x+free, y, cmp.Or(s.Glyph, gl.Reach[min(to-free*n, n)-1]), s.Style)
		}
	}
}

// Meter draws a bar, dots for what is free up to the limit, a stroke at it, and in its colour what is beyond; a limit of 0 is none.
func Meter(g *cell.Buffer, x, y, w int, full, limit float64, look Look, segments ...Segment) {
	at := min(int(math.Round(limit/full*float64(w))), w-1)
	g.Fill(x, y, at, look.Room, look.Faint)
	if Bar(g, x, y, w, full, look.Glyphs, segments...); limit > 0 {
		g.Wash(cell.Rect{X: x + at, Y: y, W: w - at, H: 1}, look.Denied)
		g.Set(x+at, y, look.LimitV, look.Denied)
	}
}

// Progress draws the share of a task that is done, 0 to 1, as one bar whose rest is dotted.
func Progress(g *cell.Buffer, x, y, w int, done float64, look Look) {
	g.Fill(x, y, w, look.Room, look.Faint)
	Bar(g, x, y, w, 1, look.Glyphs, Segment{Value: min(done, 1), Style: look.Accent})
}
