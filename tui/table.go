package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/figure"
	"ratescope/tui/pane"
)

// column is one column of the key table. Columns with a higher rank go first when the
// width is short.
type column struct {
	title string
	width int
	rank  int
	right bool
	sort  model.Sort
}

const nameColumn = 0

var columns = [...]column{
	{"key", 16, 0, false, model.ByName},
	{"limiter", 7, 3, false, model.ByAlgorithm},
	{"used/limit", 10, 0, true, model.ByUtilization},
	{"fill", 8, 1, false, model.ByUtilization},
	{"rate", 7, 2, true, model.ByRate},
	{"denied", 7, 5, true, model.ByDenied},
	{"past", 6, 4, false, model.ByRate},
	{"next", 5, 0, true, model.ByNext},
}

// fit says which columns there is room for and how wide each is; the name takes what
// is left over, the fill bar and the sparkline share in very wide tables.
func fit(w int) (widths [len(columns)]int) {
	total := 0
	for i, c := range columns {
		widths[i] = c.width
		total += c.width + 1
	}
	for rank := 5; rank > 0 && total > w-1; rank-- {
		for i, c := range columns {
			if c.rank == rank {
				total -= c.width + 1
				widths[i] = 0
			}
		}
	}
	spare := max(0, w-2-total)
	grow := min(spare, 10)
	widths[nameColumn] += grow
	spare -= grow
	for i, c := range columns {
		if (c.title == "fill" || c.title == "past") && widths[i] > 0 {
			share := min(spare*2/5, 14)
			widths[i] += share
		}
	}
	total = 2
	for _, n := range widths {
		if n > 0 {
			total += n + 1
		}
	}
	widths[nameColumn] += max(0, w-total+1)
	return widths
}

// tableRows is how many keys the table shows at once.
func (a *App) tableRows() int {
	h := a.areas.keys.H - 1
	if a.Framed {
		h -= 2
	}
	return max(h, 0)
}

func (a *App) paintKeys(r cell.Rect) {
	if r.H == 0 {
		return
	}
	in := r
	if a.Framed {
		in = a.Section(r, a.focus == paneKeys, a.keysTitle()...)
	}
	widths := fit(in.W)
	a.paintHeadings(in, &widths)
	if a.areas.keys.H > 0 {
		a.follow()
	}
	rows := cell.Rect{X: in.X, Y: in.Y + 1, W: in.W, H: in.H - 1}
	for i := range max(rows.H, 0) {
		if a.top+i >= len(a.rows) {
			break
		}
		a.paintRow(rows.X, rows.Y+i, rows.W, &widths, a.rows[a.top+i])
	}
	if len(a.rows) == 0 && a.started {
		text := figure.Plural(int(a.board.Sweep.Scanned), "key") + " looked at, none of them a limiter."
		if a.shown().Len() > 0 {
			text = "No key matches the filter " + safetext.Clean(a.view.Filter) + "; esc clears it."
		} else if a.board.Sweep.Passes == 0 {
			text = ""
		}
		a.Grid.Text(rows.X+1, rows.Y+1, rows.X+rows.W, text, a.Look.Dim)
	}
}

func (a *App) keysTitle() []pane.Piece {
	title := []pane.Piece{pane.Bit("keys", a.Look.Title), pane.Bit(fmt.Sprintf(" %d", len(a.rows)), a.Look.Dim)}
	if a.view.Filter != "" {
		title = append(title, pane.Bit(" /", a.Look.Accent), pane.Bit(safetext.Clean(a.view.Filter), a.Look.Text))
	}
	if d := a.board.Sweep.Dropped; d > 0 {
		title = append(title, pane.Bit(fmt.Sprintf(" · %d more not watched", d), a.Look.Near))
	}
	order := "by " + a.view.Sort.String()
	if a.view.Reverse {
		order += " reversed"
	}
	return append(title, pane.Bit(" · "+order, a.Look.Dim))
}

func (a *App) paintHeadings(in cell.Rect, widths *[len(columns)]int) {
	x, rule := in.X+2, !a.Framed && a.focus == paneKeys
	if rule { // in place of the frame that shows where the focus is
		a.Grid.Fill(in.X, in.Y, in.W, a.Look.Box.H, a.Look.Accent)
	}
	for i, c := range columns {
		w := widths[i]
		if w == 0 {
			continue
		}
		st := a.Look.Dim
		if c.sort == a.view.Sort && (c.title != "fill" && c.title != "past") {
			st = a.Look.Accent
		}
		if rule {
			at, n := x, safetext.Width(c.title)
			if c.right {
				at = x + w - n
			}
			a.Grid.Clear(cell.Rect{X: at - 1, Y: in.Y, W: n + 2, H: 1})
		}
		if c.right {
			a.Grid.Right(x, in.Y, x+w, c.title, st)
		} else {
			a.Grid.Text(x, in.Y, x+w, c.title, st)
		}
		order := c.sort
		a.Zone(cell.Rect{X: x, Y: in.Y, W: w, H: 1}, func(int) tea.Cmd {
			if a.view.Sort == order {
				return a.do(actReverse)
			}
			a.view.Sort, a.view.Reverse = order, false
			a.reorder()
			return nil
		})
		x += w + 1
	}
}

// mark is the shape and colour of how pressing a key is.
func (a *App) mark(k *model.Watched) (string, themes.Style) {
	g := &k.Gauge
	if _, old := a.outdated(k); old {
		return a.Look.StaleMark, a.Look.Unknown
	}
	switch {
	case k.Reading.Err != "":
		return a.Look.BadMark, a.Look.Unknown
	case k.Gone:
		return a.Look.IdleMark, a.Look.Faint
	case g.Throttled():
		return a.Look.OverMark, a.Look.Denied
	case g.Near():
		return a.Look.NearMark, a.Look.Near
	case !g.NextKnown:
		return a.Look.BadMark, a.Look.Unknown
	case g.Used.N == 0:
		return a.Look.IdleMark, a.Look.Dim
	}
	return a.Look.OKMark, a.Look.Good
}

func (a *App) paintRow(x, y, w int, widths *[len(columns)]int, k *model.Watched) {
	g, key := &a.Grid, k.Reading.Key
	left := x
	mark, markStyle := a.mark(k)
	if key == a.selected {
		g.Text(x, y, x+1, a.Look.SelMark, a.Look.Accent)
	}
	g.Text(x+1, y, x+3, mark+" ", markStyle) // some fonts draw the mark wider than its cell
	x += 3
	for i := range columns {
		cw := widths[i]
		if cw == 0 {
			continue
		}
		a.paintCell(i, x-1, y, cw, k)
		x += cw + 1
	}
	if _, old := a.outdated(k); old {
		g.Wash(cell.Rect{X: left + 1, Y: y, W: w - 1, H: 1}, a.Look.Unknown.Fg)
	}
	if key == a.selected {
		g.Tint(cell.Rect{X: left, Y: y, W: w, H: 1}, a.Look.Selected)
	}
	a.Zone(cell.Rect{X: left, Y: y, W: w, H: 1}, func(int) tea.Cmd {
		a.focus = paneKeys
		a.pick(key)
		return nil
	})
}

func (a *App) paintCell(i, x, y, w int, k *model.Watched) {
	g, gauge := &a.Grid, &k.Gauge
	switch columns[i].title {
	case "key":
		st := a.Look.Text
		if gauge.Throttled() {
			st = a.Look.Title
		}
		name := a.name(k.Reading.Key)
		if k.Pinned {
			name = a.Look.PinMark + " " + name
		}
		g.Text(x+1, y, x+w, safetext.Shorten(name, w-1, safetext.Ellipsis), st)
	case "limiter":
		g.Text(x, y, x+w, figure.Algorithm(k.Reading.Target.Algorithm), a.Look.Dim)
	case "used/limit":
		a.paintUsed(x, y, w, k)
	case "fill":
		if gauge.Remaining.Known {
			chart.Meter(g, x, y, w, gauge.Utilization, a.Look)
		} else if k.Reading.Err == "" {
			g.Text(x, y, x+w, figure.Unknown, a.Look.Unknown)
		}
	case "rate":
		text, st := figure.Unknown, a.Look.Unknown
		if gauge.RateKnown {
			text, st = figure.PerSecond(gauge.Rate), a.Look.Text
			if gauge.Rate == 0 {
				st = a.Look.Faint
			}
		}
		g.Right(x, y, x+w, text, st)
	case "denied":
		text, st := figure.Unknown, a.Look.Unknown
		if gauge.DeniedInW.Known {
			text, st = figure.PerSecond(gauge.DeniedPerSec), a.Look.Denied
			if gauge.DeniedInW.N == 0 {
				st = a.Look.Faint
			}
		}
		g.Right(x, y, x+w, text, st)
	case "past":
		a.paintSpark(x, y, w, k)
	case "next":
		text, st := nextText(gauge, w), a.Look.Good
		switch {
		case !gauge.NextKnown:
			st = a.Look.Unknown
		case gauge.Next != 0:
			st = a.Look.Denied
		}
		g.Right(x, y, x+w, text, st)
	}
}

// usedOf writes used/limit in at most so many columns, ten or more. A figure is never
// cut, for it would read as another one; both become shorter.
func usedOf(k *model.Watched, columns int) string {
	text := ""
	for _, short := range [...]func(int64) string{figure.Short, figure.Brief} {
		t, used, limit := k.Reading.Target, figure.Unknown, figure.Unknown
		if k.Gauge.Used.Known {
			used = short(k.Gauge.Used.N)
		}
		if t.LimitKnown {
			limit = "∞"
			if t.Limit.Count > 0 {
				limit = short(model.Capacity(t))
			}
		}
		if text = used + "/" + limit; safetext.Width(text) <= columns {
			break
		}
	}
	return text
}

func (a *App) paintUsed(x, y, w int, k *model.Watched) {
	if k.Reading.Err != "" {
		a.Grid.Right(x, y, x+w, "unreadable", a.Look.Unknown)
		return
	}
	st := a.Look.Text
	switch {
	case k.Gauge.Throttled():
		st = a.Look.Denied
	case k.Gauge.Near():
		st = a.Look.Near
	}
	a.Grid.Right(x, y, x+w, usedOf(k, w), st)
}

// paintSpark draws the last two windows of a key in one row.
func (a *App) paintSpark(x, y, w int, k *model.Watched) {
	if k.Timeline == nil || k.Reading.Target.Algorithm == limiter.Unknown && k.Reading.Err != "" {
		return
	}
	per := model.PerColumn(max(1, w/2))
	a.columns = resize(a.columns, w)
	k.Timeline.Columns(a.columns, k.Timeline.Column(a.shownNow(), per), per)
	chart.Spark(&a.Grid, x, y, w, a.columns, a.Look)
}

func resize(bins []model.Bin, n int) []model.Bin {
	if n <= cap(bins) {
		return bins[:max(n, 0)]
	}
	return make([]model.Bin, n)
}
