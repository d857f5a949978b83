package shell

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"ratescope/themes"
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
		c := Choice{Name: act.Name, What: act.What(), Aside: act.Help().Key, Last: act.Writes, Dim: !act.Enabled(), Value: act}
		if len(groups) > 1 {
			c.Group = string(act.Menu)
		}
		if reason := act.Reason(); reason != "" {
			c.What = reason
		} else if act.Note != nil {
			c.What += " " + act.Note()
		}
		for _, name := range act.Keys() {
			c.Keys = append(c.Keys, strings.TrimPrefix(name, MenuKey))
		}
		choices = append(choices, c)
	}
	slices.SortStableFunc(choices, func(x, y Choice) int {
		return cmp.Or(slices.Index(groups, Menu(x.Group))-slices.Index(groups, Menu(y.Group)), turn(x)-turn(y))
	})
	p := a.NewPicker(title, append(first, choices...))
	p.Chosen = func(c Choice) tea.Cmd {
		if act, ok := c.Value.(Action); ok {
			return a.CarryOut(act)
		}
		return nil
	}
	return p
}

// openMenu opens the general menu.
func (a *App) openMenu() tea.Cmd {
	a.Open(a.Menu("menu", nil, Save, Look, Server))
	return nil
}

func (a *App) toggleMouse() tea.Cmd {
	if a.mouse = !a.mouse; a.mouse {
		a.Say("Mouse on.")
	} else {
		a.Say("Mouse off: the terminal's own selection works.")
	}
	return a.Remember("mouse", fmt.Sprint(a.mouse))
}

// mouseNote says whether the mouse is on.
func mouseNote(a *App) string {
	if a.mouse {
		return "(on)"
	}
	return "(off)"
}

// actions are the keys that mean the same on every screen.
func (a *App) actions() Actions {
	list := Actions{
		Bind("view", "back", "esc", "goes one step back", a.back,
			"esc").For(ToLook).As(Back).Hinted("back").When(func() string {
			if a.canGoBack() {
				return ""
			}
			return "This is where everything begins; q quits."
		}),
		Bind("view", "help", "?", "shows this help", func() tea.Cmd { a.Open(newHelp(a)); return nil }, "?").Hinted("help"),
		Bind("view", "palette", ":", "finds any action by its name", func() tea.Cmd { a.Open(newPalette(a)); return nil },
			":").For(ToFind).As(Palette).Hinted("do"),
	}
	list = append(list, a.screenKeys()...)
	list = append(list, a.host.HostKeys()...)
	return append(list,
		Bind("view", "theme", "t", "picks a theme", func() tea.Cmd { a.Open(newThemes(a)); return nil }, "t").
			In(Look, func() string { return "(" + a.Canvas.Look.Name + ")" }),
		Bind("view", "menu", "m", "lists saving, looks and the server", a.openMenu, "m").For(ToAct).Hinted("menu"),
		Bind("view", "mouse", "m m", "turns the mouse on or off", a.toggleMouse, MenuKey+"m").In(Look,
			func() string { return mouseNote(a) }),
		Bind("view", "stop", "x", "stops everything that is firing", a.stopAll, "x").For(ToAct),
		Bind("view", "quit", "q", "quits", a.quit, "q", "ctrl+c").For(ToAct).Hinted("quit"),
	)
}

// screenKeys are the numbers of the screens. A screen that is shown alone has them too, and they
// say where the others are.
func (a *App) screenKeys() (list Actions) {
	if len(a.screens) == 1 {
		alone := func() string {
			return "This is the " + a.screens[0].name + " alone; \"ratescope\" opens all six screens."
		}
		return Actions{Bind("view", "screens", "1-6", "shows the other screens", nil, "1", "2", "3", "4", "5", "6").When(alone)}
	}
	for i := range a.screens {
		s := a.screens[i]
		if n := strconv.Itoa(i + 1); i < 9 {
			list = append(list, Bind("view", s.name, n, s.what, func() tea.Cmd { return a.show(i) }, n).Hinted(s.name))
		}
	}
	return list
}

// oneKey returns the actions of the screens as one, which shows the next of them.
func oneKey(a *App, list Actions) Action {
	next := func() tea.Cmd { return a.show((a.current + 1) % len(a.screens)) }
	return Bind("", "", "1-"+list[len(list)-1].Help().Key, "shows the other screens", next, "1").Hinted("screens").For(ToLook)
}

// Keys returns the actions that mean the same on every screen.
func (a *App) Keys() Actions { return a.keys }

// All returns every action that there is on the screen that is shown.
func (a *App) All() Actions {
	return append(append(Actions(nil), a.at().Keys().Refresh()...), a.keys.Refresh()...)
}

// newPalette lists every action by its name, what was chosen from a list before first. One that sends requests to Redis is not the
// first hit of anything but its whole name, and asks before it does.
func newPalette(a *App) *Picker {
	var choices []Choice
	for _, act := range a.All() {
		if act.ID == Palette {
			continue
		}
		c := Choice{Name: act.Name, What: act.What(), Aside: act.Help().Key, Synonyms: act.Synonyms, Last: act.Writes, Dim: !act.Enabled(),
			Weight: slices.Index(a.used, act.Name), Value: act}
		if reason := act.Reason(); reason != "" {
			c.What = reason
		}
		if a.Canvas.Buffer.ASCII {
			c.Aside = act.Keys()[0]
		}
		choices = append(choices, c)
	}
	slices.SortStableFunc(choices, func(x, y Choice) int { return cmp.Or(turn(x)-turn(y), y.Weight-x.Weight) })
	p := a.NewPicker("do", choices)
	p.Chosen = func(c Choice) tea.Cmd { return a.CarryOut(c.Value.(Action)) }
	return p
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

// CarryOut does an action that was chosen from a list: one that writes asks before it does.
func (a *App) CarryOut(act Action) tea.Cmd {
	a.used = append(slices.DeleteFunc(a.used, func(name string) bool { return name == act.Name }), act.Name)
	switch reason := act.Reason(); {
	case reason != "":
		a.Warn(reason)
		return nil
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
		{Text: full, Style: t.Previous}, {Text: full + full, Style: t.Admitted}, {Text: strings.Repeat(string(l.Cross), 2), Style: t.Denied},
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
	for _, name := range a.o.Shelf.Names() {
		t, err := a.o.Shelf.Find(name)
		if err != nil {
			continue
		}
		tone := "dark"
		if !t.Dark {
			tone = "light"
		}
		choices = append(choices, Choice{Name: name, Aside: tone, Sample: swatch(&a.Canvas.Look, t), Value: t})
	}
	p := a.NewPicker("theme", choices)
	p.Select(before.Name)
	p.Moved = func(c Choice) { a.theming.set(c.Value.(*themes.Theme)) }
	p.Cancel = func() { a.theming.set(before) }
	p.Chosen = func(c Choice) tea.Cmd {
		a.theming.set(c.Value.(*themes.Theme))
		a.theming.fixed = true
		a.Say("Theme: " + c.Name + ".")
		return a.Remember("theme", c.Name)
	}
	return p
}
