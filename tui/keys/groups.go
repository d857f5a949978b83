package keys

import (
	"cmp"
	"slices"
	"strings"

	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/tui/shell"
)

// grouping is the table as a tree of groups. The zero grouping is off: every key is a row.
type grouping struct {
	on    bool
	tree  tree
	built int    // Session.Sorts of the rows that the tree was built of
	all   bool   // every group is open: a filter says what is wanted
	at    string // path of the group under the cursor; "" it is on the selected key
}

// travel are the arrows: they open and fold groups under the cursor, else they go through time.
func (d *Screen) travel() shell.Actions {
	arrow := func(name, shown, what string, earlier bool, keys ...string) shell.Action {
		return shell.Bind("time", name, shown, what, func() {
			switch {
			case !d.table.groups.on || d.s.Shown.Paused() || d.s.Shown.Replayed():
				d.s.Scroll(earlier)
			case earlier:
				d.table.fold()
			case d.table.group() != nil:
				d.table.openGroup(d.table.group(), true)
			}
		}, keys...).For(shell.ToTime)
	}
	return shell.Actions{
		arrow("earlier", "← h", "goes back in time, and pauses; folds a group", true, "left", "h").Hinted("past"),
		arrow("later", "→ l", "goes on in time; opens a group", false, "right", "l"),
		shell.Bind("keys", "fold", "f", "folds keys into prefixes, or unfolds them", d.table.toggleGroups).For(shell.ToLook),
	}
}

func (t *table) toggleGroups() {
	t.groups, t.lines = grouping{on: !t.groups.on, tree: tree{table: t}}, nil
	t.s.Selection.Group = ""
	t.list()
}

// list brings the lines of the table up to date: its groups, or the rows of all servers in one order.
func (t *table) list() {
	if !t.groups.on {
		t.merge()
		return
	}
	g := &t.groups
	if all := t.s.Rows.Filter() != ""; g.built != t.s.Rows.Sorts || g.all != all {
		g.built, g.all = t.s.Rows.Sorts, all
		g.tree.build(t.s.Rows.Rows, t.s.Names.Of, all)
	}
	t.lines = g.tree.lines
	if g.at != "" && g.tree.groupLine(g.at) < 0 {
		g.at = ""
	}
	if i := t.cursor(); g.at == "" && i >= 0 && t.lines[i].group != nil {
		g.at = t.lines[i].group.path
	}
	name := ""
	if one := t.group(); one != nil {
		name = one.title()
	}
	t.s.Selection.Group = name
}

// cursor is the line under the cursor, or -1.
func (t *table) cursor() int {
	switch selected := t.s.Selection.Selected; {
	case t.groups.at != "":
		return t.groups.tree.groupLine(t.groups.at)
	case t.groups.on:
		return t.groups.tree.lineOf(selected)
	default:
		return slices.IndexFunc(t.lines, func(l line) bool { return l.table == t && l.key.Reading.Key == selected })
	}
}

// step moves the cursor so many lines down.
func (t *table) step(by int) {
	at := t.cursor()
	if at < 0 {
		at, by = 0, 0
	}
	t.goTo(at + by)
}

// goTo puts the cursor on a line, or the nearest there is. Of a group the key is shown that
// is nearest to its limit.
func (t *table) goTo(i int) {
	if len(t.lines) == 0 {
		return
	}
	l := t.lines[min(max(i, 0), len(t.lines)-1)]
	l.table.pick(l.shown().Reading.Key)
	if l.group != nil {
		t.groups.at = l.group.path
		t.s.Selection.Group = l.group.title()
	}
}

// group returns the group under the cursor, or nil.
func (t *table) group() *group {
	if i := t.cursor(); t.groups.at != "" && i >= 0 {
		return t.lines[i].group
	}
	return nil
}

// openGroup opens the group under the cursor or folds it.
func (t *table) openGroup(g *group, open bool) {
	collect.Put(&t.groups.tree.open, g.path, open)
	t.groups.tree.list(t.groups.all)
	t.lines = t.groups.tree.lines
}

// fold folds the group under the cursor; from a key, or from a folded group, it goes to the
// group around it.
func (t *table) fold() {
	g := t.group()
	switch {
	case g == nil:
		g = t.groups.tree.of[t.s.Selection.Selected]
	case t.groups.tree.open[g.path]:
		t.openGroup(g, false)
		return
	default:
		g = g.parent
	}
	if g != nil {
		t.goTo(t.groups.tree.groupLine(g.path))
	}
}

// see tells each source which of its keys are on screen: of a group the one that is shown.
func (t *table) see(from, to int) {
	for _, p := range t.peers {
		var keys []string
		for _, l := range t.lines[max(from, 0):min(to, len(t.lines))] {
			if l.table == p {
				keys = append(keys, l.shown().Reading.Key)
			}
		}
		p.s.Selection.SeeKeys(keys)
	}
}

// shown is the key that stands for the group: the nearest to its limit, else the first.
func (g *group) shown() *model.Watched {
	return cmp.Or(g.worst, g.first)
}

// title is the way to the group: "api › search".
func (g *group) title() string {
	if g.parent != nil {
		return g.parent.title() + way + g.label
	}
	return g.label
}

// separators end a part of a key's name: keys that begin with the same parts are a group.
const separators = ":/|"

// deepest is how many groups may stand inside each other.
const deepest = 6

// group is the keys whose names begin with the same parts, and what they come to together.
type group struct {
	path   string // what the names begin with, as shown; its last rune is a separator
	label  string // the parts beyond those of the group around it
	parent *group // nil at the top
	depth  int

	sums
	turn   int // in which build its sums were made
	inside []line
}

// sums is what the keys of a group come to together.
type sums struct {
	keys            int
	denied, near    int            // keys that deny the next request; that are near their limits
	worst           *model.Watched // the nearest to its limit; nil without one that is known
	first           *model.Watched // in the order of the rows
	rate, deniedSec model.Measure  // requests a second; those that were denied: known if it is of one key
	one             bool           // all have the algorithm of first
	limit           *model.Target  // the target of first; nil where others have another limit
}

// line is a row of the table: a key, or a group in whose place its keys stand when it is open.
type line struct {
	group *group
	key   *model.Watched
	depth int
	table *table // of the server that the key is on
}

// shown is the key of the line, or the one that stands for its group.
func (l line) shown() *model.Watched {
	if l.group != nil {
		return l.group.shown()
	}
	return l.key
}

// tree orders rows into groups. The zero tree is empty.
type tree struct {
	of     map[string]*group // the innermost group of a key; nil for one that is in none
	open   map[string]bool   // by path
	top    []line
	lines  []line // what the table lists
	groups int
	turn   int
	table  *table // of the lines
}

// build takes up the rows in their order: a group stands where its first key does. name is a
// key's name as shown. Groups are found anew only when there are other keys than before.
func (t *tree) build(rows []*model.Watched, name func(string) string, allOpen bool) {
	if !t.holds(rows) {
		t.find(rows, name)
	}
	t.turn++
	t.top = t.top[:0]
	for _, k := range rows {
		g := t.of[k.Reading.Key]
		if g == nil {
			t.top = append(t.top, line{key: k})
			continue
		}
		t.begin(g)
		g.inside = append(g.inside, line{key: k, depth: g.depth + 1})
		for ; g != nil; g = g.parent {
			g.add(k)
		}
	}
	t.list(allOpen)
}

// begin enters a group, and those around it, with its first key of this build.
func (t *tree) begin(g *group) {
	if g.turn == t.turn {
		return
	}
	g.turn, g.sums, g.inside = t.turn, sums{}, g.inside[:0]
	own := line{group: g, depth: g.depth}
	if g.parent == nil {
		t.top = append(t.top, own)
		return
	}
	t.begin(g.parent)
	g.parent.inside = append(g.parent.inside, own)
}

// add counts one key more.
func (s *sums) add(k *model.Watched) {
	g := &k.Gauge
	if s.keys++; s.keys == 1 {
		s.first, s.one, s.limit = k, true, &k.Reading.Target
	}
	t := &k.Reading.Target
	if l := s.limit; l != nil && (t.Limit != l.Limit || t.Window != l.Window || t.LimitKnown != l.LimitKnown) {
		s.limit = nil
	}
	s.one = s.one && k.Reading.Target.Algorithm == s.first.Reading.Target.Algorithm
	switch {
	case g.Throttled():
		s.denied++
	case g.Near():
		s.near++
	}
	if g.Remaining.Known && !g.Likely && (s.worst == nil || nearer(k, s.worst)) {
		s.worst = k
	}
	s.rate, s.deniedSec = s.rate.And(g.Pace()), s.deniedSec.And(g.DeniedPerSec)
}

// nearer reports whether x is nearer to its limit than y; one that denies is nearest, and of several the one that
// waits longest.
func nearer(x, y *model.Watched) bool {
	a, b := x.Gauge.Throttled(), y.Gauge.Throttled()
	if a && b {
		return x.Frees(0) > y.Frees(0)
	}
	return a || !b && x.Gauge.Utilization > y.Gauge.Utilization
}

// list writes down the lines: what stands in an open group follows it.
func (t *tree) list(allOpen bool) {
	t.lines = t.lines[:0]
	var down func(list []line)
	down = func(list []line) {
		for _, l := range list {
			l.table = t.table
			t.lines = append(t.lines, l)
			if l.group != nil && (allOpen || t.open[l.group.path]) {
				down(l.group.inside)
			}
		}
	}
	down(t.top)
}

// holds reports whether the groups were found for the very keys of rows.
func (t *tree) holds(rows []*model.Watched) bool {
	if len(t.of) != len(rows) {
		return false
	}
	return !slices.ContainsFunc(rows, func(k *model.Watched) bool { _, known := t.of[k.Reading.Key]; return !known })
}

// named is a key with its name as shown.
type named struct{ key, name string }

// find puts every key into its group: two keys or more that begin with the same parts are
// one. What all keys begin with makes none.
func (t *tree) find(rows []*model.Watched, name func(string) string) {
	t.of, t.groups = make(map[string]*group, len(rows)), 0
	list := collect.Map(rows, func(k *model.Watched) named { return named{k.Reading.Key, name(k.Reading.Key)} })
	slices.SortFunc(list, func(x, y named) int { return strings.Compare(x.name, y.name) })
	t.divide(list, common(list, 0), nil)
}

// divide puts keys, sorted by name and alike up to at, into groups inside g.
func (t *tree) divide(list []named, at int, g *group) {
	for len(list) > 0 {
		n := 1
		part := next(list[0].name, at)
		for part > at && n < len(list) && strings.HasPrefix(list[n].name, list[0].name[:part]) {
			n++
		}
		if n == 1 || g != nil && g.depth+1 >= deepest {
			t.of[list[0].key] = g
			list = list[1:]
			continue
		}
		end := max(common(list[:n], part), part)
		parts := strings.FieldsFunc(list[0].name[at:end], func(r rune) bool { return strings.ContainsRune(separators, r) })
		in := &group{path: list[0].name[:end], parent: g, label: strings.Join(parts, way)} // "api:search:" is "api › search"
		if g != nil {
			in.depth = g.depth + 1
		}
		t.groups++
		t.divide(list[:n], end, in)
		list = list[n:]
	}
}

// next returns where the part of a name that begins at a byte ends, behind its separator; at
// itself where no separator follows.
func next(name string, at int) int {
	i := strings.IndexAny(name[at:], separators)
	if i < 0 || at+i+1 == len(name) {
		return at
	}
	return at + i + 1
}

// common returns how far sorted names are alike from a byte on, in whole parts.
func common(list []named, at int) int {
	if len(list) < 2 {
		return at
	}
	first, last := list[0].name, list[len(list)-1].name
	for {
		end := next(first, at)
		if end == at || !strings.HasPrefix(last, first[:end]) {
			return at
		}
		at = end
	}
}

// lineOf returns the line of a key, or of the outermost folded group that holds it.
func (t *tree) lineOf(key string) int {
	for i, l := range t.lines {
		if l.key != nil && l.key.Reading.Key == key {
			return i
		}
	}
	for g := t.of[key]; g != nil; g = g.parent {
		if i := t.groupLine(g.path); i >= 0 {
			return i
		}
	}
	return -1
}

// groupLine returns the line of a group, or -1.
func (t *tree) groupLine(path string) int {
	return slices.IndexFunc(t.lines, func(l line) bool { return l.group != nil && l.group.path == path })
}
