package shell

import (
	"cmp"
	"slices"
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// helpWidth is the width of a column of the help.
const helpWidth = 56

// helpOverlay is the table of keys and what the shapes mean, which scrolls: first what is wanted most, by
// what it is for, then everything.
type helpOverlay struct {
	view   viewport.Model
	groups []helpGroup
	all    []helpGroup // of the second page; nil on that
	legend []widget.Span
	width  int // of the screen that it was laid out for
}

// helpGroup is a heading with its actions.
type helpGroup struct {
	name string
	list Actions
}

// newHelp returns the help of the screen that is shown.
func newHelp(a *App) *helpOverlay {
	h := &helpOverlay{view: viewport.New(), legend: a.host.Legend(&a.Canvas)}
	first := []helpGroup{{name: string(ToLook)}, {name: string(ToFind)}, {name: string(ToTime)},
		{name: string(ToAct)}}
	add := func(groups []helpGroup, name string, act Action) []helpGroup {
		i := slices.IndexFunc(groups, func(g helpGroup) bool { return g.name == name })
		if i < 0 {
			i, groups = len(groups), append(groups, helpGroup{name: name})
		}
		groups[i].list = append(groups[i].list, act)
		return groups
	}
	for _, act := range a.All() {
		h.all = add(h.all, act.Group, act)
		if act.Aim != "" {
			first = add(first, string(act.Aim), act)
		}
	}
	if screens := a.screenKeys(); len(screens) > 1 {
		first = add(first, string(ToLook), oneKey(a, screens))
	}
	h.groups = slices.DeleteFunc(first, func(g helpGroup) bool { return len(g.list) < leastFirst })
	if len(h.groups) < 2 { // nothing of the screen is on the first page
		h.groups, h.all = h.all, nil
	}
	return h
}

// leastFirst is the least number of keys under a heading of the first page.
const leastFirst = 2

// Update scrolls, and turns to the second page; any other key closes.
func (h *helpOverlay) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		switch msg.String() {
		case "up", "k", "down", "j", "pgup", "pgdown", "ctrl+u", "ctrl+d":
			h.view, _ = h.view.Update(msg)
			return nil, true
		case "?":
			if h.all != nil {
				h.groups, h.all, h.width = h.all, nil, 0
				return nil, true
			}
		}
		return nil, false
	case tea.MouseWheelMsg:
		h.view, _ = h.view.Update(msg)
	}
	return nil, true
}

// Paint draws the table in two columns where they fit.
func (h *helpOverlay) Paint(p *widget.Canvas, _ cell.Rect) {
	columns := h.columns(p)
	lines, width := slices.Concat(columns[0], columns[1]), helpWidth
	if p.Buffer.W >= 2*helpWidth+6 {
		width, lines = 2*helpWidth, nil
		for i := range max(len(columns[0]), len(columns[1])) {
			lines = append(lines, pad(at(columns[0], i), helpWidth)+at(columns[1], i))
		}
	}
	foot := "any key closes"
	if h.all != nil {
		foot = "? lists all keys · any other key closes"
	}
	if p.Buffer.H-4 < len(lines) {
		foot = "↑↓ scrolls · " + strings.Replace(foot, "any key", "any other key", 1)
	}
	in := p.Overlay(width+4, len(lines)+2, "keys", foot)
	h.view.SetWidth(in.W)
	h.view.SetHeight(in.H)
	if top := h.view.YOffset(); h.width != p.Buffer.W {
		h.width = p.Buffer.W
		h.view.SetContentLines(lines)
		h.view.SetYOffset(top)
	}
	p.Buffer.Place(in, h.view.View())
}

// Modal is true.
func (h *helpOverlay) Modal() bool { return true }

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

func pad(s string, w int) string { return s + strings.Repeat(" ", max(w-lipgloss.Width(s), 0)) }

// possibleFirst returns actions with those first that are possible now, then the others, those with
// the same reason together.
func possibleFirst(list Actions) Actions {
	reasons := []string{""}
	for _, act := range list {
		if reason := act.Reason(); !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(x, y Action) int {
		return cmp.Compare(slices.Index(reasons, x.Reason()), slices.Index(reasons, y.Reason()))
	})
	return sorted
}

// columns are the lines of the help, rendered: the groups in turn to the shorter column,
// then the legend.
func (h *helpOverlay) columns(p *widget.Canvas) (columns [2][]string) {
	raised := p.Look.Raised
	heading, key, text, dim := widget.Lip(p.Look.Accent.On(raised)), widget.Lip(p.Look.Title.On(raised)), widget.Lip(p.Look.Text.On(raised)),
		widget.Lip(p.Look.Dim.On(raised))
	const keys = 10 // the longest, shift+tab, and a blank
	line := func(left, what string) string {
		return " " + pad(left, keys) + what
	}
	room := min(helpWidth, p.Buffer.W-6) - keys - 1
	add := func(lines []string) {
		c := &columns[0]
		if len(columns[1]) < len(columns[0]) {
			c = &columns[1]
		}
		if len(*c) > 0 {
			*c = append(*c, "")
		}
		*c = append(*c, lines...)
	}
	for _, g := range h.groups {
		lines := []string{heading.Render(g.name)}
		list := possibleFirst(g.list)
		for i, act := range list {
			shown := act.Help().Key
			if p.Buffer.ASCII {
				shown = strings.Join(act.Keys()[:min(len(act.Keys()), 2)], " ")
			}
			reason := act.Reason()
			if reason == "" {
				lines = append(lines, line(key.Render(shown), text.Render(safetext.Clip(act.What(), room, safetext.Ellipsis))))
				continue
			}
			before, more := i > 0 && list[i-1].Reason() == reason, i+1 < len(list) && list[i+1].Reason() == reason
			if whole := act.What() + " (" + strings.TrimSuffix(reason, ".") + ")"; !before && !more && safetext.Width(whole) <= room {
				lines = append(lines, line(dim.Render(shown), dim.Render(whole)))
				continue
			}
			row := line(dim.Render(shown), dim.Render(safetext.Clip(act.What(), room, safetext.Ellipsis)))
			lines = append(lines, dim.Render(string(p.Look.Box.V))+strings.TrimPrefix(row, " "))
			if more {
				continue // the reason stands once, below the last action that it is of
			}
			for n, part := range format.Wrap(safetext.Clean(reason), keys+room-2) {
				corner := string(p.Look.Box.BL) + string(p.Look.Box.H) + " "
				if n > 0 {
					corner = "   "
				}
				lines = append(lines, dim.Render(corner+part))
			}
		}
		add(lines)
	}
	if len(h.legend) > 0 {
		lines := []string{heading.Render("signs")}
		for _, l := range h.legend {
			shape, meaning, _ := strings.Cut(l.Text, "\t")
			lines = append(lines, line(widget.Lip(l.Style.On(raised)).Render(shape), text.Render(meaning)))
		}
		add(lines)
	}
	return columns
}
