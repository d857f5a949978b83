package shell

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui/keymap"
)

// actions are the keys that mean the same on every screen.
func (a *App) actions() keymap.Actions {
	list := keymap.Actions{
		keymap.New("view", "back", "esc", "goes one step back", a.back, "esc").As(keymap.Back).Hinted("back").When(func() string {
			if a.canGoBack() {
				return ""
			}
			return "This is where everything begins; q quits."
		}),
		keymap.New("view", "help", "?", "shows this help", func() tea.Cmd { a.Open(newHelp(a)); return nil }, "?").Hinted("help"),
		keymap.New("view", "palette", ":", "finds any action by its name", func() tea.Cmd { a.Open(newPalette(a)); return nil },
			":").As(keymap.Palette).Hinted("do"),
	}
	list = append(list, a.screenKeys()...)
	list = append(list, a.host.HostKeys()...)
	return append(list,
		keymap.New("view", "theme", "t", "picks a theme", func() tea.Cmd { a.Open(newThemes(a)); return nil }, "t").
			In(keymap.Look, func() string { return "(" + a.Canvas.Look.Name + ")" }),
		keymap.New("view", "menu", "m", "lists saving, looks and the server", a.openMenu, "m").Hinted("menu"),
		keymap.New("view", "mouse", "m m", "turns the mouse on or off", a.toggleMouse, keymap.MenuKey+"m").In(keymap.Look, func() string { return mouseNote(a) }),
		keymap.New("view", "stop", "x", "stops everything that is firing", a.stopAll, "x"),
		keymap.New("view", "quit", "q", "quits", a.quit, "q", "ctrl+c").Hinted("quit"),
	)
}

// screenKeys are the numbers of the screens. A screen that is shown alone has them too, and they
// say where the others are.
func (a *App) screenKeys() (list keymap.Actions) {
	if len(a.screens) == 1 {
		alone := func() string {
			return "This is the " + a.screens[0].name + " alone; \"ratescope\" opens all six screens."
		}
		return keymap.Actions{keymap.New("view", "screens", "1-6", "shows the other screens", nil, "1", "2", "3", "4", "5", "6").When(alone)}
	}
	for i := range a.screens {
		s := a.screens[i]
		if n := strconv.Itoa(i + 1); i < 9 {
			list = append(list, keymap.New("view", s.name, n, s.what, func() tea.Cmd { return a.show(i) }, n).Hinted(s.name))
		}
	}
	return list
}

// Keys returns the actions that mean the same on every screen.
func (a *App) Keys() keymap.Actions { return a.keys }

// All returns every action that there is on the screen that is shown.
func (a *App) All() keymap.Actions {
	return append(append(keymap.Actions(nil), a.at().Keys().Refresh()...), a.keys.Refresh()...)
}
