package shell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui/keymap"
)

// Menu returns a picker of the actions of the groups, in this order, below the choices that come first.
// One key does an action; any other letter searches. What writes is last, and asks before it does; what
// cannot be fired at all is left out.
func (a *App) Menu(title string, first []Choice, groups ...keymap.Menu) *Picker {
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
			c.Keys = append(c.Keys, strings.TrimPrefix(name, keymap.MenuKey))
		}
		choices = append(choices, c)
	}
	slices.SortStableFunc(choices, func(x, y Choice) int {
		return cmp.Or(slices.Index(groups, keymap.Menu(x.Group))-slices.Index(groups, keymap.Menu(y.Group)), turn(x)-turn(y))
	})
	p := a.NewPicker(title, append(first, choices...))
	p.Chosen = func(c Choice) tea.Cmd {
		if act, ok := c.Value.(keymap.Action); ok {
			return a.CarryOut(act)
		}
		return nil
	}
	return p
}

// openMenu opens the general menu.
func (a *App) openMenu() tea.Cmd {
	a.Open(a.Menu("menu", nil, keymap.Save, keymap.Look, keymap.Server))
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
