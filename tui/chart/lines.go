package chart

import (
	"fmt"
	"math"
	"time"

	"github.com/NimbleMarkets/ntcharts/v2/canvas"
	"github.com/NimbleMarkets/ntcharts/v2/linechart/timeserieslinechart"

	"charm.land/lipgloss/v2"

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
