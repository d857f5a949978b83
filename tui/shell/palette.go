package shell

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"ratescope/themes"
	"ratescope/tui/chart"
	"ratescope/tui/keymap"
	"ratescope/tui/widget"
)

// newPalette lists every action by its name, what was chosen from a list before first. One that sends requests to Redis is not the
// first hit of anything but its whole name, and asks before it does.
func newPalette(a *App) *Picker {
	var choices []Choice
	for _, act := range a.All() {
		if act.ID == keymap.Palette {
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
	p.Chosen = func(c Choice) tea.Cmd { return a.CarryOut(c.Value.(keymap.Action)) }
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
func (a *App) CarryOut(act keymap.Action) tea.Cmd {
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
