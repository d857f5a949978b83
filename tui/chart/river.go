package chart

import (
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/format"
	"ratescope/themes"
	"ratescope/tui/cell"
)

// Passed is a column of time that has gone by, of one key or of several.
type Passed struct {
	Level    float32 // used/limit, the highest
	Known    bool    // watched, and the limit is known
	Watched  bool
	Denied   bool
	Arrivals bool
}

// passedOf returns the cell of a bin.
func passedOf(b *model.Bin, capacity int64) Passed {
	c := Passed{Denied: b.Denied > 0, Arrivals: b.Admitted+b.Denied > 0, Watched: b.UsedKnown || b.Watched}
	if b.UsedKnown && capacity > 0 {
		c.Known, c.Level = true, float32(b.Used)/float32(capacity)
	}
	return c
}

// Join takes in another key of the same row: the worst counts.
func (c *Passed) Join(o Passed) {
	c.Level = max(c.Level, o.Level)
	c.Known, c.Watched = c.Known || o.Known, c.Watched || o.Watched
	c.Denied, c.Arrivals = c.Denied || o.Denied, c.Arrivals || o.Arrivals
}

// extend takes in what came later in the same column of the same key, which was watched where both
// parts were, or the level is known.
func (c *Passed) extend(o Passed) {
	watched := c.Known || o.Known || c.Watched && o.Watched
	c.Join(o)
	c.Watched = watched
}

// Past is the cells of one key. They are kept while it moves from row to row. The zero value is ready.
type Past struct {
	Cells  []Passed        // oldest first
	newest limiter.Instant // end of the newest cell
	column time.Duration   // length of a cell
	read   limiter.Instant // of the reading that they show
	of     *model.Timeline // that they were made of
	stands int             // so many of the newest cells are that before them, for want of a reading
}

// late is how long after a reading requests of before it can still come to light: clients whose
// clocks differ, and a reading that takes its time.
const late = 250 * time.Millisecond

// Update makes the cells those that end with newest, and returns from which one on they are
// others than before. Nothing after now is shown. What the last reading has shown does not change: only what came after it is
// looked at, and joined to the cell that was not over.
func (y *Past) Update(k *model.Watched, newest, now limiter.Instant, column time.Duration, width int) (from int) {
	shift := int(newest.Sub(y.newest) / column)
	switch {
	case len(y.Cells) != width || y.newest == 0 || newest < y.newest || y.column != column || y.of != k.Timeline || shift >= width:
		y.Cells = slices.Grow(y.Cells[:0], width)[:width]
		from = 0
	case shift == 0 && y.read == k.Reading.At:
		return width
	default:
		copy(y.Cells, y.Cells[shift:])
		after := int((newest.Sub(y.read.Add(-late)) + column - 1) / column)
		from = max(width-min(after, shift+2+y.stands), 0)
	}
	seen := y.read.Add(-late)
	if y.stands > 0 { // these cells say nothing of their own
		seen = min(seen, y.newest.Add(-time.Duration(y.stands)*column))
	}
	y.newest, y.column, y.read, y.of, y.stands = newest, column, k.Reading.At, k.Timeline, 0
	capacity := model.Capacity(k.Reading.Target)
	for x := from; x < width; x++ {
		begin, end := newest.Add(-time.Duration(width-x)*column), min(newest.Add(-time.Duration(width-1-x)*column), now)
		if from > 0 && x < width-shift && begin < seen && seen < end { // all but the end of it is known
			b := k.Timeline.Between(seen, end)
			y.Cells[x].extend(passedOf(&b, capacity))
			continue
		}
		b := k.Timeline.Between(begin, end)
		y.Cells[x] = passedOf(&b, capacity)
	}
	if !k.Gone {
		y.stand(now.Sub(k.Reading.At) < soon)
	}
	return from
}

// soon is how long after a reading its level stands, where columns are shorter.
const soon = 3 * time.Second

// stand gives the newest cell, of which there is no reading yet, the level of the one before; after a recent
// reading all cells that have begun since.
func (y *Past) stand(recent bool) {
	most := 1
	if recent {
		most = max(int(soon/y.column), most)
	}
	n := len(y.Cells)
	for n > 0 && len(y.Cells)-n < most && !y.Cells[n-1].Watched {
		n--
	}
	if n == 0 || n == len(y.Cells) || !y.Cells[n-1].Watched {
		return
	}
	last := y.Cells[n-1]
	for x := n; x < len(y.Cells); x++ {
		y.Cells[x] = Passed{Level: last.Level, Known: last.Known, Watched: true}
	}
	y.stands = len(y.Cells) - n
}

// Coming is a column of the time to come, as it will be if no client sends another request.
type Coming struct {
	Level  float32 // used/limit at its end
	Known  bool
	Denies bool // a request of cost 1 is denied throughout it
	Frees  bool // in it a request is admitted again
}

// Future is the columns to come of one key, worked out from its last reading. The zero value is ready.
type Future struct {
	Columns []Coming
	from    limiter.Instant
	column  time.Duration
	read    limiter.Instant
}

// Worst returns what is to come of several keys: a column denies while one of them does, and frees where the last
// one is admitted again.
func Worst(futures []*Future, width int) []Coming {
	worst := make([]Coming, width)
	for _, f := range futures {
		for i, c := range f.Columns[:min(width, len(f.Columns))] {
			w := &worst[i]
			w.Level, w.Known, w.Denies, w.Frees = max(w.Level, c.Level), w.Known || c.Known, w.Denies || c.Denies, w.Frees || c.Frees
		}
	}
	for i := range worst {
		worst[i].Frees = worst[i].Frees && !worst[i].Denies
	}
	return worst
}

// Update works the columns out that begin at from, where these or the reading are others than before.
func (f *Future) Update(k *model.Watched, from limiter.Instant, column time.Duration, width int) {
	if f.from == from && f.read == k.Reading.At && f.column == column && len(f.Columns) == width {
		return
	}
	f.from, f.read, f.column = from, k.Reading.At, column
	f.Columns = append(f.Columns[:0], make([]Coming, width)...)
	g := &k.Gauge
	if k.Gone || !g.NextKnown || g.Used.Known && g.Used.N == 0 {
		return
	}
	for i := range f.Columns {
		at := from.Add(time.Duration(i+1) * column)
		then := k.Reading.Gauge(at)
		if !then.NextKnown || !then.Remaining.Known {
			return
		}
		c := Coming{Level: float32(then.Utilization), Known: true, Denies: then.Next != 0}
		before := g.Next != 0
		if i > 0 {
			before = f.Columns[i-1].Denies
		}
		c.Frees = before && !c.Denies
		f.Columns[i] = c
		if c.Level == 0 && !c.Denies { // nothing is used any more
			return
		}
	}
}

// History is what was and what is to come of one key, kept while it moves from row to row. The zero value is ready.
type History struct {
	Past   Past
	Coming Future
}

// TimeSteps are the distances between labels of an axis of time.
var TimeSteps = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// Times labels in a row the axis of rivers that begins at x: now, and at even distances what was so many columns before it and is to
// come after it.
func Times(g *cell.Buffer, x, y, past, ahead int, column time.Duration, now string, st themes.Style, l *Look) {
	const apart = 15
	at, end := x+past, x+past+1+ahead
	label := func(sign string, n, from, to int) {
		text := sign + format.Length(time.Duration(n)*column)
		g.Text(from-len(text)/2, y, to, text, l.Dim)
	}
	for n := apart; n+4 <= past; n += apart {
		label("-", n, at-n, at-3)
	}
	for n := apart / 2; n+3 <= ahead; n += apart {
		label("+", n, at+n, end)
	}
	g.Text(min(at-len(now)/2, end-len(now)), y, end, now, st)
}

// sign is how a column is drawn where it is no level: a shape of its own where a request was denied.
func (c Passed) sign(l *Look) (rune, themes.Style) {
	switch {
	case c.Denied:
		return l.Cross, l.Denied.On(l.DeniedGround)
	case c.Arrivals && !c.Known: // how full the key is, is not known: no colour of the scale
		return l.Shade[0], l.Unknown
	case c.Arrivals:
		return l.Shade[0], l.Admitted
	}
	return ' ', l.Faint
}

// Draw draws a column in h lines: a level rises from the lowest of them, in the colour of how near it is to the
// limit. With calm, the key is at ease, and its colours step back.
func (c Passed) Draw(g *cell.Buffer, x, y, h int, calm bool, l *Look) {
	if c.Known && c.Level > 0 && !c.Denied {
		st := themes.Style{Fg: l.Fine}
		if c.Level >= 0.6 && !calm {
			st = l.Fill(float64(c.Level))
		}
		drawLevel(g, x, y, h, c.Level, st, l)
		return
	}
	glyph, st := c.sign(l)
	if glyph == ' ' && c.Watched {
		g.Set(x, y+h-1, l.Room, st)
		return
	}
	for line := range h {
		if glyph != ' ' {
			g.Set(x, y+line, glyph, st)
		}
	}
}

// River draws how full a key was, is and will be into h lines of cells, a column one cell wide: the past, an upright
// line at now, and what the last reading makes of the time to come if no client sends another request.
func River(g *cell.Buffer, x, y, h int, past []Passed, coming []Coming, calm bool, l *Look) {
	for i, c := range past {
		c.Draw(g, x+i, y, h, calm, l)
	}
	x += len(past)
	for line := range h {
		g.Set(x, y+line, l.LimitV, l.Accent)
	}
	for i, c := range coming {
		switch at := x + 1 + i; {
		case c.Frees:
			g.Set(at, y+h-1, l.Slot, l.Good)
		case c.Denies:
			for line := range h {
				g.Set(at, y+line, l.Cross, themes.Style{Fg: l.ComingDenied})
			}
		case c.Known && c.Level > 0:
			drawLevel(g, at, y, h, c.Level, themes.Style{Fg: l.Coming}, l)
		}
	}
}

// Scale draws what the columns of a river mean up to the column before end, where that leaves the columns before from alone.
func Scale(g *cell.Buffer, from, y, end int, l *Look) {
	const none, all, denied, frees = " 0 ", " 100 %  ", " denied  ", " frees "
	levels := [...]float32{0.1, 0.3, 0.5, 0.7, 0.85, 1}
	x := end - len(none+all+denied+frees) - 2*len(levels) - len("xx>")
	if x < from {
		return
	}
	x = g.Text(x, y, end, none, l.Dim)
	for i := range 2 * len(levels) {
		Passed{Known: true, Level: levels[i/2]}.Draw(g, x+i, y, 1, false, l)
	}
	x = g.Text(x+2*len(levels), y, end, all, l.Dim)
	for i := range 2 {
		Passed{Denied: true}.Draw(g, x+i, y, 1, false, l)
	}
	x = g.Text(x+2, y, end, denied, l.Dim)
	g.Set(x, y, l.Slot, l.Good)
	g.Text(x+1, y, end, frees, l.Dim)
}

// drawLevel fills a column of h lines from below: whole only at the limit, and never empty.
func drawLevel(g *cell.Buffer, x, y, h int, full float32, st themes.Style, l *Look) {
	n := len(l.Rise)
	rise(g, x, y+h-1, 1+min(max(int(full*float32(h*n-1)), 0), h*n-1), l.Glyphs, st)
}
