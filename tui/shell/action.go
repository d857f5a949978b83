package shell

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// ID tells an action from the others whatever it is called and wherever it is listed.
type ID int

// The actions that are chosen or replaced outside the place that lists them. The zero ID is of all others.
const (
	Other ID = iota
	Back
	Palette
	Pause
	Record
	ExportKeys
	Capsule
	ExportRows
	More
	Less
	ZoomIn
	ZoomOut
	Fire
	Burst
	Rate
)

// Action is one thing a person can do: its keys, its name, and what carries it out.
// Dispatch, the footer, the help, the palette and the README's table all read it.
type Action struct {
	key.Binding        // the keys, what the help shows of them, and whether they are enabled
	ID          ID     // by which code finds it; Other for most
	Name        string // by which the palette finds it: one or two words
	Group       string // heading of the help
	Writes      bool   // it sends requests to Redis
	Hint        string // label in the footer; "" leaves it out there
	Do          func() tea.Cmd
	Blocked     func() string // why it is not possible now, one sentence; nil or "" when it is
	Menu        Menu          // the menu that lists it
	Note        func() string // what the menu says beside What: a folder, a state; nil for none
	Synonyms    string        // other words by which the palette finds it, separated by blanks
	Aim         Aim           // where the help's first page has it; "" the second alone
}

// Menu names a group of a menu. The zero Menu is of actions that no menu lists.
type Menu string

// The groups of the menus: OfKey is what can be done with the selected key, the others are the general menu.
const (
	OfKey  Menu = "key"
	Save   Menu = "save"
	Look   Menu = "look"
	Server Menu = "server"
)

// Aim is what a person wants with an action: a heading on the help's first page.
type Aim string

// The aims, in the order of the page.
const (
	ToLook Aim = "look"
	ToFind Aim = "find"
	ToTime Aim = "time"
	ToAct  Aim = "act"
)

// MenuKey begins a key that exists in the general menu alone: "m w" is w in that menu.
const MenuKey = "m "

// Bind returns an action. shown is how the help prints its keys, which are shown itself where none are given; what
// completes "this key …".
func Bind[F func() | func() tea.Cmd](group, name, shown, what string, do F, keys ...string) Action {
	if keys == nil {
		keys = []string{shown}
	}
	a := Action{Binding: key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, what)), Name: name, Group: group}
	switch do := any(do).(type) {
	case func() tea.Cmd:
		a.Do = do
	case func():
		a.Do = func() tea.Cmd { do(); return nil }
	}
	return a
}

// Moves returns the keys that move a selection of things by rows: by one, by a page and by all there are.
func Moves(group, thing string, by func(rows int), page, all func() int) Actions {
	bind := func(name, shown, what string, sign int, rows func() int, keys ...string) Action {
		return Bind(group, name, shown, what, func() { by(sign * rows()) }, keys...)
	}
	one := func() int { return 1 }
	return Actions{
		bind("up", "↑ k", "selects the "+thing+" above", -1, one, "up", "k").For(ToLook),
		bind("down", "↓ j", "selects the "+thing+" below", 1, one, "down", "j").For(ToLook),
		bind("page up", "pgup", "goes up a page", -1, page, "pgup", "ctrl+b"),
		bind("page down", "pgdn", "goes down a page", 1, page, "pgdown", "ctrl+f"),
		bind("first "+thing, "home", "selects the first "+thing, -1, all, "home"),
		bind("last "+thing, "end G", "selects the last "+thing, 1, all, "end", "G"),
	}
}

// As returns the action with an ID.
func (a Action) As(id ID) Action { a.ID = id; return a }

// When returns the action with a condition: while blocked returns a sentence, the keys are
// disabled and the sentence says why.
func (a Action) When(blocked func() string) Action { a.Blocked = blocked; return a }

// Unless returns the action with a condition: while not holds, the keys are disabled and the sentence says why.
func (a Action) Unless(why string, not func() bool) Action {
	return a.When(func() string {
		if not() {
			return why
		}
		return ""
	})
}

// Hinted returns the action with a label for the footer.
func (a Action) Hinted(label string) Action { a.Hint = label; return a }

// In returns the action as one that a menu lists, with what the menu says beside it.
func (a Action) In(m Menu, note ...func() string) Action {
	if a.Menu = m; len(note) > 0 {
		a.Note = note[0]
	}
	return a
}

// For returns the action as one of the help's first page.
func (a Action) For(aim Aim) Action { a.Aim = aim; return a }

// Also returns the action with other words by which the palette finds it, separated by blanks.
func (a Action) Also(words string) Action { a.Synonyms = words; return a }

// Writing returns the action marked as one that sends requests to Redis.
func (a Action) Writing() Action { a.Writes = true; return a }

// What returns the sentence about the action.
func (a *Action) What() string { return a.Help().Desc }

// Reason returns why the action is not possible now; "" when it is.
func (a *Action) Reason() string {
	if a.Blocked == nil {
		return ""
	}
	return a.Blocked()
}

// Actions are the actions of a screen in the order in which they are listed.
type Actions []Action

// Refresh enables and disables the keys by what is possible now.
func (t Actions) Refresh() Actions {
	for i := range t {
		if t[i].Blocked != nil {
			t[i].SetEnabled(t[i].Blocked() == "")
		}
	}
	return t
}

// Match returns the action that a key stands for, enabled or not; nil when there is none.
// An enabled one goes before a disabled one.
func (t Actions) Match(msg tea.KeyPressMsg) *Action {
	t.Refresh()
	var disabled *Action
	for i := range t {
		if key.Matches(msg, t[i].Binding) {
			return &t[i]
		}
		if disabled == nil && !t[i].Enabled() && slices.Contains(t[i].Keys(), msg.String()) {
			disabled = &t[i]
		}
	}
	return disabled
}

// Only returns the actions with one of the IDs.
func (t Actions) Only(ids ...ID) Actions {
	return slices.DeleteFunc(slices.Clone(t), func(a Action) bool { return !slices.Contains(ids, a.ID) })
}

// Without returns the actions with none of the IDs.
func (t Actions) Without(ids ...ID) Actions {
	return slices.DeleteFunc(slices.Clone(t), func(a Action) bool { return slices.Contains(ids, a.ID) })
}

// Named returns the action of that name, or nil.
func (t Actions) Named(name string) *Action {
	for i := range t {
		if t[i].Name == name {
			return &t[i]
		}
	}
	return nil
}
