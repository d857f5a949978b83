package keys

import (
	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/tui/keymap"
)

// grouping is the table as a tree of groups. The zero grouping is off: every key is a row.
type grouping struct {
	on    bool
	tree  tree
	built int    // Session.Sorts of the rows that the tree was built of
	all   bool   // every group is open: a filter says what is wanted
	at    string // path of the group under the cursor; "" it is on the selected key
}

// travel are the arrows: they go through time while it stands still, else through groups.
func (d *Screen) travel() keymap.Actions {
	arrow := func(name, shown, what string, earlier bool, keys ...string) keymap.Action {
		return keymap.New("time", name, shown, what, func() tea.Cmd {
			switch {
			case d.CanScroll() == "":
				d.Scroll(earlier)
			case earlier:
				d.fold()
			default:
				d.unfold()
			}
			return nil
		}, keys...).When(func() string {
			if d.groups.on {
				return ""
			}
			return d.CanScroll()
		})
	}
	return keymap.Actions{
		arrow("earlier", "← h", "scrolls back while paused; folds a group", true, "left", "h"),
		arrow("later", "→ l", "scrolls on while paused; opens a group", false, "right", "l"),
		keymap.New("keys", "fold", "f", "folds keys into prefixes, or unfolds them", d.toggleGroups, "f").Hinted("fold"),
	}
}

func (d *Screen) toggleGroups() tea.Cmd {
	d.groups = grouping{on: !d.groups.on}
	d.SetGroup("")
	name := ""
	if d.groups.on {
		name = "on"
	}
	return d.Remember("groups", name)
}

// buildGroups brings the lines of the table up to date with the rows and says what the
// cursor is on.
func (d *Screen) buildGroups() {
	g := &d.groups
	if !g.on {
		return
	}
	if all := d.Filter() != ""; g.built != d.Sorts() || g.all != all {
		g.built, g.all = d.Sorts(), all
		g.tree.build(d.Rows(), d.Name, all)
	}
	if g.at != "" && g.tree.groupLine(g.at) < 0 {
		g.at = ""
	}
	if g.at == "" {
		if i := g.tree.lineOf(d.Selected()); i >= 0 && g.tree.lines[i].group != nil {
			g.at = g.tree.lines[i].group.path
		}
	}
	if g.at == "" {
		d.SetGroup("")
	} else {
		d.SetGroup(g.tree.lines[g.tree.groupLine(g.at)].group.title())
	}
}

// lineCount is how many lines the table has.
func (d *Screen) lineCount() int {
	if d.groups.on {
		return len(d.groups.tree.lines)
	}
	return len(d.Rows())
}

// lineAt returns a line of the table.
func (d *Screen) lineAt(i int) line {
	if d.groups.on {
		return d.groups.tree.lines[i]
	}
	return line{key: d.Rows()[i]}
}

// cursor is the line under the cursor, or -1.
func (d *Screen) cursor() int {
	switch {
	case !d.groups.on:
		return d.Index()
	case d.groups.at != "":
		return d.groups.tree.groupLine(d.groups.at)
	}
	return d.groups.tree.lineOf(d.Selected())
}

// step moves the cursor so many lines down.
func (d *Screen) step(by int) {
	if !d.groups.on {
		d.Move(by)
		return
	}
	at := d.cursor()
	if at < 0 {
		at, by = 0, 0
	}
	d.goTo(at + by)
}

// goTo puts the cursor on a line, or the nearest there is. Of a group the key is shown that
// is nearest to its limit.
func (d *Screen) goTo(i int) {
	if d.lineCount() == 0 {
		return
	}
	l := d.lineAt(min(max(i, 0), d.lineCount()-1))
	if l.group == nil {
		d.groups.at = ""
		d.Pick(l.key.Reading.Key)
		return
	}
	d.Pick(l.group.shown().Reading.Key)
	d.groups.at = l.group.path
	d.SetGroup(l.group.title())
}

// group returns the group under the cursor, or nil.
func (d *Screen) group() *group {
	if i := d.cursor(); d.groups.on && d.groups.at != "" && i >= 0 {
		return d.groups.tree.lines[i].group
	}
	return nil
}

// openGroup opens the group under the cursor or folds it.
func (d *Screen) openGroup(g *group, open bool) {
	d.groups.tree.set(g.path, open)
	d.groups.tree.list(d.groups.all)
}

func (d *Screen) unfold() {
	if g := d.group(); g != nil {
		d.openGroup(g, true)
	}
}

// fold folds the group under the cursor; from a key, or from a folded group, it goes to the
// group around it.
func (d *Screen) fold() {
	g := d.group()
	switch {
	case g == nil:
		g = d.groups.tree.of[d.Selected()]
	case d.groups.tree.open[g.path]:
		d.openGroup(g, false)
		return
	default:
		g = g.parent
	}
	if g != nil {
		d.goTo(d.groups.tree.groupLine(g.path))
	}
}

// seeLines tells the source which keys are on screen: of a group the one that is shown.
func (d *Screen) seeLines(from, to int) {
	if !d.groups.on {
		d.See(from, to)
		return
	}
	var keys []string
	for i := max(from, 0); i < min(to, d.lineCount()); i++ {
		k := d.lineAt(i).key
		if k == nil {
			k = d.lineAt(i).group.shown()
		}
		keys = append(keys, k.Reading.Key)
	}
	d.SeeKeys(keys)
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
