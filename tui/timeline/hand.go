package timeline

import (
	"fmt"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// Hand is what a person has chosen to see of the past: how far back, how coarse, and the instant
// under the cursor. It points at the picture that was arranged last.
type Hand struct {
	back     time.Duration   // how far back the picture ends while paused
	zoom     int             // steps that a column is coarser (or below 0, finer) than usual
	cursor   limiter.Instant // end of the column that is read out; 0 none
	dragFrom limiter.Instant
	held     bool // the mouse button is down on the picture
	dragging bool // and has moved since

	picture // arranged last
}

// picture says where the parts of a view of a key are drawn, and which piece of time they show.
type picture struct {
	tl *model.Timeline // of the key; nil there is no picture
	s  timeRange

	bracket, arrivals, strip, axis, lane, labels cell.Rect // of the past
	area                                         cell.Rect // of these between the bracket and the labels
	ahead                                        cell.Rect // the future, beside it
}

// layOut returns the picture of k in r; one without a timeline where there is none to draw. In fewer than three rows it
// has a piece of time and no parts: the keys that scroll mean the same where no timeline is drawn.
func (c *Hand) layOut(r cell.Rect, k *model.Watched, m Moment, ascii bool) (p picture) {
	if k == nil || k.Timeline == nil || k.Reading.Err != "" || r.W < axisWidth+8 {
		return p
	}
	plot := cell.Rect{X: r.X + axisWidth, Y: r.Y, W: r.W - axisWidth, H: r.H}
	plot, ahead := plot.Left(plot.W - ribbonWidth(k, plot.W, m))
	p.tl, p.s = k.Timeline, c.span(k, plot.W, m, ascii)
	if r.H < 3 {
		p.area.W = plot.W
		return p
	}
	var body, below cell.Rect
	p.bracket, body = plot.Top(1)
	body, p.labels = body.Top(body.H - 1)
	p.arrivals, below = body.Top(body.H - 1)
	if body.H >= 5 {
		p.arrivals, below = body.Top(body.H - max(2, (body.H-1)*2/5) - 1)
	}
	if _, _, slides := p.s.covered(k); slides && p.arrivals.H >= 4 {
		p.arrivals.H--
		p.strip = cell.Rect{X: plot.X, Y: p.arrivals.Y + p.arrivals.H, W: plot.W, H: 1}
	}
	p.axis, p.lane = below.Top(1)
	p.area, p.ahead = body, cell.Rect{X: ahead.X, Y: body.Y, W: ahead.W, H: body.H}
	return p
}

// Arrange says which key will be painted where, so that the mouse points at that picture. A cursor that it does not show is taken
// away; a pause stays at its instant.
func (c *Hand) Arrange(r cell.Rect, k *model.Watched, m Moment, ascii bool) {
	if c.picture = c.layOut(r, k, m, ascii); c.tl == nil || c.cursor == 0 {
		return
	}
	if i := c.s.index(c.tl, c.cursor); i < 0 || i >= c.s.n {
		if m.Stopped {
			c.back = m.Now.Sub(c.cursor)
		}
		c.cursor = 0
		c.picture = c.layOut(r, k, m, ascii)
	}
}

// Forget says that no picture is painted: there is nothing to point at.
func (c *Hand) Forget() { c.picture = picture{} }

// Reset goes back to now, with nothing under the cursor.
func (c *Hand) Reset() { c.back, c.cursor = 0, 0 }

// Show ends the picture of k, which may be nil, at an instant, but not after now nor before its timeline begins.
func (c *Hand) Show(at, now limiter.Instant, k *model.Watched) {
	c.back, c.cursor = max(now.Sub(at), 0), 0
	if k != nil && k.Timeline != nil {
		c.back = min(c.back, k.Timeline.Reach())
	}
}

// Stride is how far an arrow leads: a twelfth of the picture, or of two windows of k where there is none; k may be nil.
func (c *Hand) Stride(k *model.Watched) time.Duration {
	switch {
	case c.tl != nil:
		return time.Duration(max(c.area.W/12, 1)) * c.s.column
	case k != nil && k.Timeline != nil:
		return max(k.Timeline.Window()/6, time.Second)
	}
	return time.Second
}

// Step is how often the picture moves; 0 where none is drawn.
func (c *Hand) Step() time.Duration {
	if c.tl == nil || c.area.H == 0 {
		return 0
	}
	if c.s.fine {
		return c.s.column / 2
	}
	return c.s.column
}

// at returns the end of the column at x; never 0.
func (c *Hand) at(x int) limiter.Instant {
	x = min(max(x-c.area.X, 0), c.s.n-1)
	return max(c.tl.ColumnBegin(c.s.last-int64(c.s.n-2-x), c.s.per)-1, 1)
}

// span returns the piece of time that a picture of k of that width shows.
func (c *Hand) span(k *model.Watched, width int, m Moment, ascii bool) timeRange {
	per := c.columnWidth(width)
	s := timeRange{per: per, n: width, now: m.Now.Add(-c.back), window: k.Timeline.Window(),
		column: k.Timeline.Window() * time.Duration(per) / model.BinsPerWindow, at: m.Now}
	s.edges = !slices.Contains([]describe.Kind{describe.Unknown, describe.Arrival, describe.Bucket}, kindOf(k))
	if m.At != 0 {
		s.at = m.At
	}
	s.last = k.Timeline.Column(s.now, per)
	s.first = int(min(max(k.Timeline.FirstColumn(per)-(s.last-int64(s.n-1)), 0), int64(s.n)))
	s.fine = !ascii && !m.Still
	s.shifted = s.fine && s.now.Sub(k.Timeline.ColumnBegin(s.last, per)) < s.column/2
	return s
}

// columnWidth returns how many bins a column of a chart of that width joins: two windows
// fill the width, finer or coarser by as many steps as were asked for.
func (c *Hand) columnWidth(width int) int {
	return columnWidths[min(max(fitting(model.BinsPerWindow, width/2)+c.zoom, 0), len(columnWidths)-1)]
}

// Zoom goes one step towards a longer (coarser) or shorter stretch, unless the last step
// made no difference any more. It says whether it did.
func (c *Hand) Zoom(coarser bool) bool {
	before, width := c.zoom, max(c.area.W, 2)
	per := c.columnWidth(width)
	if coarser {
		c.zoom++
	} else {
		c.zoom--
	}
	if c.columnWidth(width) == per {
		c.zoom = before
	}
	return c.zoom != before
}

// Holds says whether the cell x, y shows a piece of time.
func (c *Hand) Holds(x, y int) bool { return c.tl != nil && c.area.Holds(x, y) }

// Point puts the cursor at column x and takes hold for a drag.
func (c *Hand) Point(x int) {
	c.cursor = c.at(x)
	c.dragFrom, c.dragging, c.held = c.cursor, false, true
}

// Moment returns the instant that is looked at: under the cursor, else at the right edge of the picture.
func (c *Hand) Moment(now limiter.Instant) limiter.Instant {
	if c.cursor != 0 {
		return min(c.cursor, now)
	}
	return now.Add(-c.back)
}

// Pointing reports whether there is a cursor.
func (c *Hand) Pointing() bool { return c.cursor != 0 }

// Leave takes the cursor away, and says whether there was one.
func (c *Hand) Leave() bool {
	was := c.cursor != 0
	c.cursor = 0
	return was
}

// Drag moves the cursor while the button is down, and says whether it moved.
func (c *Hand) Drag(x int) bool {
	if !c.held || c.tl == nil {
		return false
	}
	at := c.at(x)
	moved := at != c.cursor
	if moved {
		c.cursor, c.dragging = at, true
	}
	return moved
}

// Drop ends a drag, and returns the ends of the columns that were dragged over, which Fit shows; ok is false if
// there were none.
func (c *Hand) Drop() (from, to limiter.Instant, ok bool) {
	if ok = c.held && c.dragging && c.tl != nil; ok && c.cursor == 0 { // its column has left the picture
		c.cursor = c.at(c.area.X)
	}
	c.held, c.dragging = false, false
	return min(c.dragFrom, c.cursor), max(c.dragFrom, c.cursor), ok
}

// Fit shows the columns that end at two instants at the width of the whole picture, as of now.
func (c *Hand) Fit(from, to, now limiter.Instant) {
	width := c.area.W
	c.zoom = fitting(c.tl.Index(to)-c.tl.Index(from)+int64(c.s.per), width) - fitting(model.BinsPerWindow, width/2)
	c.back, c.cursor = max(now.Sub(to), 0), 0
}

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
	if text += Made(b, k) + "."; b.Admitted == 0 {
		return text
	}
	return text + " " + s.countsAs(k, i)
}

// Made says what a stretch of the time of a key is made of.
func Made(b *model.Bin, k *model.Watched) string {
	if !b.Watched && b.Admitted+b.Denied == 0 {
		return "not watched"
	}
	text := fmt.Sprintf("%d admitted", b.Admitted)
	if k.Reading.Denied.Known {
		text += fmt.Sprintf(", %d denied", b.Denied)
	}
	if n := b.InjectedAdmitted + b.InjectedDenied; n > 0 {
		text += fmt.Sprintf(", %d of them fired from here", n)
	}
	if b.UsedKnown {
		text += ", used " + format.Short(b.Used)
	}
	return text
}

// countsAs says what a column counts as at the instant that counts.
func (s timeRange) countsAs(k *model.Watched, i int) string {
	from, to, slides := s.covered(k)
	switch {
	case !slides:
		return ""
	case i < from || i > to:
		return "It counts no more."
	case kindOf(k) == describe.Weighted && k.Gauge.Start > 0 && i < s.index(k.Timeline, k.Gauge.Start):
		return fmt.Sprintf("It is of the previous window, of which %.0f %% still count.", 100*k.Gauge.Weight)
	}
	return "What was admitted counts whole."
}

// columnWidths lists the numbers of bins that a column may join, finest first: the divisors of a
// window, and two windows.
var columnWidths = func() (widths []int) {
	for per := 1; per <= model.BinsPerWindow; per++ {
		if model.BinsPerWindow%per == 0 {
			widths = append(widths, per)
		}
	}
	return append(widths, 2*model.BinsPerWindow)
}()

// fitting returns the place of the smallest width of a column at which so many bins fill at most `columns` columns; that of the
// greatest if none does.
func fitting(bins int64, columns int) int {
	i := slices.IndexFunc(columnWidths, func(per int) bool { return bins <= int64(per)*int64(max(columns, 1)) })
	if i < 0 {
		return len(columnWidths) - 1
	}
	return i
}

// opensWindow reports whether a clock-aligned window begins in column c of `per` bins.
func opensWindow(c int64, per int) bool {
	first := c * int64(per)
	return -model.FloorDiv(-first, model.BinsPerWindow)*model.BinsPerWindow < first+int64(per)
}
