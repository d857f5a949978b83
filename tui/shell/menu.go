package shell

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// Menu returns a picker of the actions of the groups, in this order, below the choices that come first.
// One key does an action; any other letter searches. What writes is last, and asks before it does; what
// cannot be fired at all is left out.
func (a *App) Menu(title string, first []Choice, groups ...Menu) *Picker {
	var choices []Choice
	for _, act := range a.All() {
		if !slices.Contains(groups, act.Menu) || act.Writes && act.Reason() != "" {
			continue
		}
		c := a.used.choice(act, a.Canvas.Buffer.ASCII)
		if act.Reason() == "" && act.Note != nil {
			c.What += " " + act.Note()
		}
		if len(groups) > 1 { // in full below the list
			c.Group, c.Detail = string(act.Menu), c.What
		}
		c.Keys = collect.Map(act.Keys(), func(name string) string { return strings.TrimPrefix(name, MenuKey) })
		choices = append(choices, c)
	}
	slices.SortStableFunc(choices, func(x, y Choice) int {
		return cmp.Or(slices.Index(groups, Menu(x.Group))-slices.Index(groups, Menu(y.Group)), turn(x)-turn(y))
	})
	return a.pick(title, append(first, choices...))
}

// history is the names of the actions that were chosen from lists, the last one last.
type history []string

// add notes that an action was chosen.
func (h *history) add(name string) {
	*h = append(slices.DeleteFunc(*h, func(other string) bool { return other == name }), name)
}

// choice returns an action as a line of a picker, with why it is not possible now where it is not.
func (h history) choice(act Action, ascii bool) Choice {
	c := Choice{Name: act.Name, What: cmp.Or(act.Reason(), act.What()), Aside: act.Help().Key, Synonyms: act.Synonyms, Last: act.Writes,
		Dim: !act.Enabled(), Weight: slices.Index(h, act.Name), Value: act}
	if ascii {
		c.Aside = act.Keys()[0]
	}
	return c
}

// pick returns a picker that carries out the action that is chosen.
func (a *App) pick(title string, choices []Choice) *Picker {
	p := a.NewPicker(title, choices)
	p.Chosen = func(c Choice) tea.Cmd {
		if act, ok := c.Value.(Action); ok {
			return a.carryOut(act)
		}
		return nil
	}
	return p
}

func (a *App) toggleMouse() tea.Cmd {
	a.mouse = !a.mouse
	a.Say(collect.If(a.mouse, "Mouse on.", "Mouse off: the terminal's own selection works."))
	return a.Options.Remember("mouse", fmt.Sprint(a.mouse))
}

// actions are the keys that mean the same on every screen.
func (a *App) actions() Actions {
	list := Actions{
		Bind("view", "back", "esc", "goes one step back", a.back).For(ToLook).As(Back).Hinted("back").Unless(
			"This is where everything begins; q quits.",
			func() bool { return a.current == 0 && stepBack(a) == nil && a.Host.Back() == nil }),
		Bind("view", "help", "?", "shows this help", func() tea.Cmd { return a.Open(newHelp(a)) }).Hinted("help"),
		Bind("view", "palette", ":", "finds any action by its name", func() tea.Cmd { return a.Open(newPalette(a)) }).For(ToFind).
			As(Palette).Hinted("do"),
	}
	list = append(list, a.numbers(a.show)...)
	list = append(list, a.Host.HostKeys()...)
	return append(list,
		Bind("view", "theme", "t", "picks a theme", func() tea.Cmd { return a.Open(newThemes(a)) }).
			In(Look, func() string { return "(" + a.Canvas.Look.Name + ")" }),
		Bind("view", "menu", "m", "lists saving, looks and the server",
			func() tea.Cmd { return a.Open(a.Menu("menu", nil, Save, Look, Server)) }).For(ToAct).Hinted("menu"),
		Bind("view", "mouse", "m m", "turns the mouse on or off", a.toggleMouse).In(Look,
			func() string { return collect.If(a.mouse, "(on)", "(off)") }),
		Bind("view", "stop", "x", "stops everything that is firing", a.stopAll).For(ToAct),
		Bind("view", "quit", "q", "quits", a.quit, "q", "ctrl+c").For(ToAct).Hinted("quit"),
	)
}

// numbers are the keys of the screens, which show them. A screen that is shown alone has them too, and they
// say where the others are.
func (s *stack) numbers(show func(i int) tea.Cmd) (list Actions) {
	if len(s.screens) == 1 {
		alone := func() string {
			return "This is the " + s.screens[0].name + " alone; \"ratescope\" opens all six screens."
		}
		return Actions{Bind("view", "screens", "1-6", "shows the other screens", func() {}, "1", "2", "3", "4", "5", "6").When(alone)}
	}
	for i, one := range s.screens[:min(len(s.screens), 9)] {
		list = append(list, Bind("view", one.name, strconv.Itoa(i+1), one.what, func() tea.Cmd { return show(i) }).Hinted(one.name))
	}
	return list
}

// oneKey returns the actions of the screens as one, which shows the next of them.
func oneKey(a *App, list Actions) Action {
	next := func() tea.Cmd { return a.show((a.current + 1) % len(a.screens)) }
	return Bind("", "", "1-"+list[len(list)-1].Help().Key, "shows the other screens", next, "1").Hinted("screens").For(ToLook)
}

// All returns every action that there is on the screen that is shown.
func (a *App) All() Actions {
	return append(append(Actions(nil), a.at().Keys().Refresh()...), a.keys.Refresh()...)
}

// newPalette lists every action by its name, what was chosen from a list before first. One that sends requests to Redis is not the
// first hit of anything but its whole name, and asks before it does.
func newPalette(a *App) *Picker {
	choices := collect.Map(a.All().Without(Palette), func(act Action) Choice { return a.used.choice(act, a.Canvas.Buffer.ASCII) })
	slices.SortStableFunc(choices, func(x, y Choice) int { return cmp.Or(turn(x)-turn(y), y.Weight-x.Weight) })
	return a.pick("do", choices)
}

// turn orders the palette: actions that write come after the others, so that enter alone writes nothing,
// and those that are not possible now come last.
func turn(c Choice) int {
	switch {
	case c.Dim:
		return 2
	case c.Last:
		return 1
	}
	return 0
}

// carryOut does an action that was chosen from a list: one that writes asks before it does.
func (a *App) carryOut(act Action) tea.Cmd {
	a.used.add(act.Name)
	switch reason := act.Reason(); {
	case reason != "":
		return a.Warn(reason)
	case act.Writes:
		what := strings.ToUpper(act.What()[:1]) + act.What()[1:]
		a.Ask(act.Name, act.Name, act.Do, what+". It writes to Redis.")
		return nil
	}
	return tea.Batch(act.Do(), a.Wake())
}

// swatch are the colours of a theme as a rendered sample.
func swatch(l *chart.Look, t *themes.Theme) string {
	full := string(l.Rise[len(l.Rise)-1])
	var b strings.Builder
	for _, s := range []widget.Span{
		{Text: full, Style: t.Previous}, {Text: full + full, Style: t.Admitted},
		{Text: strings.Repeat(string(l.Cross), 2), Style: t.Denied},
		{Text: " " + l.NearMark, Style: t.Near}, {Text: string(l.MarkYes), Style: t.Injected}, {Text: l.OKMark, Style: t.Accent},
	} {
		b.WriteString(lipgloss.NewStyle().Foreground(s.Style.Fg.Color()).Background(l.Raised.Color()).Render(s.Text))
	}
	return b.String()
}

// newThemes lists the themes and shows each one that is looked at.
func newThemes(a *App) *Picker {
	before := a.Canvas.Look.Theme
	var choices []Choice
	for _, name := range a.Options.Shelf.Names() {
		t, err := a.Options.Shelf.Find(name)
		if err != nil {
			continue
		}
		tone := collect.If(t.Dark, "dark", "light")
		choices = append(choices, Choice{Name: name, Aside: tone, Sample: swatch(&a.Canvas.Look, t), Value: t})
	}
	p := a.NewPicker("theme", choices)
	p.Chosen = func(c Choice) tea.Cmd {
		a.setTheme(c.Value.(*themes.Theme))
		a.theming.fixed = true
		a.Say("Theme: " + c.Name + ".")
		return a.Options.Remember("theme", c.Name)
	}
	p.Select(func(c Choice) bool { return c.Name == before.Name })
	p.Moved = func(c Choice) { a.setTheme(c.Value.(*themes.Theme)) }
	p.Cancel = func() { a.setTheme(before) }
	return p
}

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
	h := &helpOverlay{view: viewport.New(), legend: a.Host.Legend(&a.Canvas)}
	if one, ok := a.at().(Story); ok {
		h.legend = one.Legend(&a.Canvas)
	}
	first := collect.Map([]Aim{ToLook, ToFind, ToTime, ToAct}, func(to Aim) helpGroup { return helpGroup{name: string(to)} })
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
	if screens := a.numbers(a.show); len(screens) > 1 {
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
	two := p.Buffer.W >= 2*helpWidth+8
	columns := h.columns(p, two)
	lines, width := columns[0], helpWidth
	if two {
		left := lipgloss.NewStyle().Width(helpWidth + 2).Render(strings.Join(columns[0], "\n"))
		width, lines = 2*helpWidth+2, strings.Split(lipgloss.JoinHorizontal(lipgloss.Top, left, strings.Join(columns[1], "\n")), "\n")
	}
	foot := collect.If(h.all != nil, "? lists all keys · any other key closes", "any key closes")
	if p.Buffer.H-4 < len(lines) {
		how := "↑↓ scrolls · "
		if !two && h.view.YOffset() == 0 && len(h.legend)+2 >= p.Buffer.H-4 { // the signs take all of the page
			how = "pgdn keys · "
		}
		foot = how + strings.Replace(foot, "any key", "any other key", 1)
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

// columns are the lines of the help, rendered: the legend, then the groups, in one column or in turn to the
// shorter of two.
func (h *helpOverlay) columns(p *widget.Canvas, two bool) (columns [2][]string) {
	raised := p.Look.Raised
	heading, key := widget.Lip(p.Look.Accent.On(raised)), widget.Lip(p.Look.Title.On(raised))
	text, dim := widget.Lip(p.Look.Text.On(raised)), widget.Lip(p.Look.Dim.On(raised))
	const keys = 10 // the longest, shift+tab, and a blank
	line := func(left, what string) string {
		return " " + left + strings.Repeat(" ", max(keys-lipgloss.Width(left), 0)) + what
	}
	room := min(helpWidth, p.Buffer.W-6) - keys - 1
	add := func(lines []string) {
		c := &columns[0]
		if two && len(columns[1]) < len(columns[0]) {
			c = &columns[1]
		}
		if len(*c) > 0 {
			*c = append(*c, "")
		}
		*c = append(*c, lines...)
	}
	if len(h.legend) > 0 {
		lines := []string{heading.Render("signs")}
		for _, l := range h.legend {
			shape, meaning, _ := strings.Cut(l.Text, "\t")
			lines = append(lines, line(widget.Lip(l.Style.On(raised)).Render(shape), text.Render(meaning)))
		}
		add(lines)
	}
	groups := slices.Clone(h.groups)
	if two { // the longest first: the columns end at about one height
		slices.SortStableFunc(groups, func(x, y helpGroup) int { return len(y.list) - len(x.list) })
	}
	for _, g := range groups {
		lines := []string{heading.Render(g.name)}
		reasons := []string{""} // those that are not possible now stand together, with their reason once below them
		for _, act := range g.list {
			if reason := act.Reason(); !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
		for _, reason := range reasons {
			name, what := key, text
			if reason != "" {
				name, what = dim, dim
			}
			some := collect.Only(g.list, func(act Action) bool { return act.Reason() == reason })
			aside := " (" + strings.TrimSuffix(reason, ".") + ")"
			beside := reason != "" && len(some) == 1 && safetext.Width(some[0].What()+aside) <= room
			for _, act := range some {
				shown, says := act.Help().Key, act.What()
				if p.Buffer.ASCII {
					shown = strings.Join(act.Keys()[:min(len(act.Keys()), 2)], " ")
				}
				if beside {
					says, reason = says+aside, ""
				}
				lines = append(lines, line(name.Render(shown), what.Render(safetext.Clip(says, room, safetext.Ellipsis))))
			}
			for _, part := range format.Wrap(safetext.Clean(reason), keys+room-2) {
				lines = append(lines, dim.Render("   "+part))
			}
		}
		add(lines)
	}
	return columns
}
