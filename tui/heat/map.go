package heat

import (
	"fmt"
	"slices"
	"strings"

	"ratescope/model"
	"ratescope/model/collect"
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

// tallest is how many lines a row of a short map takes at most.
const tallest = 16

// aheadShare is the part of the columns that shows the time to come, and aheadLeast how many columns a map has that
// has room for it.
const (
	aheadShare = 7
	aheadLeast = 56
)

// layOut divides the room, shares the keys out among the rows where they are others than
// before, and works out what is new.
func (h *Screen) layOut(area cell.Rect) {
	h.names = min(max(area.W/4, 16), 36)
	h.area = cell.Rect{X: area.X + h.names + 1, Y: area.Y + 1, W: max(area.W-h.names-2, 1), H: max(area.H-2, 1)}
	if h.ahead = 0; h.area.W >= aheadLeast {
		h.ahead = h.area.W / aheadShare
		h.area.W -= h.ahead + 1
	}
	keys := h.within()
	if h.width != h.area.W || h.high != h.area.H || h.fold != h.folded || !slices.Equal(keys, h.keys) {
		h.keys, h.width, h.high, h.folded = append(h.keys[:0], keys...), h.area.W, h.area.H, h.fold
		h.rows = bundle(h.keys, h.area.H, h.fold)
	}
	h.makeRoom()
	h.fill()
	h.lines = widget.Spread(h.area.H, len(h.rows), tallest)
	shown := h.area.H / h.lines.Height
	h.at = min(h.at, max(len(h.rows)-1, 0))
	holds := func(r row) bool {
		return slices.ContainsFunc(r.keys, func(k *model.Watched) bool { return k.Reading.Key == h.key })
	}
	if i := slices.IndexFunc(h.rows, holds); h.key != "" && i >= 0 {
		h.at = i
	}
	h.runWhatIf()
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
	if len(h.known) > 2*len(h.keys)+64 {
		h.known = nil
	}
	turns := max(turns, (len(h.keys)+mostKeys-1)/mostKeys)
	for i := range h.rows {
		r := &h.rows[i]
		from := h.width
		switch shift := int(newest.Sub(r.newest) / d); {
		case r.cells == nil || newest < r.newest || shift >= h.width || len(r.keys) == 1:
			from = 0
		default:
			r.pass(shift)
			if r.newest = newest; (i+h.turn)%turns != 0 {
				continue // a row of many keys has its turn in one of so many pictures
			}
		}
		for len(r.past) < len(r.keys) {
			r.past = append(r.past, collect.Entry(&h.known, r.keys[len(r.past)].Reading.Key))
		}
		for i, k := range r.keys {
			from = min(from, r.past[i].Past.Update(k, newest, now, d, h.width))
		}
		h.foresee(r)
		if len(r.keys) == 1 {
			r.cells, from = r.past[0].Past.Cells, h.width
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
			for x, c := range y.Past.Cells[from:] {
				r.cells[from+x].Join(c)
			}
		}
	}
}

// foresee works out what is to come of the keys of a row. Of several only those that are throttled are looked at.
func (h *Screen) foresee(r *row) {
	if len(r.keys) == 1 {
		f := &r.past[0].Coming
		f.Update(r.keys[0], h.newest, steps[h.step], h.ahead)
		r.coming = f.Columns
		return
	}
	var futures []*chart.Future
	r.near = 0
	for i, k := range r.keys {
		if k.Gauge.Near() && !k.Gauge.Throttled() {
			r.near++
		}
		if f := &r.past[i].Coming; k.Gauge.Throttled() {
			f.Update(k, h.newest, steps[h.step], h.ahead)
			futures = append(futures, f)
		}
	}
	r.coming, r.throttled = chart.Worst(futures, h.ahead), len(futures)
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
	if fold && len(keys) > 0 || len(keys) > rows {
		if folds := folded(keys); len(folds) > 1 && len(folds) <= rows {
			return folds
		}
	}
	per := max((len(keys)+rows-1)/max(rows, 1), 1)
	return collect.Map(slices.Collect(slices.Chunk(keys, per)), func(group []*model.Watched) row { return row{keys: group} })
}

// paintCursorText names the key and the moment under the cursor, and what happened there, beside the scale.
func (h *Screen) paintCursorText(p *widget.Canvas, r cell.Rect) {
	row := &h.rows[h.at]
	c := row.cells[len(row.cells)-1-min(h.back, len(row.cells)-1)]
	spans := []widget.Span{{}, widget.Styled(" at ", p.Look.Dim), widget.Styled(format.Clock(h.moment()), p.Look.Text)}
	switch {
	case c.Known:
		spans = append(spans, widget.Styled(fmt.Sprintf(" · %.0f %% used", 100*c.Level), p.Look.Text))
	case c.Arrivals:
		spans = append(spans, widget.Styled(" · requests, limit unknown", p.Look.Unknown))
	case !c.Watched:
		spans = append(spans, widget.Styled(" · not watched", p.Look.Unknown))
	}
	if c.Denied {
		spans = append(spans, widget.Styled(" · denied", p.Look.Denied))
	}
	spans[0] = widget.Styled(h.rowName(row, min(r.W/2, r.W-2-widget.Width(spans[1:]...)), 0), p.Look.Title)
	x := p.Spans(r.X+1, r.Y, r.X+r.W, spans...)
	chart.Scale(&p.Buffer, x+2, r.Y, r.X+r.W, &p.Look)
}

// rowName is the key of a row; of several what their names begin with and how many there are, or the first and how many more.
// What is too long goes without its first bytes, so many of which are those of all rows.
func (h *Screen) rowName(r *row, columns, common int) string {
	first := r.keys[0].Reading.Key
	switch {
	case len(r.keys) == 1:
		return h.s.Names.Short(first, columns)
	case r.prefix == "":
		more := " and " + format.Short(int64(len(r.keys)-1)) + " more"
		return h.s.Names.Short(first, max(columns-len(more), 1)) + more
	}
	count := " ×" + format.Short(int64(len(r.keys)))
	columns = max(columns-safetext.Width(count), 1)
	prefix := h.s.Names.Of(r.prefix)
	if common > 0 && safetext.Width(prefix) >= columns {
		prefix = safetext.Ellipsis + prefix[common:]
	}
	return safetext.Shorten(prefix+safetext.Ellipsis, columns, safetext.Ellipsis) + count
}

// rowNames are the names of several rows, of which those of single keys can be told apart.
func (h *Screen) rowNames(list []row, columns int) []string {
	texts, common := make([]string, len(list)), 0
	folds := collect.Only(list, func(r row) bool { return r.prefix != "" })
	if prefixes := collect.Map(folds, func(r row) string { return h.s.Names.Of(r.prefix) }); len(prefixes) > 1 {
		common = safetext.SharedWords(slices.Min(prefixes), slices.Max(prefixes))
	}
	for i := range list {
		if r := &list[i]; len(r.keys) == 1 {
			texts[i] = h.s.Names.Of(r.keys[0].Reading.Key)
		} else {
			texts[i] = h.rowName(r, columns, common)
		}
	}
	return h.s.Names.Families().Distinct(texts, columns, safetext.Ellipsis)
}

// paintRow draws row i of those on screen: its name, below it where there is room how it stands now, and its lane.
func (h *Screen) paintRow(p *widget.Canvas, i int, r *row, name string) {
	x, y, st := h.area.X-h.names, h.area.Y+h.lines.Line(i), p.Look.Text
	lines := h.lines.Line(i+1) - h.lines.Line(i)
	selected := h.first+i == h.at
	mark, ms := h.s.Tell.Mark(r.keys[0], p.Look)
	if selected {
		p.Buffer.Text(x-1, y, h.area.X, p.Look.SelMark, p.Look.Accent)
		st = p.Look.Title
	}
	p.Spans(x, y, h.area.X-1, widget.Styled(mark+" ", ms), widget.Styled(name, st))
	if lines > 1 {
		p.Buffer.Text(x+2, y+1, h.area.X-1, h.standing(r), p.Look.Dim)
	}
	chart.River(&p.Buffer, h.area.X, y, lines, r.cells, r.coming, false, &p.Look)
	if selected {
		row := cell.Rect{X: x - 1, Y: y, W: h.area.W + h.names + h.ahead + 2, H: lines}
		p.Buffer.Ground(row, p.Look.Selected)
		p.Keep(row)
	}
}

// standing says how much of its limit the key of a row uses now; of several, how many are throttled or near it.
func (h *Screen) standing(r *row) string {
	if len(r.keys) > 1 {
		return fmt.Sprintf("%d throttled, %d near", r.throttled, r.near)
	}
	k, t := r.keys[0], &r.keys[0].Reading.Target
	of := session.UsedText(k, h.names-3)
	if !t.LimitKnown || t.Limit.Count == 0 || t.Window <= 0 {
		return of
	}
	return format.First(h.names-3, of+" · "+format.Short(t.Limit.Count)+" per "+format.Length(t.Window), of)
}

// paintTimes labels the axis of time, and continues the line at now where no row is.
func (h *Screen) paintTimes(p *widget.Canvas) {
	y, d := h.area.Y+h.area.H, steps[h.step]
	right := h.area.X + h.area.W
	if h.ahead > 0 {
		for line := h.lines.Line(min(h.area.H/h.lines.Height, len(h.rows)-h.first)); line < h.area.H; line++ {
			p.Buffer.Set(right, h.area.Y+line, p.Look.LimitV, p.Look.Faint)
		}
	}
	chart.Times(&p.Buffer, h.area.X, y, h.area.W, h.ahead, d, h.s.Shown.NowText(), p.Look.Text, &p.Look)
	keys := format.Plural(len(h.keys), "key")
	p.Buffer.Text(h.area.X-h.names, y, h.area.X, format.First(h.names-2, keys+" · "+h.s.Rows.SortText(), keys), p.Look.Dim)
}

// separators are the characters that end a part of a key's name.
const separators = ":/|."

// folded returns a row for the keys, at least one, of each first part of their names in which they differ, in the order of
// their first keys.
func folded(keys []*model.Watched) []row {
	names := collect.Map(keys, func(k *model.Watched) string { return k.Reading.Key })
	common := safetext.SharedWords(slices.Min(names), slices.Max(names))
	place := map[string]int{}
	var list []row
	for _, k := range keys {
		prefix := k.Reading.Key
		if i := strings.IndexAny(prefix[common:], separators); i >= 0 {
			prefix = prefix[:common+i+1]
		}
		i, ok := place[prefix]
		if !ok {
			i = len(list)
			place[prefix] = i
			list = append(list, row{prefix: prefix})
		}
		list[i].keys = append(list[i].keys, k)
	}
	for i := range list {
		if len(list[i].keys) == 1 {
			list[i].prefix = ""
		}
	}
	return list
}
