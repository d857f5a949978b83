package keys

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/format"
	"ratescope/tui/rows"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// column is one column of the key table. Columns with a higher rank go first when the width
// is short; those that share grow in a wide table.
type column struct {
	title string
	width int
	rank  int
	right bool
	share bool
	sort  model.Sort
	paint func(v view, x, y, w int, k *model.Watched)
	sum   func(v view, x, y, w int, g *group) // the same of a group; nil leaves it blank
}

// columns are those of the table, from the left; the name takes what is left over.
var columns = [...]column{
	{title: "key", width: 16, sort: model.ByName, paint: view.paintName, sum: view.sumName},
	{title: "limiter", width: 7, rank: 3, sort: model.ByAlgorithm, paint: view.paintLimiter, sum: view.sumLimiter},
	{title: "used/limit", width: 10, right: true, sort: model.ByUtilization, paint: view.paintUsed, sum: view.sumUsed},
	{title: "fill", width: 8, rank: 1, share: true, sort: model.ByUtilization, paint: view.paintFill, sum: view.sumFill},
	{title: "rate", width: 7, rank: 2, right: true, sort: model.ByRate, paint: view.paintRate, sum: view.sumRate},
	{title: "denied", width: 7, rank: 5, right: true, sort: model.ByDenied, paint: view.paintDenied, sum: view.sumDenied},
	{title: "past", width: 6, rank: 4, share: true, sort: model.ByRate, paint: view.paintSpark},
	{title: "library", width: 10, rank: 6, sort: model.ByAlgorithm, paint: view.paintLibrary},
	{title: "next", width: 5, right: true, sort: model.ByNext, paint: view.paintNext, sum: view.sumNext},
}

// fit says which columns there is room for and how wide each is; the name takes what
// is left over, the fill bar and the sparkline share in very wide tables.
func fit(w int) (widths [len(columns)]int) {
	total := 0
	for i, c := range columns {
		widths[i] = c.width
		total += c.width + 1
	}
	const roomy = 16 // the library is worth less than a longer past
	for rank := 6; rank > 0 && (total > w-1 || rank == 6 && total > w-roomy); rank-- {
		for i, c := range columns {
			if c.rank == rank {
				total -= c.width + 1
				widths[i] = 0
			}
		}
	}
	spare := max(0, w-2-total)
	grow := min(spare, 10)
	widths[0] += grow
	spare -= grow
	for i, c := range columns {
		if c.share && widths[i] > 0 {
			share := min(spare*2/5, 40)
			widths[i] += share
		}
	}
	total = 2
	for _, n := range widths {
		if n > 0 {
			total += n + 1
		}
	}
	widths[0] += max(0, w-total+1)
	return widths
}

// paintKeys draws the table.
func (v view) paintKeys(r cell.Rect) {
	if r.H == 0 {
		return
	}
	in := r
	if v.Framed {
		in = v.Section(r, v.focus == paneKeys, v.keysTitle()...)
	}
	widths := fit(in.W)
	v.paintHeadings(in, &widths)
	rows := cell.Rect{X: in.X, Y: in.Y + 1, W: in.W, H: in.H - 1}
	shown := min(max(rows.H, 0), v.lineCount()-v.top)
	var alone []string // keys that stand in no group
	for i := range shown {
		if l := v.lineAt(v.top + i); l.group == nil && (!v.groups.on || v.groups.tree.of[l.key.Reading.Key] == nil) {
			alone = append(alone, l.key.Reading.Key)
		}
	}
	v.names.shorten(alone, v.Name, widths[0]-1)
	for i := range shown {
		if l := v.lineAt(v.top + i); l.group != nil {
			v.paintGroup(rows.X, rows.Y+i, rows.W, &widths, l.group)
		} else {
			v.paintRow(rows.X, rows.Y+i, rows.W, &widths, l.key)
		}
	}
	switch {
	case len(v.Rows()) > 0 || !v.Started():
	case v.Board().Len() == 0 && v.Live().Sweep.Passes == 0:
		session.PaintSearch(v.Canvas, rows, v.Live())
	default:
		text := format.Plural(int(v.Live().Sweep.Seen()), "key") + " looked at, none of them a limiter."
		if sweep := &v.Live().Sweep; sweep.Complete() && sweep.Keys == 0 && sweep.Total == 0 {
			text = "There is no key on this server yet."
		}
		if v.Board().Len() > 0 {
			text = "No key matches the filter " + safetext.Clean(v.Filter()) + "; esc clears it."
		}
		v.Buffer.Text(rows.X+1, rows.Y+1, rows.X+rows.W, text, v.Look.Dim)
	}
}

func (v view) keysTitle() []widget.Span {
	title := []widget.Span{widget.Styled("keys", v.Look.Title), widget.Styled(fmt.Sprintf(" %d", len(v.Rows())), v.Look.Dim)}
	if v.groups.on {
		groups := " in " + format.Plural(v.groups.tree.groups, "group")
		if v.groups.tree.groups == 0 {
			groups = ", no two of a group"
		}
		title = append(title, widget.Styled(groups, v.Look.Dim))
	}
	if v.Filter() != "" {
		title = append(title, widget.Styled(" /", v.Look.Accent), widget.Styled(safetext.Clean(v.Filter()), v.Look.Text))
	}
	if d := v.Live().Sweep.Dropped; d > 0 {
		title = append(title, widget.Styled(fmt.Sprintf(" · %d more not watched", d), v.Look.Near))
	}
	return append(title, widget.Styled(" · "+v.SortText(), v.Look.Dim))
}

func (v view) paintHeadings(in cell.Rect, widths *[len(columns)]int) {
	x, rule := in.X+2, !v.Framed && v.focus == paneKeys
	if rule { // in place of the frame that shows where the focus is
		v.Buffer.Fill(in.X, in.Y, in.W, v.Look.Box.H, v.Look.Accent)
	}
	for i, c := range columns {
		w := widths[i]
		if w == 0 {
			continue
		}
		st := v.Look.Dim
		if v.SortedBy(c.sort) && !c.share {
			st = v.Look.Accent
		}
		if rule {
			at, n := x, safetext.Width(c.title)
			if c.right {
				at = x + w - n
			}
			v.Buffer.Clear(cell.Rect{X: at - 1, Y: in.Y, W: n + 2, H: 1})
		}
		if all := v.lineCount(); rule && i == 0 && all >= in.H { // no title says how many there are
			last := min(v.top+in.H-1, all)
			at := x + safetext.Width(c.title)
			v.Buffer.Text(at, in.Y, x+w, format.First(w-safetext.Width(c.title)-1, fmt.Sprintf(" %d–%d of %d ", v.top+1, last, all), fmt.Sprintf(" of %d ", all)), v.Look.Dim)
		}
		if c.right {
			v.Buffer.Right(x, in.Y, x+w, c.title, st)
		} else {
			v.Buffer.Text(x, in.Y, x+w, c.title, st)
		}
		v.Tip(cell.Rect{X: x, Y: in.Y, W: w, H: 1}, func(int, int) string { return titles[c.title] })
		order := c.sort
		v.OnClick(cell.Rect{X: x, Y: in.Y, W: w, H: 1}, func(int) tea.Cmd {
			v.SetSort(order)
			return nil
		})
		x += w + 1
	}
}

func (v view) paintRow(x, y, w int, widths *[len(columns)]int, k *model.Watched) {
	g, key := &v.Buffer, k.Reading.Key
	left := x
	mark, markStyle := v.Mark(k, v.Look)
	selected := key == v.Selected() && v.groups.at == ""
	if selected {
		g.Text(x, y, x+1, v.Look.SelMark, v.Look.Accent)
	}
	g.Text(x+1, y, x+3, mark+" ", markStyle) // some fonts draw the mark wider than its cell
	x += 3
	for i := range columns {
		cw := widths[i]
		if cw == 0 {
			continue
		}
		columns[i].paint(v, x-1, y, cw, k)
		x += cw + 1
	}
	v.Tip(cell.Rect{X: left, Y: y, W: w, H: 1}, func(at, _ int) string {
		return v.cellTip(columnAt(widths, at-left), k)
	})
	if _, old := v.Outdated(k); old {
		g.Wash(cell.Rect{X: left + 1, Y: y, W: w - 1, H: 1}, v.Look.Unknown.Fg)
	}
	switch row := (cell.Rect{X: left, Y: y, W: w, H: 1}); {
	case selected:
		g.Tint(row, v.Look.Selected)
	case k.Gauge.Throttled():
		g.Tint(row, v.Look.DeniedGround)
	case v.Moved(key):
		g.Tint(row, v.Look.Raised)
	}
	v.OnClick(cell.Rect{X: left, Y: y, W: w, H: 1}, func(int) tea.Cmd {
		v.focus, v.groups.at = paneKeys, ""
		v.Pick(key)
		return nil
	})
}

// columnAt returns the title of the column so many cells from the left edge of a row.
func columnAt(widths *[len(columns)]int, at int) string {
	x := 3
	for i, w := range widths {
		if x += w; w > 0 {
			if x++; at < x {
				return columns[i].title
			}
		}
	}
	return ""
}

// fine reports whether a key is at ease, and its row therefore without colours.
func (v view) fine(k *model.Watched) bool {
	return !k.Gauge.Throttled() && !k.Gauge.Near() && k.Reading.Err == ""
}

// plain is the style of what a row says.
func (v view) plain(k *model.Watched) themes.Style {
	if v.BandOf(k) == rows.SilentBand {
		return v.Look.Dim
	}
	return v.Look.Text
}

func (v view) paintName(x, y, w int, k *model.Watched) {
	st := v.plain(k)
	if k.Gauge.Throttled() {
		st = v.Look.Title
	}
	name := v.Name(k.Reading.Key)
	if short, ok := v.names[k.Reading.Key]; ok && !k.Pinned {
		v.Buffer.Text(x+1, y, x+w, short, st)
		return
	}
	if g := v.groups.tree.of[k.Reading.Key]; v.groups.on && g != nil {
		name = strings.TrimPrefix(name, g.path)
		x, w = x+indent*(g.depth+1), w-indent*(g.depth+1)
	}
	if k.Pinned {
		name = v.Look.PinMark + " " + name
	}
	v.Buffer.Text(x+1, y, x+w, safetext.Shorten(name, w-1, safetext.Ellipsis), st)
}

func (v view) paintLimiter(x, y, w int, k *model.Watched) {
	v.Buffer.Text(x, y, x+w, k.Reading.Target.Algorithm.Short(), v.Look.Dim)
}

// paintLibrary says whose limiter it is, or what else says that it is one.
func (v view) paintLibrary(x, y, w int, k *model.Watched) {
	t := &k.Reading.Target
	text, st := t.Library, v.Look.Dim
	switch {
	case t.Evidence == model.Likely:
		text, st = "~likely", v.Look.Unknown
	case t.Evidence == model.Told || text == "":
		text = t.Evidence.String()
	}
	v.Buffer.Text(x, y, x+w, safetext.Clip(safetext.Clean(text), w, safetext.Ellipsis), st)
}

func (v view) paintFill(x, y, w int, k *model.Watched) {
	if k.Gauge.Remaining.Known {
		chart.Meter(&v.Buffer, x, y, w, k.Gauge.Utilization, v.Look)
		if v.fine(k) {
			v.Buffer.Wash(cell.Rect{X: x, Y: y, W: w, H: 1}, v.Look.Fine)
		}
	} else if k.Reading.Err == "" {
		v.Buffer.Text(x, y, x+w, format.Unknown, v.Look.Unknown)
	}
}

func (v view) paintRate(x, y, w int, k *model.Watched) {
	text, st := format.Unknown, v.Look.Unknown
	if rate, known := k.Gauge.Pace(); known { // that of the window is beside the timeline
		text, st = format.PerSecond(rate), v.plain(k)
		if rate == 0 {
			st = v.Look.Dim
		}
	}
	v.Buffer.Right(x, y, x+w, text, st)
}

func (v view) paintDenied(x, y, w int, k *model.Watched) {
	text, st := format.Unknown, v.Look.Unknown
	if k.Gauge.DeniedInW.Known {
		text, st = format.PerSecond(k.Gauge.DeniedPerSec), v.Look.Denied
		if k.Gauge.DeniedInW.N == 0 {
			text, st = "", v.Look.Dim
		}
	}
	v.Buffer.Right(x, y, x+w, text, st)
}

func (v view) paintNext(x, y, w int, k *model.Watched) {
	text, st := session.NextText(&k.Gauge, w), v.Look.Denied
	switch {
	case !k.Gauge.NextKnown:
		st = v.Look.Unknown
	case k.Gauge.Next == 0 && !k.Gauge.Near(): // what is fine needs no word
		return
	case k.Gauge.Next == 0:
		st = v.Look.Near
	}
	v.Buffer.Right(x, y, x+w, text, st)
}

func (v view) paintUsed(x, y, w int, k *model.Watched) {
	if k.Reading.Err != "" {
		v.Buffer.Right(x, y, x+w, "unreadable", v.Look.Unknown)
		return
	}
	st := v.plain(k)
	switch {
	case k.Gauge.Throttled():
		st = v.Look.Denied
	case k.Gauge.Near():
		st = v.Look.Near
	}
	v.Buffer.Right(x, y, x+w, session.UsedText(k, w), st)
}

// paintSpark draws the last two windows of a key in one row.
func (v view) paintSpark(x, y, w int, k *model.Watched) {
	if k.Timeline == nil || k.Reading.Target.Algorithm == limiter.Unknown && k.Reading.Err != "" {
		return
	}
	per := model.PerColumn(max(1, w/2))
	v.bins = resize(v.bins, w)
	k.Timeline.Columns(v.bins, k.Timeline.Column(v.At(), per), per)
	chart.Spark(&v.Buffer, x, y, w, v.bins, v.Look)
	if v.fine(k) {
		v.Buffer.Recolour(cell.Rect{X: x, Y: y, W: w, H: 1}, v.Look.Admitted.Fg, v.Look.Fine)
	}
}

func resize(bins []model.Bin, n int) []model.Bin {
	if n <= cap(bins) {
		return bins[:max(n, 0)]
	}
	return make([]model.Bin, n)
}
