package keys

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/session"
	"ratescope/tui/widget"
)

// table is the list of keys: which lines it has, where the cursor stands, and what is in sight.
type table struct {
	s *session.Session

	groups grouping
	top    int // first line on screen
	rows   widget.Rows
	names  names
	lanes  lanes
	peers  []*table // of all servers in one view, this one's among them
	lines  []line   // what is listed: groups and keys, or the rows of all servers in one order
}

// tallest is how many lines of the screen a row takes at most.
const tallest = 4

// scroll brings the cursor into sight of so many lines, or the first line where the selection does
// not hold, and tells the source what is in sight.
func (t *table) scroll(lines int) {
	switch i := t.cursor(); {
	case !t.s.Selection.Holds():
		t.top = 0
	case i >= 0:
		if t.s.Rows.Settled() && t.lines[0].shown().Gauge.Throttled() { // no key was pressed lately: the trouble comes first
			t.top = 0
		}
		t.top = min(max(t.top, i-lines+1), i)
	}
	t.top = min(max(t.top, 0), max(0, len(t.lines)-lines))
	t.see(t.top, t.top+lines)
}

// tableView is the table on the canvas that it is painted on.
type tableView struct {
	c       *widget.Canvas
	table   *table
	s       *session.Session // the table's
	focused bool             // the table has the keyboard
	focus   func()           // gives it the keyboard
	faded   bool             // the row is far down: what is at ease is dim there
	common  []string         // what the names of each family begin and end with, which the title says and the rows leave out
	above   int              // throttled keys above the first row
	below   int              // and below the last one
}

// paint draws the table.
func (v tableView) paint(r cell.Rect) {
	if r.H == 0 {
		return
	}
	in := collect.If(v.c.Framed, widget.Inside(r, true), r)
	rows := cell.Rect{X: in.X, Y: in.Y + 1, W: in.W, H: in.H - 1}
	shown := min(max(rows.H, 0)/v.table.rows.Height, len(v.table.lines)-v.table.top)
	alone := map[*table][]string{v.table: nil} // keys that stand in no group
	longest := 0
	for i := range shown {
		if l := v.table.lines[v.table.top+i]; l.group == nil && (!v.table.groups.on || v.table.groups.tree.of[l.key.Reading.Key] == nil) {
			alone[l.table] = append(alone[l.table], l.key.Reading.Key)
			longest = max(longest, safetext.Width(v.s.Names.Of(l.key.Reading.Key)))
		}
	}
	if v.table.groups.on {
		longest = in.W // their names are indented
	} else if v.c.Framed && v.table.several() == nil {
		if v.common = v.s.Names.Families().Common(in.W/4, safetext.Ellipsis); v.common != nil {
			longest = collect.Most(alone[v.table], func(key string) int {
				return safetext.Width(v.s.Names.Families().Own(v.s.Names.Of(key), safetext.Ellipsis))
			})
		}
	}
	if !v.table.groups.on {
		v.above, v.below = throttled(v.table.lines[:v.table.top]), throttled(v.table.lines[v.table.top+shown:])
	}
	if v.c.Framed {
		title := v.heading()
		v.c.Section(r, v.focused, title...)
		chart.Scale(&v.c.Buffer, r.X+widget.Width(title...)+6, r.Y, r.X+r.W-2, &v.c.Look)
	}
	widths := fit(in.W, longest, v.table.serverWidth())
	at, cells := laneAt(&widths)
	for t, keys := range alone {
		t.lanes.begin(cells, t.s.Shown)
		t.names.shorten(t.s, keys, widths[0]-1, v.common != nil)
	}
	v.columnHeads(in, &widths)
	axis := v.table.lanes.axis
	chart.Times(&v.c.Buffer, in.X+at, in.Y, axis.past, axis.ahead, axis.column, v.s.Shown.NowText(), v.c.Look.Accent, &v.c.Look)
	for i := range shown {
		y := v.table.rows.Line(i)
		r := cell.Rect{X: rows.X, Y: rows.Y + y, W: rows.W, H: v.table.rows.Line(i+1) - y}
		row, l := v, v.table.lines[v.table.top+i]
		row.table, row.s, row.faded = l.table, l.table.s, 3*y >= 2*rows.H
		row.row(r, &widths, l)
	}
	for y := v.table.rows.Line(shown); shown > 0 && y < rows.H; y++ { // the line of now goes on where no key is
		v.c.Buffer.Set(rows.X+at+axis.past, rows.Y+y, v.c.Look.LimitV, v.c.Look.Faint)
	}
	v.paintEmpty(rows)
}

// throttled counts the throttled keys of lines.
func throttled(lines []line) int {
	return collect.Sum(lines, func(l line) int {
		return collect.If(l.key.State(l.table.s.Shown.At()) == model.Throttled, 1, 0)
	})
}

// paintEmpty says why no key is listed, and what to do.
func (v tableView) paintEmpty(rows cell.Rect) {
	switch {
	case len(v.table.lines) > 0 || !v.s.Shown.Started:
	case v.s.Shown.Board().Len() == 0:
		session.PaintSearch(v.c, rows, v.s.Shown.Live())
	case rows.H > 1:
		text := "No key matches the filter " + safetext.Clean(v.s.Rows.Filter()) + "; esc clears it."
		v.c.Buffer.Text(rows.X+1, rows.Y+1, rows.X+rows.W, text, v.c.Look.Dim)
	}
}

// heading is the title of the pane: how many keys there are, and which.
func (v tableView) heading() []widget.Span {
	n := collect.If(v.table.groups.on, len(v.s.Rows.Rows), len(v.table.lines))
	title := []widget.Span{widget.Styled("keys", v.c.Look.Title), widget.Styled(fmt.Sprintf(" %d", n), v.c.Look.Dim)}
	if v.common != nil {
		title = append(title, widget.Styled(" · "+strings.Join(v.common, "  "), v.c.Look.Text))
	}
	if v.table.groups.on {
		n := v.table.groups.tree.groups
		groups := collect.If(n == 0, " · no two of a group", " · "+format.Plural(n, "group"))
		title = append(title, widget.Styled(groups, v.c.Look.Dim))
	}
	if v.s.Rows.Filter() != "" {
		title = append(title, widget.Styled(" /", v.c.Look.Accent), widget.Styled(safetext.Clean(v.s.Rows.Filter()), v.c.Look.Text))
	}
	if d := v.s.Shown.Live().Sweep.Dropped; d > 0 {
		title = append(title, widget.Styled(fmt.Sprintf(" · %d more not watched", d), v.c.Look.Near))
	}
	title = append(title, widget.Styled(" · "+v.s.Rows.SortText(), v.c.Look.Dim))
	for i, n := range [...]int{v.above, v.below} {
		if n > 0 {
			title = append(title, widget.Styled(fmt.Sprintf(" · %d more throttled %s", n, [...]string{"above", "below"}[i]), v.c.Look.Denied))
		}
	}
	return title
}

// columnHeads draws the titles of the columns, which a click sorts by.
func (v tableView) columnHeads(in cell.Rect, widths *[len(columns)]int) {
	x, rule := in.X+2, !v.c.Framed && v.focused
	if rule { // in place of the frame that shows where the focus is
		v.c.Buffer.Fill(in.X, in.Y, in.W, v.c.Look.Box.H, v.c.Look.Accent)
	}
	for i, c := range columns {
		w := widths[i]
		if w == 0 {
			continue
		}
		st := collect.If(v.s.Rows.SortedBy(c.sort) && !c.share, v.c.Look.Accent, v.c.Look.Dim)
		if c.title == laneTitle {
			x += w + 1
			continue
		}
		title, n := x, safetext.Width(c.title)
		if c.right {
			title += w - n
		}
		if rule {
			v.c.Buffer.Clear(cell.Rect{X: title - 1, Y: in.Y, W: n + 2, H: 1})
		}
		if all := len(v.table.lines); rule && i == 0 && all >= in.H { // no title says how many there are
			last := min(v.table.top+in.H-1, all)
			span := fmt.Sprintf(" %d–%d of %d ", v.table.top+1, last, all)
			texts, style := []string{span, fmt.Sprintf(" of %d ", all)}, v.c.Look.Dim
			if n := v.above + v.below; n > 0 {
				more := fmt.Sprintf("%d more %s ", n, v.c.Look.OverMark)
				texts, style = []string{span + more, " " + more}, v.c.Look.Denied
			}
			v.c.Buffer.Text(x+n, in.Y, x+w, format.First(w-n-1, texts...), style)
		}
		v.c.Buffer.Text(title, in.Y, x+w, c.title, st)
		v.c.Tip(cell.Rect{X: x, Y: in.Y, W: w, H: 1}, func(int, int) string { return tip("column " + c.title) })
		v.c.OnClick(cell.Rect{X: x, Y: in.Y, W: w, H: 1}, func(int) tea.Cmd {
			v.s.Rows.SetSort(c.sort)
			return nil
		})
		x += w + 1
	}
}

// row draws a line in the columns of the table.
func (v tableView) row(r cell.Rect, widths *[len(columns)]int, l line) {
	g, k := &v.c.Buffer, l.shown()
	selected, denies := k.Reading.Key == v.s.Selection.Selected && v.table.groups.at == "" && v.table.shown(), k.Gauge.Throttled()
	if l.group != nil {
		selected, denies = v.table.groups.at == l.group.path, l.group.denied > 0
	}
	if selected {
		g.Text(r.X, r.Y, r.X+1, v.c.Look.SelMark, v.c.Look.Accent)
	}
	mark, markStyle := v.s.Tell.Mark(k, v.c.Look)
	g.Text(r.X+1, r.Y, r.X+3, mark+" ", markStyle) // some fonts draw the mark wider than its cell
	x := r.X + 3
	for i := range columns {
		cw := widths[i]
		if cw == 0 {
			continue
		}
		room := slot{v.c, x - 1, r.Y, cw, r.H}
		if l.group == nil {
			columns[i].key(keyCell{room, v.table, k, v.faded && !selected})
		} else if columns[i].group != nil {
			columns[i].group(groupCell{room, v.table, l.group})
		}
		x += cw + 1
	}
	if l.group != nil {
		v.groupMouse(r, l.group, selected)
	} else {
		v.keyWords(r, widths, k)
	}
	switch {
	case selected:
		g.Tint(r, v.c.Look.Selected)
		v.c.Keep(r)
	case denies:
		g.Tint(r, v.c.Look.DeniedGround)
	}
}

// keyWords says in the second line of a row how the key stands, and lets the row answer the mouse.
func (v tableView) keyWords(r cell.Rect, widths *[len(columns)]int, k *model.Watched) {
	lane, cells := laneAt(widths)
	if r.H > 1 {
		words := v.s.Tell.Headline(k, v.c.Look, lane-3)[1:]
		for i := range words {
			if (keyCell{k: k}).fine() {
				words[i].Style = v.c.Look.Dim
			}
		}
		v.c.Spans(r.X+3, r.Y+1, r.X+lane-1, words...)
	}
	v.c.Tip(r, func(at, _ int) string {
		if at -= r.X; at >= lane && at < lane+cells {
			return v.table.laneTip(k, at-lane)
		}
		return v.table.cellTip(columnAt(widths, at), k)
	})
	if _, old := v.s.Shown.Outdated(k); old {
		v.c.Buffer.Wash(cell.Rect{X: r.X + 1, Y: r.Y, W: r.W - 1, H: r.H}, v.c.Look.Unknown)
	}
	v.c.OnClick(r, func(int) tea.Cmd {
		v.focus()
		v.table.pick(k.Reading.Key)
		return nil
	})
}

// column is one column of the key table. Columns with a higher rank go first when the width
// is short; those that share grow in a wide table.
type column struct {
	title string
	width int
	rank  int
	right bool
	share bool
	sort  model.Sort
	key   func(keyCell)
	group func(groupCell) // the same of a group; nil leaves it blank
}

// columns are those of the table, from the left; the name takes what the lane leaves over.
var columns = [...]column{
	{title: "key", width: 16, sort: model.ByName, key: keyCell.name, group: groupCell.name},
	{title: "server", sort: model.ByName, key: keyCell.server},
	{title: "limiter", width: 7, rank: 4, sort: model.ByAlgorithm, key: keyCell.limiter, group: groupCell.limiter},
	{title: "library", width: 10, rank: 6, sort: model.ByAlgorithm, key: keyCell.library},
	{title: "limit", width: 11, rank: 2, sort: model.ByAlgorithm, key: keyCell.limit, group: groupCell.limit},
	{title: "used/limit", width: 10, right: true, sort: model.ByUtilization, key: keyCell.used, group: groupCell.used},
	{title: laneTitle, width: leastLane, share: true, sort: model.ByUtilization, key: keyCell.lane, group: groupCell.lane},
	{title: "rate", width: 7, rank: 3, right: true, sort: model.ByRate, key: keyCell.rate, group: groupCell.rate},
	{title: "denied", width: 7, rank: 5, right: true, sort: model.ByDenied, key: keyCell.denied, group: groupCell.denied},
	{title: "next", width: 9, right: true, sort: model.ByNext, key: keyCell.next, group: groupCell.next},
}

// laneTitle is the title of the lanes, in whose place the axis of time stands.
const laneTitle = "lane"

// leastLane is how many cells the lanes have at least, and roomyLane how many they have before a
// column that can be left out takes its place.
const leastLane, roomyLane = 24, 50

// fit says which columns there is room for and how wide each is: names of so many columns take up to
// a quarter of the width, those of servers so many cells, and the lane all that is left.
func fit(w, longest, server int) (widths [len(columns)]int) {
	total := 2
	for i, c := range columns {
		if widths[i] = c.width; i == 1 {
			widths[i] = server
		}
		if widths[i] > 0 {
			total += widths[i] + 1
		}
	}
	name := max(min(longest+1, w/4), columns[0].width)
	total += name - widths[0]
	widths[0] = name
	for rank := 6; rank > 0; rank-- {
		for i, c := range columns {
			if c.rank == rank && total+roomyLane-leastLane > w {
				total -= c.width + 1
				widths[i] = 0
			}
		}
	}
	for i, c := range columns {
		if c.share {
			widths[i] += w - total
		}
	}
	if lane := widths[6]; lane < 1 {
		widths[6] = 0
		widths[0] = max(widths[0]+lane, 1)
	}
	return widths
}

// columnAt returns the title of the column so many cells from the left edge of a row.
func columnAt(widths *[len(columns)]int, at int) string {
	x := 2
	for i, w := range widths {
		if x += w; w > 0 {
			if x++; at < x {
				return columns[i].title
			}
		}
	}
	return ""
}

// laneAt returns how many cells from the left edge of a row the lanes begin, and how many they have.
func laneAt(widths *[len(columns)]int) (at, cells int) {
	at = 2
	for i, w := range widths {
		if columns[i].title == laneTitle {
			return at, w
		}
		if w > 0 {
			at += w + 1
		}
	}
	return at, 0
}

// names are the texts of the keys on screen, shortened so that they can be told apart. They are
// kept from picture to picture, while these are the keys and the room. The zero value is ready.
type names struct {
	short   map[string]string
	keys    []string
	cells   int
	changes int  // of what names have in common
	own     bool // without what the title says
}

// shorten makes texts of so many cells for keys of a session; with own, of what is not common to their families.
func (n *names) shorten(s *session.Session, keys []string, cells int, own bool) {
	families := s.Names.Families()
	if n.short != nil && n.cells == cells && n.own == own && n.changes == families.Changes() && slices.Equal(n.keys, keys) {
		return
	}
	shown := make([]string, len(keys))
	for i, key := range keys {
		if shown[i] = s.Names.Of(key); own {
			shown[i] = families.Own(shown[i], safetext.Ellipsis)
		}
	}
	*n = names{short: make(map[string]string, len(keys)), keys: keys, cells: cells, changes: families.Changes(), own: own}
	for i, text := range families.Distinct(shown, cells, safetext.Ellipsis) {
		n.short[keys[i]] = text
	}
}
