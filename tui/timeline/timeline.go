// Package timeline draws the past of a key as an oscilloscope does: arrivals by column, the
// sliding window as a bracket over them, the used level against its limit below. Now is
// the right edge and everything drifts left, in half cells where the shapes allow it.
package timeline

import (
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/record"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// Moment is when and under which circumstances a key is looked at.
type Moment struct {
	Now     limiter.Instant // the newest instant that there is to see
	At      limiter.Instant // the one that counts: of the cursor or the right edge while scrolled back; 0 is Now
	Live    bool            // the server answers: what came after the last reading is no gap yet
	Stopped bool            // the picture is paused: the right edge has a time of day
	Still   bool            // no animation: whole cells
}

// View draws the past of a key, and keeps what a person has chosen to see of it. The zero View
// shows two windows that end now. Not safe for concurrent use.
type View struct {
	Hand
	lit Part // lit up: what the mouse rests on is made of it

	planned []limiter.Instant // when requests are going to be fired
	marked  []record.Marker   // moments that a person marked, of all keys

	lines     chart.Lines // estimate and exact over the lane,
	lineKey   lineKey     // and what they were drawn for
	compared  *chart.Line // a line in place of them; nil there is none
	columns   []model.Bin // scratch
	halves    []model.Bin // scratch: two a column
	bins      []model.Bin // scratch: the finest
	sums      []int64     // scratch: running sums of them
	firstHalf int         // the first of them that was watched
}

// timeRange is the piece of time that the charts show: the columns that end with last.
type timeRange struct {
	per     int             // bins a column
	last    int64           // number of the newest column
	n       int             // columns
	now     limiter.Instant // of the right edge
	at      limiter.Instant // the instant whose window is drawn
	window  time.Duration
	column  time.Duration // length of one column
	first   int           // index of the first column that was watched
	fine    bool          // drawn in half cells
	edges   bool          // clock-aligned windows mean something to the limiter
	shifted bool          // and now is in the first half of its column
}

// index returns the place of the column that holds t, which may lie outside 0..n-1.
func (s timeRange) index(tl *model.Timeline, t limiter.Instant) int {
	d := tl.Column(t, s.per) - (s.last - int64(s.n-1))
	return int(min(max(d, -1), int64(s.n)))
}

// fresh is how old a reading may be and still speak for now.
const fresh = 1500 * time.Millisecond

// load fills the scratch columns, one more at the left than there are cells.
func (c *View) load(k *model.Watched, s timeRange, m Moment) {
	c.columns = resize(c.columns, s.n+1)
	k.Timeline.Columns(c.columns, s.last, s.per)
	c.carry(c.columns, k, s.last, s.per, m)
	if !s.fine {
		return
	}
	c.halves = resize(c.halves, 2*s.n)
	if s.per%2 != 0 { // one bin is as fine as it gets
		c.firstHalf = 2 * s.first
		if s.shifted {
			c.firstHalf++
		}
		for i := range c.halves {
			at := i/2 + 1
			if s.shifted {
				at = (i + 1) / 2
			}
			c.halves[i] = c.columns[at]
		}
		return
	}
	last := 2*s.last + 1
	if s.shifted {
		last--
	}
	c.firstHalf = int(min(max(k.Timeline.FirstColumn(s.per/2)-(last-int64(2*s.n-1)), 0), int64(2*s.n)))
	k.Timeline.Columns(c.halves, last, s.per/2)
	c.carry(c.halves, k, last, s.per/2, m)
}

// carry goes on from the last reading: what came after it is not known yet and no gap
// either while the server answers, and the level stays where it was seen.
func (c *View) carry(bins []model.Bin, k *model.Watched, last int64, per int, m Moment) {
	if !m.Live || m.Now.Sub(k.Reading.At) > fresh {
		return
	}
	read := int(min(max(k.Timeline.Column(k.Reading.At, per)-(last-int64(len(bins)-1)), 0), int64(len(bins))))
	for i := read + 1; i < len(bins); i++ {
		b := &bins[i]
		if b.Watched = true; !b.UsedKnown {
			b.Used, b.UsedKnown = bins[i-1].Used, bins[i-1].UsedKnown
		}
	}
}

func resize(bins []model.Bin, n int) []model.Bin {
	if n <= cap(bins) {
		return bins[:max(n, 0)]
	}
	return make([]model.Bin, n)
}

// shown are the columns on screen, one a cell.
func (c *View) shown() []model.Bin { return c.columns[1:] }

// edge says in which columns a clock-aligned window begins, and how its edge is drawn.
func (s timeRange) edge(p *widget.Canvas) func(int) (rune, bool) {
	glyph := p.Look.Edge
	return func(i int) (rune, bool) {
		return glyph, s.edges && opensWindow(s.last-int64(s.n-1)+int64(i), s.per)
	}
}

// paintArrivals draws the columns without their axis and returns the scale. One burst does
// not flatten the rest: what is far above all others is cut and marked.
func (c *View) paintArrivals(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange) int64 {
	most, cut := scale(c.columns)
	edge := s.edge(p)
	columns := chart.Columns{Bins: c.shown(), Max: most, First: s.first, Fine: s.fine, Shifted: s.shifted}
	if s.shifted {
		columns.Bins = c.columns
		columns.First++
	}
	older := len(columns.Bins) - s.n
	columns.Ground = func(i int) (rune, bool) { return edge(i - older) }
	columns.Draw(&p.Buffer, r, p.Look)
	c.colour(p, r, k, s)
	if cut {
		c.markCut(p, r, s, most)
	}
	return most
}

// scale returns the count that fills the height, and whether some columns are cut: those
// that are more than four times as high as nine in ten of the others.
func scale(columns []model.Bin) (most int64, cut bool) {
	var heights []int64
	for i := range columns {
		if n := columns[i].Admitted + columns[i].Denied; n > 0 {
			heights = append(heights, n)
		}
	}
	if len(heights) == 0 {
		return 1, false
	}
	slices.Sort(heights)
	most = heights[len(heights)-1]
	if usual := heights[(len(heights)-1)*9/10]; len(heights) >= 8 && most > 4*usual {
		return chart.Nice(2 * usual), true
	}
	return chart.Nice(most), false
}

// markCut writes over the columns that are cut how high they are.
func (c *View) markCut(p *widget.Canvas, r cell.Rect, s timeRange, most int64) {
	free := r.X
	for i := range s.n {
		b := &c.shown()[i]
		n := b.Admitted + b.Denied
		if n <= most {
			continue
		}
		text := format.Short(n)
		x := min(max(r.X+i-len(text)+1, free), r.X+r.W-len(text))
		p.Buffer.Text(x, r.Y, r.X+r.W, text, p.Look.Title.On(p.Look.Raised))
		free = x + len(text) + 1
	}
}

// paintLane draws the used level without its axis; it returns the row of the limit line,
// or -1 when there is none, and the scale.
func (c *View) paintLane(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange) (limitRow int, most int64) {
	t := k.Reading.Target
	var limit int64
	if t.LimitKnown {
		limit = model.Capacity(t)
	}
	lane := chart.Lane{Bins: c.shown(), Limit: limit, First: s.first, Fine: s.fine}
	if s.fine {
		lane.Bins, lane.First = c.halves, c.firstHalf
	}
	for i := range lane.Bins {
		if b := &lane.Bins[i]; b.UsedKnown {
			most = max(most, b.Used)
		}
	}
	if limit > 0 { // half a row stays free above the line
		most = max(most, limit+(limit+int64(r.H)*2-1)/max(int64(r.H)*2, 1))
	} else {
		most = chart.Nice(most)
	}
	edge := s.edge(p)
	for i := range s.n {
		if glyph, begins := edge(i); begins {
			for y := r.Y; y < r.Y+r.H; y++ {
				p.Buffer.Set(r.X+i, y, glyph, p.Look.Dim)
			}
		}
	}
	lane.Max = most
	return lane.Draw(&p.Buffer, r, p.Look), most
}

// tintWindow lays the window's background under everything that it covers.
func (c *View) tintWindow(p *widget.Canvas, r cell.Rect, k *model.Watched, s timeRange) {
	from, to, slides := s.covered(k)
	if !slides {
		return
	}
	from, to = max(from, 0), min(to, s.n-1)
	p.Buffer.Ground(cell.Rect{X: r.X + from, Y: r.Y, W: max(0, to-from+1), H: r.H}, p.Look.Window)
}

// Tile draws two windows of a key, to be compared with others beside it: arrivals, what counts of them, and the level, which
// stands at the same height in every tile.
func (c *View) Tile(p *widget.Canvas, r cell.Rect, k *model.Watched, m Moment) {
	defer p.Buffer.Clip(p.Buffer.Clip(r))
	s := c.span(k, r.W, m, p.Buffer.ASCII)
	c.load(k, s, m)
	arrivals, below := r.Top(r.H * 2 / 5)
	strip, lane := below.Top(1)
	c.paintArrivals(p, arrivals, k, s)
	c.paintAxis(p, strip, k, s)
	c.paintStrip(p, strip, k, s)
	c.paintLane(p, lane, k, s)
	c.tintWindow(p, arrivals, k, s)
	c.tintWindow(p, lane, k, s)
}
