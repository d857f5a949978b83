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
	back     int64           // columns back while paused
	zoom     int             // steps that a column is coarser (or below 0, finer) than usual
	cursor   limiter.Instant // the instant that is read out; 0 none
	dragFrom limiter.Instant
	visit    limiter.Instant // where the cursor is to go with the next picture; 0 nowhere
	held     bool            // the mouse button is down on the picture
	dragging bool            // and has moved since

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

// Arrange says which key will be painted where, so that the mouse points at that picture: its scrolling ends where the
// timeline begins, and a cursor that it does not show is taken away.
func (c *Hand) Arrange(r cell.Rect, k *model.Watched, m Moment, ascii bool) {
	if c.picture = c.layOut(r, k, m, ascii); c.tl == nil {
		return
	}
	c.back = c.s.back
	if i := c.s.index(c.tl, c.cursor); c.cursor != 0 && (i < 0 || i >= c.s.n) {
		c.cursor = 0
	}
}

// Forget says that no picture is painted: there is nothing to point at.
func (c *Hand) Forget() { c.picture = picture{} }

// Reset goes back to now, with nothing under the cursor.
func (c *Hand) Reset() { c.back, c.cursor = 0, 0 }

// Now goes back to now.
func (c *Hand) Now() { c.back = 0 }

// Scroll goes a twelfth of the picture's width back in time, or forward.
func (c *Hand) Scroll(earlier bool) {
	step := int64(max(1, c.area.W/12))
	if !earlier {
		step = -step
	}
	c.back = max(0, c.back+step)
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

// at returns the beginning of the column at x; never 0.
func (c *Hand) at(x int) limiter.Instant {
	x = min(max(x-c.area.X, 0), c.s.n-1)
	return max(c.tl.ColumnBegin(c.s.last-int64(c.s.n-1-x), c.s.per), 1)
}

// span returns the piece of time that a picture of k of that width shows, which ends no farther back than where
// the timeline begins.
func (c *Hand) span(k *model.Watched, width int, m Moment, ascii bool) timeRange {
	per := c.columnWidth(width)
	s := timeRange{
		per: per, n: width, now: m.Now, window: k.Timeline.Window(),
		column: k.Timeline.Window() * time.Duration(per) / model.BinsPerWindow, at: m.Now,
	}
	s.edges = !slices.Contains([]describe.Kind{describe.Unknown, describe.Arrival, describe.Bucket}, kindOf(k))
	if m.At != 0 {
		s.at = m.At
	}
	newest := k.Timeline.Column(m.Now, per)
	s.back = min(c.back, max(0, int64(k.Timeline.Reach()/max(s.column, 1))-int64(width)))
	s.last = newest - s.back
	s.first = int(min(max(k.Timeline.FirstColumn(per)-(s.last-int64(s.n-1)), 0), int64(s.n)))
	s.fine = !ascii && !m.Still
	s.shifted = s.fine && m.Now.Sub(k.Timeline.ColumnBegin(newest, per)) < s.column/2
	return s
}

// columnWidth returns how many bins a column of a chart of that width joins: two windows
// fill the width, finer or coarser by as many steps as were asked for.
func (c *Hand) columnWidth(width int) int {
	per := fitColumns(model.BinsPerWindow, width/2)
	for range c.zoom {
		per = nextWidth(per, true)
	}
	for range -c.zoom {
		per = nextWidth(per, false)
	}
	return per
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

// Visit puts the cursor at an instant of the past, in sight, with the next Arrive.
func (c *Hand) Visit(at limiter.Instant) { c.visit = at }

// Arrive scrolls a picture of k of that width to the instant that Visit named.
func (c *Hand) Arrive(k *model.Watched, width int, m Moment) {
	if c.visit == 0 || k == nil || k.Timeline == nil || width <= axisWidth {
		return
	}
	s := c.span(k, width-axisWidth, m, false)
	at := c.visit
	c.visit, c.back, c.s, c.tl = 0, s.back, s, k.Timeline
	newest, column := k.Timeline.Column(s.now, s.per), k.Timeline.Column(at, s.per)
	if column > newest {
		return
	}
	c.cursor, c.dragging = at, false
	if newest-column >= int64(s.n) {
		c.back = newest - column - int64(s.n)/2
	}
}

// Moment returns the instant that is looked at: under the cursor, else at the right edge of a
// picture that is scrolled back, else now.
func (c *Hand) Moment(now limiter.Instant) limiter.Instant {
	switch {
	case c.tl == nil:
		return now
	case c.cursor != 0:
		return min(c.tl.ColumnBegin(c.tl.Column(c.cursor, c.s.per)+1, c.s.per)-1, now)
	case c.back > 0:
		return now.Add(-time.Duration(c.back) * c.s.column)
	}
	return now
}

// Pointing reports whether there is a cursor.
func (c *Hand) Pointing() bool { return c.cursor != 0 }

// Cursor returns the instant under the cursor; 0 there is none.
func (c *Hand) Cursor() limiter.Instant { return c.cursor }

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

// Drop ends a drag, and returns the stretch that was dragged over, which Fit shows; ok is false if
// there was none.
func (c *Hand) Drop() (from, to limiter.Instant, ok bool) {
	ok = c.held && c.dragging && c.tl != nil
	c.held, c.dragging = false, false
	return min(c.dragFrom, c.cursor), max(c.dragFrom, c.cursor), ok
}

// Fit shows a stretch of time at the width of the whole picture, as of now.
func (c *Hand) Fit(from, to, now limiter.Instant) {
	tl, width := c.tl, c.area.W
	last := tl.Index(to) + int64(c.s.per) - 1 // the whole of the last column
	per := fitColumns(last-tl.Index(from)+1, width)
	c.zoom = 0
	for c.columnWidth(width) < per {
		c.zoom++
	}
	for c.columnWidth(width) > per {
		c.zoom--
	}
	c.back = max(0, tl.Column(now, per)-tl.Column(tl.Begin(last), per))
	c.cursor = 0
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

// fitColumns returns the smallest width of a column, in bins, at which so many bins fill at most
// `columns` columns; the greatest width if none does.
func fitColumns(bins int64, columns int) int {
	for _, per := range columnWidths {
		if bins <= int64(per)*int64(max(columns, 1)) {
			return per
		}
	}
	return columnWidths[len(columnWidths)-1]
}

// nextWidth returns the width of a column one step coarser or finer than per, or per itself if
// there is none.
func nextWidth(per int, coarser bool) int {
	i, _ := slices.BinarySearch(columnWidths, per)
	if i--; coarser {
		i += 2
	}
	return columnWidths[min(max(i, 0), len(columnWidths)-1)]
}

// opensWindow reports whether a clock-aligned window begins in column c of `per` bins.
func opensWindow(c int64, per int) bool {
	first := c * int64(per)
	return -model.FloorDiv(-first, model.BinsPerWindow)*model.BinsPerWindow < first+int64(per)
}
