package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/pane"
)

// menu is a list laid over the screen: the palette of actions and the theme picker.
type menu struct {
	title  string
	items  []item
	filter string
	at     int        // among the items that match
	moved  func(item) // the selection moved; may be nil
	cancel func()     // closed without choosing; may be nil
	chosen func(item) tea.Cmd
	area   cell.Rect // where it was painted
}

type item struct {
	text, hint string
	act        action
	theme      *themes.Theme // whose colours are shown beside it; may be nil
}

func (m *menu) matches() []item {
	var list []item
	for _, it := range m.items {
		if model.Fuzzy(it.text, m.filter) {
			list = append(list, it)
		}
	}
	return list
}

// pressMenu gives a key to the open menu.
func (a *App) pressMenu(msg tea.KeyPressMsg) tea.Cmd {
	m := a.menu
	at := m.at
	switch key := msg.String(); key {
	case "esc":
		a.menu = nil
		if m.cancel != nil {
			m.cancel()
		}
		return nil
	case "enter":
		return a.choose(m.at)
	case "up", "shift+tab", "ctrl+p":
		at--
	case "down", "tab", "ctrl+n":
		at++
	case "backspace":
		if runes := []rune(m.filter); len(runes) > 0 {
			m.filter, at = string(runes[:len(runes)-1]), 0
		}
	default:
		if msg.Text != "" {
			m.filter, at = m.filter+msg.Text, 0
		}
	}
	list := m.matches()
	m.at = min(max(at, 0), max(len(list)-1, 0))
	if m.moved != nil && m.at < len(list) {
		m.moved(list[m.at])
	}
	return nil
}

func (a *App) choose(i int) tea.Cmd {
	m := a.menu
	if m == nil {
		return nil
	}
	list := m.matches()
	if i >= len(list) {
		return nil
	}
	a.menu = nil
	return m.chosen(list[i])
}

// openPalette lists every action.
func (a *App) openPalette() {
	m := &menu{title: "do", chosen: func(it item) tea.Cmd { return a.do(it.act) }}
	for _, b := range bindings {
		if b.Act != actPalette {
			m.items = append(m.items, item{text: b.What, hint: b.Shown, act: b.Act})
		}
	}
	a.menu = m
}

// openThemes lists the themes and wears each one that is looked at.
func (a *App) openThemes() {
	before := a.Look.Theme
	wear := func(it item) {
		if t, err := a.o.Shelf.Find(it.text); err == nil {
			a.dress(t)
		}
	}
	m := &menu{title: "theme", moved: wear, cancel: func() { a.dress(before) }}
	m.chosen = func(it item) tea.Cmd {
		wear(it)
		a.fixedTheme = true
		a.say(false, "Theme: "+it.text+". Start with --theme "+it.text+" to keep it.")
		return nil
	}
	for i, name := range a.o.Shelf.Names() {
		t, err := a.o.Shelf.Find(name)
		if err != nil {
			continue
		}
		hint := "dark"
		if !t.Dark {
			hint = "light"
		}
		m.items = append(m.items, item{text: name, hint: hint, theme: t})
		if name == before.Name {
			m.at = i
		}
	}
	a.menu = m
}

func (a *App) paintMenu() {
	m := a.menu
	list := m.matches()
	width := 20
	for _, it := range m.items {
		n := safetext.Width(it.text) + safetext.Width(it.hint) + 8
		if it.theme != nil {
			n += swatch + 4
		}
		width = max(width, n)
	}
	const most = 24 // rows: what is searched need not all be seen
	r := cell.Rect{W: min(width, a.w-4), H: min(len(m.items), most, a.h-7) + 3}
	r.X, r.Y = (a.w-r.W)/2, (a.h-r.H)/3
	m.area = r
	g, raised := &a.Grid, a.Look.Raised
	g.Clear(r)
	g.Tint(r, raised)
	a.Look.Box.Frame(&a.Grid, r, a.Look.Accent.On(raised))
	g.Text(r.X+2, r.Y, r.X+r.W-2, " "+m.title+" ", a.Look.Title.On(raised))
	x := g.Text(r.X+2, r.Y+1, r.X+r.W-2, "› ", a.Look.Accent.On(raised))
	x = g.Text(x, r.Y+1, r.X+r.W-2, safetext.Clean(m.filter), a.Look.Text.On(raised))
	g.Set(x, r.Y+1, '▏', a.Look.Accent.On(raised))
	rows := r.H - 3
	top := min(max(0, m.at-rows/2), max(0, len(list)-rows))
	for i := range rows {
		if top+i >= len(list) {
			break
		}
		a.paintItem(r, r.Y+2+i, top+i, list[top+i])
	}
	if more := len(list) - top - rows; more > 0 {
		g.Right(r.X+2, r.Y+r.H-1, r.X+r.W-2, fmt.Sprintf(" %d more ", more), a.Look.Dim.On(raised))
	}
}

// swatch is how wide the sample of a theme's colours is.
const swatch = 10

// paintSwatch shows what a theme's colours mean, in its own.
func (a *App) paintSwatch(x, y int, t *themes.Theme, ground themes.Ink) {
	l := &a.Look
	full := string(l.Rise[len(l.Rise)-1])
	a.Words(x, y, x+swatch,
		pane.Bit(full, t.Previous.On(ground)), pane.Bit(full+full, t.Admitted.On(ground)), pane.Bit(string(l.Cross)+string(l.Cross), t.Denied.On(ground)),
		pane.Bit(" "+l.NearMark, t.Near.On(ground)), pane.Bit(string(l.MarkYes), t.Injected.On(ground)), pane.Bit(l.OKMark, t.Accent.On(ground)))
}

// overMenu says whether the mouse is on the open menu.
func (a *App) overMenu(m tea.Mouse) bool { return a.menu.area.Holds(m.X, m.Y) }

func (a *App) paintItem(r cell.Rect, y, i int, it item) {
	ground := a.Look.Raised
	if i == a.menu.at {
		ground = a.Look.Selected
		a.Grid.Fill(r.X+1, y, r.W-2, ' ', a.Look.Text.On(ground))
		a.Grid.Text(r.X+1, y, r.X+2, a.Look.SelMark, a.Look.Accent.On(ground))
	}
	end := r.X + r.W - 2
	a.Grid.Text(r.X+3, y, end-safetext.Width(it.hint)-1, it.text, a.Look.Text.On(ground))
	a.Grid.Right(r.X+3, y, end, it.hint, a.Look.Dim.On(ground))
	if it.theme != nil && r.W > 30 {
		a.paintSwatch(end-safetext.Width("light")-2-swatch, y, it.theme, ground)
	}
	a.Zone(cell.Rect{X: r.X + 1, Y: y, W: r.W - 2, H: 1}, func(int) tea.Cmd { return a.choose(i) })
}
