package heat

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"ratescope/model"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// A row of several keys is looked at once in so many pictures, and in more where a picture would
// look at more keys than that: a look takes about a microsecond.
const (
	turns    = 5
	mostKeys = 1500
)

// tallest is how many lines a row of a short map takes.
const tallest = 2

// layOut divides the room, shares the keys out among the rows where they are others than
// before, and works out what is new.
func (h *Screen) layOut(area cell.Rect) {
	h.names = min(max(area.W/4, 16), 36)
	h.area = cell.Rect{X: area.X + h.names + 1, Y: area.Y + 1, W: max(area.W-h.names-2, 1), H: max(area.H-2, 1)}
	keys := h.within()
	if h.width != h.area.W || h.high != h.area.H || h.fold != h.folded || !slices.Equal(keys, h.keys) {
		h.keys, h.width, h.high, h.folded = append(h.keys[:0], keys...), h.area.W, h.area.H, h.fold
		h.rows = bundle(h.keys, h.area.H, h.fold)
	}
	h.makeRoom()
	h.fill()
	h.runWhatIf()
	h.height = min(max(h.area.H/max(len(h.rows), 1), 1), tallest)
	shown := h.area.H / h.height
	h.at = min(h.at, max(len(h.rows)-1, 0))
	h.first = min(max(h.first, h.at-shown+1), h.at)
	h.first = min(max(h.first, 0), max(len(h.rows)-shown, 0))
	h.s.Selection.See(h.first, h.first+shown)
}

// fill brings every row up to now. Histories of keys that are gone are dropped once they are
// as many as those that are shown.
func (h *Screen) fill() {
	d := steps[h.step]
	now := h.s.Shown.At()
	newest := now.Floor(d).Add(d)
	h.newest = newest
	h.turn++
	if h.known == nil || len(h.known) > 2*len(h.keys)+64 {
		h.known = make(map[string]*chart.Past, len(h.keys))
	}
	turns := max(turns, (len(h.keys)+mostKeys-1)/mostKeys)
	for i := range h.rows {
		r := &h.rows[i]
		from := h.width
		switch shift := int(newest.Sub(r.newest) / d); {
		case r.cells == nil || newest < r.newest || shift >= h.width:
			from = 0
		case len(r.keys) == 1:
			from = 0
		default:
			r.pass(shift)
			if r.newest = newest; (i+h.turn)%turns != 0 {
				continue // a row of many keys has its turn in one of so many pictures
			}
		}
		for len(r.past) < len(r.keys) {
			key := r.keys[len(r.past)].Reading.Key
			y := h.known[key]
			if y == nil {
				y = &chart.Past{}
				h.known[key] = y
			}
			r.past = append(r.past, y)
		}
		for i, k := range r.keys {
			from = min(from, r.past[i].Update(k, newest, now, d, h.width))
		}
		if len(r.keys) == 1 {
			r.cells, from = r.past[0].Cells, h.width
		}
		r.newest = newest
		if from == h.width {
			continue
		}
		if r.cells == nil {
			r.cells = make([]chart.Passed, h.width)
		}
		clear(r.cells[from:])
		for _, y := range r.past {
			for x, c := range y.Cells[from:] {
				r.cells[from+x].Join(c)
			}
		}
	}
}

// pass moves the cells on by so many columns, fewer than there are. The new ones keep the level
// until the row has its turn.
func (r *row) pass(shift int) {
	last := r.cells[len(r.cells)-1]
	copy(r.cells, r.cells[shift:])
	for x := len(r.cells) - shift; x < len(r.cells); x++ {
		r.cells[x] = chart.Passed{Level: last.Level, Known: last.Known, Watched: last.Watched}
	}
}

// bundle shares the keys out among so many rows: a row each where they fit and are not to be
// folded, else by the beginnings of their names, and where those are too many as they stand.
func bundle(keys []*model.Watched, rows int, fold bool) []row {
	var list []row
	if fold || len(keys) > rows {
		for _, g := range model.GroupBy(keys) {
			list = append(list, row{keys: g.Keys, prefix: g.Prefix})
		}
		if len(list) > 1 && len(list) <= rows {
			return list
		}
		list = nil
	}
	per := max((len(keys)+rows-1)/max(rows, 1), 1)
	for group := range slices.Chunk(keys, per) {
		list = append(list, row{keys: group})
	}
	return list
}

// view is the screen on the canvas that it is painted on.
type view struct {
	c      *widget.Canvas
	screen *Screen
	s      *session.Session // the screen's
}

func (v view) paint(r cell.Rect) {
	if len(v.screen.rows) == 0 {
		session.PaintSearch(v.c, r, v.s.Shown.Live())
		return
	}
	if v.screen.what.other.On {
		v.paintWhatIf(r)
		v.paintLanes()
	} else {
		v.paintCursorText(r)
	}
	shown := v.screen.rows[v.screen.first:][:min(v.screen.area.H/v.screen.height, len(v.screen.rows)-v.screen.first)]
	for i, name := range v.rowNames(shown, v.screen.names-3) {
		v.paintRow(i, &shown[i], name)
	}
	v.paintTimes()
	x := v.screen.area.X + v.screen.area.W - 1 - v.screen.back
	v.c.Buffer.Tint(cell.Rect{X: x, Y: v.screen.area.Y, W: 1, H: v.screen.area.H}, v.c.Look.Selected)
	if v.screen.what.other.On {
		v.c.Buffer.Tint(cell.Rect{X: x, Y: v.screen.what.area.Y, W: 1, H: v.screen.what.area.H}, v.c.Look.Selected)
	}
}

// paintCursorText names the key and the moment under the cursor, and what happened there.
func (v view) paintCursorText(r cell.Rect) {
	row := &v.screen.rows[v.screen.at]
	c := row.cells[len(row.cells)-1-min(v.screen.back, len(row.cells)-1)]
	spans := []widget.Span{widget.Styled(v.rowName(row, 40), v.c.Look.Title), widget.Styled(" at ", v.c.Look.Dim),
		widget.Styled(format.Clock(v.screen.moment()), v.c.Look.Text)}
	switch {
	case c.Known:
		spans = append(spans, widget.Styled(fmt.Sprintf(" · %.0f %% used", 100*c.Level), v.c.Look.Text))
	case c.Arrivals:
		spans = append(spans, widget.Styled(" · requests, limit unknown", v.c.Look.Unknown))
	case !c.Watched:
		spans = append(spans, widget.Styled(" · not watched", v.c.Look.Unknown))
	}
	if c.Denied {
		spans = append(spans, widget.Styled(" · denied", v.c.Look.Denied))
	}
	x := v.c.Spans(r.X+1, r.Y, r.X+r.W, spans...)
	scale := []widget.Span{widget.Styled("0 ", v.c.Look.Dim)}
	for _, level := range []float32{0.1, 0.3, 0.5, 0.7, 0.85, 1} {
		glyph, st := chart.Heat(chart.Passed{Known: true, Watched: true, Level: level, Arrivals: true}, &v.c.Look)
		scale = append(scale, widget.Styled(string(glyph)+string(glyph), st))
	}
	glyph, st := chart.Heat(chart.Passed{Denied: true, Watched: true}, &v.c.Look)
	scale = append(scale, widget.Styled(" 100 %  ", v.c.Look.Dim), widget.Styled(string(glyph)+string(glyph), st),
		widget.Styled(" denied", v.c.Look.Dim))
	if w := widget.Width(scale...); x+w+3 < r.X+r.W {
		v.c.Spans(r.X+r.W-w-1, r.Y, r.X+r.W, scale...)
	}
}

// rowName is the key of a row; of several what their names begin with, and how many there are.
func (v view) rowName(r *row, columns int) string {
	first := v.s.Name(r.keys[0].Reading.Key)
	if len(r.keys) == 1 {
		return v.s.ShortName(r.keys[0].Reading.Key, columns)
	}
	if r.prefix != "" {
		first = v.s.Name(r.prefix)
	}
	count := fmt.Sprintf(" · %s keys", format.Thousands(int64(len(r.keys))))
	if columns < roomForKeys {
		count = " ×" + format.Short(int64(len(r.keys)))
	}
	columns = max(columns-safetext.Width(count), 1)
	last := v.s.Name(r.keys[len(r.keys)-1].Reading.Key)
	if n := safetext.SharedWords(first, last); r.prefix == "" && n < min(len(first), len(last)) { // from which to which
		span := word(first[n:]) + safetext.Ellipsis + word(last[n:])
		return safetext.Shorten(format.First(columns, first[:n]+span, safetext.Ellipsis+span), columns, safetext.Ellipsis) + count
	}
	return safetext.Shorten(first+safetext.Ellipsis, columns, safetext.Ellipsis) + count
}

// roomForKeys is from how many columns on the number of keys is written with its unit.
const roomForKeys = 24

// word is what a text begins with, up to the first sign.
func word(text string) string {
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }); i > 0 {
		return text[:i]
	}
	return text
}

// rowNames are the names of several rows, of which those of single keys can be told apart.
func (v view) rowNames(list []row, columns int) []string {
	texts := make([]string, len(list))
	for i := range list {
		if r := &list[i]; len(r.keys) == 1 {
			texts[i] = v.s.Name(r.keys[0].Reading.Key)
		} else {
			texts[i] = v.rowName(r, columns)
		}
	}
	return v.s.Families().Distinct(texts, columns, safetext.Ellipsis)
}

func (v view) paintRow(i int, r *row, name string) {
	y, st := v.screen.area.Y+i*v.screen.height, v.c.Look.Text
	mark, ms := v.s.Mark(r.keys[0], v.c.Look)
	if v.screen.first+i == v.screen.at {
		v.c.Buffer.Text(v.screen.area.X-v.screen.names-1, y, v.screen.area.X, v.c.Look.SelMark, v.c.Look.Accent)
		st = v.c.Look.Title
	}
	v.c.Spans(v.screen.area.X-v.screen.names, y, v.screen.area.X-1, widget.Styled(mark+" ", ms), widget.Styled(name, st))
	for x, c := range r.cells {
		if glyph, st := chart.Heat(c, &v.c.Look); glyph != ' ' {
			for line := range v.screen.height {
				v.c.Buffer.Set(v.screen.area.X+x, y+line, glyph, st)
			}
		}
	}
	if v.screen.first+i == v.screen.at {
		v.c.Buffer.Ground(cell.Rect{X: v.screen.area.X - v.screen.names - 1, Y: y, W: v.screen.area.W + v.screen.names + 1, H: v.screen.height},
			v.c.Look.Selected)
	}
}

// paintTimes labels the axis of time.
func (v view) paintTimes() {
	y, d := v.screen.area.Y+v.screen.area.H, steps[v.screen.step]
	right := v.screen.area.X + v.screen.area.W
	v.c.Buffer.Right(v.screen.area.X, y, right, "now", v.c.Look.Text)
	if v.s.Shown.Paused() {
		v.c.Buffer.Right(v.screen.area.X, y, right, format.Clock(v.s.Shown.At()), v.c.Look.Text)
	}
	for n := 20; n < v.screen.area.W-4; n += 20 {
		text := "-" + format.Length(time.Duration(n)*d)
		v.c.Buffer.Text(right-n-len(text)/2, y, right-9, text, v.c.Look.Dim)
	}
	v.c.Buffer.Text(v.screen.area.X-v.screen.names, y, v.screen.area.X,
		format.First(v.screen.names-2, format.Plural(len(v.screen.keys), "key")+" · "+v.s.Rows.SortText(),
			format.Plural(len(v.screen.keys), "key")), v.c.Look.Dim)
}
