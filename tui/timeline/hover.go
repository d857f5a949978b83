package timeline

import (
	"fmt"
	"time"

	"ratescope/model"
	"ratescope/model/format"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// Part is a part of the past that counts for the limiter.
type Part uint8

// The parts that Light can light up.
const (
	NoPart       Part = iota
	PreviousPart      // the clock-aligned window before the current one
	CurrentPart       // the current one
	CountedPart       // all that counts now
)

// Light lights up a part of the picture, and says whether that changed it.
func (c *View) Light(p Part) bool {
	changed := c.lit != p
	c.lit = p
	return changed
}

// paintLight lays a ground under the columns that make the figure under the mouse.
func (c *View) paintLight(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange) {
	if c.lit == NoPart || r.H == 0 {
		return
	}
	from, to, slides := s.covered(k)
	edge := k.Gauge.Start
	switch {
	case c.lit == CountedPart && slides:
	case c.lit == PreviousPart && edge > 0:
		from, to = s.index(k.Timeline, edge.Add(-s.window)), s.index(k.Timeline, edge)-1
	case c.lit == CurrentPart && edge > 0:
		from, to = s.index(k.Timeline, edge), s.index(k.Timeline, s.at)
	default:
		return
	}
	from, to = max(from, 0), min(to, s.n-1)
	p.Buffer.Tint(cell.Rect{X: r.X + from, Y: r.Y, W: max(to-from+1, 0), H: r.H}, p.Look.Selected)
}

// Describe says what the column at x is made of and what it counts as now; "" where none is.
func (c *View) Describe(x int, k *model.Watched) string {
	i := x - c.area.X
	if c.tl == nil || k == nil || c.tl != k.Timeline || i < 0 || i >= c.s.n || i+1 >= len(c.columns) {
		return ""
	}
	b, s := &c.columns[i+1], c.s
	begin := k.Timeline.ColumnBegin(s.last-int64(s.n-1-i), s.per)
	text := fmt.Sprintf("%s and the %s after it: ", format.ClockMillis(begin), format.Length(s.column.Round(time.Millisecond)))
	if !b.Watched && b.Admitted+b.Denied == 0 {
		return text + "not watched."
	}
	text += fmt.Sprintf("%d admitted", b.Admitted)
	if k.Reading.Denied.Known {
		text += fmt.Sprintf(", %d denied", b.Denied)
	}
	if n := b.InjectedAdmitted + b.InjectedDenied; n > 0 {
		text += fmt.Sprintf(", %d of them fired from here", n)
	}
	if b.UsedKnown {
		text += ", used " + format.Short(b.Used)
	}
	if b.Admitted == 0 {
		return text + "."
	}
	return text + ". " + s.countsAs(k, i)
}

// countsAs says what a column counts as at the instant that counts.
func (s timeRange) countsAs(k *model.Watched, i int) string {
	from, to, slides := s.covered(k)
	switch {
	case !slides:
		return ""
	case i < from || i > to:
		return "It counts no more."
	case countingOf(&k.Reading.Target) == countsWeighted && k.Gauge.Start > 0 && i < s.index(k.Timeline, k.Gauge.Start):
		return fmt.Sprintf("It is of the previous window, of which %.0f %% still count.", 100*k.Gauge.Weight)
	}
	return "What was admitted counts whole."
}
