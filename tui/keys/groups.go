package keys

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/model"
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
		return shell.Bind("time", name, shown, what, func() tea.Cmd {
			switch {
			case !d.table.groups.on || d.s.Shown.Paused() || d.s.Shown.Replayed():
				d.s.Scroll(earlier)
			case earlier:
				d.table.fold()
			default:
				d.table.unfold()
			}
			return nil
		}, keys...).For(shell.ToTime)
	}
	return shell.Actions{
		arrow("earlier", "← h", "goes back in time, and pauses; folds a group", true, "left", "h"),
		arrow("later", "→ l", "goes on in time; opens a group", false, "right", "l"),
		shell.Bind("keys", "fold", "f", "folds keys into prefixes, or unfolds them", d.table.toggleGroups, "f").For(shell.ToLook),
	}
}

func (t *table) toggleGroups() tea.Cmd {
	t.groups = grouping{on: !t.groups.on}
	t.s.Selection.SetGroup("")
	return nil
}

// buildGroups brings the lines of the table up to date with the rows and says what the
// cursor is on.
func (t *table) buildGroups() {
	g := &t.groups
	if !g.on {
		return
	}
	if all := t.s.Rows.Filter() != ""; g.built != t.s.Rows.Sorts() || g.all != all {
		g.built, g.all = t.s.Rows.Sorts(), all
		g.tree.build(t.s.Rows.Rows(), t.s.Name, all)
	}
	if g.at != "" && g.tree.groupLine(g.at) < 0 {
		g.at = ""
	}
	if g.at == "" {
		if i := g.tree.lineOf(t.s.Selection.Selected()); i >= 0 && g.tree.lines[i].group != nil {
			g.at = g.tree.lines[i].group.path
		}
	}
	if g.at == "" {
		t.s.Selection.SetGroup("")
	} else {
		t.s.Selection.SetGroup(g.tree.lines[g.tree.groupLine(g.at)].group.title())
	}
}

// lineCount is how many lines the table has.
func (t *table) lineCount() int {
	switch {
	case t.groups.on:
		return len(t.groups.tree.lines)
	case t.peers != nil:
		return len(t.merged)
	}
	return len(t.s.Rows.Rows())
}

// lineAt returns a line of the table.
func (t *table) lineAt(i int) line {
	switch {
	case t.groups.on:
		l := t.groups.tree.lines[i]
		l.table = t
		return l
	case t.peers != nil:
		return t.merged[i]
	}
	return line{key: t.s.Rows.Rows()[i], table: t}
}

// cursor is the line under the cursor, or -1.
func (t *table) cursor() int {
	switch {
	case !t.groups.on && t.peers != nil:
		return t.mergedLine(t, t.s.Selection.Selected())
	case !t.groups.on:
		return t.s.Selection.Index()
	case t.groups.at != "":
		return t.groups.tree.groupLine(t.groups.at)
	}
	return t.groups.tree.lineOf(t.s.Selection.Selected())
}

// step moves the cursor so many lines down.
func (t *table) step(by int) {
	if !t.groups.on && t.peers == nil {
		t.s.Selection.Move(by)
		return
	}
	at := t.cursor()
	if at < 0 {
		at, by = 0, 0
	}
	t.goTo(at + by)
}

// goTo puts the cursor on a line, or the nearest there is. Of a group the key is shown that
// is nearest to its limit.
func (t *table) goTo(i int) {
	if t.lineCount() == 0 {
		return
	}
	l := t.lineAt(min(max(i, 0), t.lineCount()-1))
	if l.group == nil {
		l.table.pick(l.key.Reading.Key)
		return
	}
	t.s.Selection.Pick(l.group.shown().Reading.Key)
	t.groups.at = l.group.path
	t.s.Selection.SetGroup(l.group.title())
}

// group returns the group under the cursor, or nil.
func (t *table) group() *group {
	if i := t.cursor(); t.groups.on && t.groups.at != "" && i >= 0 {
		return t.groups.tree.lines[i].group
	}
	return nil
}

// openGroup opens the group under the cursor or folds it.
func (t *table) openGroup(g *group, open bool) {
	t.groups.tree.set(g.path, open)
	t.groups.tree.list(t.groups.all)
}

func (t *table) unfold() {
	if g := t.group(); g != nil {
		t.openGroup(g, true)
	}
}

// fold folds the group under the cursor; from a key, or from a folded group, it goes to the
// group around it.
func (t *table) fold() {
	g := t.group()
	switch {
	case g == nil:
		g = t.groups.tree.of[t.s.Selection.Selected()]
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

// seeLines tells the source which keys are on screen: of a group the one that is shown.
func (t *table) seeLines(from, to int) {
	switch {
	case !t.groups.on && t.peers != nil:
		t.seeMerged(from, to)
		return
	case !t.groups.on:
		t.s.Selection.See(from, to)
		return
	}
	var keys []string
	for i := max(from, 0); i < min(to, t.lineCount()); i++ {
		k := t.lineAt(i).key
		if k == nil {
			k = t.lineAt(i).group.shown()
		}
		keys = append(keys, k.Reading.Key)
	}
	t.s.Selection.SeeKeys(keys)
}

// shown is the key that stands for the group: the nearest to its limit, else the first.
func (g *group) shown() *model.Watched {
	if g.worst != nil {
		return g.worst
	}
	return g.first
}

// title is the way to the group: "api › search".
func (g *group) title() string {
	if g.parent != nil {
		return g.parent.title() + way + g.label
	}
	return g.label
}
