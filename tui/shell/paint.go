package shell

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"ratescope/model/collect"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// View returns the picture that Update painted last.
func (a *App) View() tea.View {
	v := tea.NewView(a.frame)
	v.AltScreen = true
	v.WindowTitle = a.o.Name
	a.host.Decorate(&v)
	if a.mouse {
		v.MouseMode = tea.MouseModeAllMotion
	}
	return v
}

func (a *App) paint() {
	a.stale = false
	a.Canvas.Begin()
	defer func() { a.frame = a.Canvas.Buffer.String() }()
	if a.tooSmall() {
		a.Canvas.TooSmall(a.o.Name, MinWidth, MinHeight)
		a.Canvas.Buffer.Text(0, 1, a.Canvas.Buffer.W, strings.TrimSpace(a.host.TooSmall(a.Canvas.Buffer.W)), a.Canvas.Look.BadgeWarn)
		return
	}
	if len(a.screens) == 0 {
		return
	}
	body := a.body()
	a.at().Paint(&a.Canvas, body)
	footer := cell.Rect{Y: a.Canvas.Buffer.H - 1, W: a.Canvas.Buffer.W, H: 1}
	header, _ := a.Canvas.Buffer.Bounds().Top(a.host.HeaderRows())
	a.host.Header(&a.Canvas, header)
	if a.over != nil || a.toast.Text == "" {
		paintFooter(a, footer)
	}
	a.toast.Paint(&a.Canvas, cell.Rect{Y: body.Y + body.H, W: footer.W})
	a.paintTip(body)
	if a.over != nil {
		if a.over.Modal() { // a click beside it closes it
			a.Canvas.OnClick(a.Canvas.Buffer.Bounds(), func(int) tea.Cmd { return a.toOverlay(tea.KeyPressMsg{Code: tea.KeyEscape}) })
		}
		a.over.Paint(&a.Canvas, footer)
	}
}

// mostHints is how many keys the footer names.
const mostHints = 10

// footerActions are the actions that the footer names, in the order of need: the way out, the help,
// the other screens, which share one hint, and what the screen is for, in its order. At most ten.
func footerActions(a *App) (shown Actions) {
	var screens Actions
	for _, act := range a.keys.Refresh() {
		switch {
		case act.Hint == "" || !act.Enabled():
		case act.Help().Key[0] >= '1' && act.Help().Key[0] <= '9':
			screens = append(screens, act)
		default:
			shown = append(shown, act)
		}
	}
	if n := len(screens); n > 1 {
		shown = append(shown, oneKey(a, screens))
	}
	shown = append(shown, collect.Only(a.at().Keys().Refresh(), func(act Action) bool { return act.Hint != "" && act.Enabled() })...)
	return shown[:min(len(shown), mostHints)]
}

// paintFooter shows the keys that matter most, each of which can be clicked.
func paintFooter(a *App, r cell.Rect) {
	shown := footerActions(a)
	names := make([]string, 0, 2*len(shown))
	x := r.X + 1
	for _, act := range shown {
		name := act.Help().Key
		if a.Canvas.Buffer.ASCII {
			name = strings.Fields(name)[0]
			if len(name) > 1 && name[0] >= 0x80 {
				name = act.Keys()[0]
			}
		}
		names = append(names, name, act.Hint)
		width := safetext.Width(name) + 1 + safetext.Width(act.Hint)
		if x+width <= r.X+r.W-1 {
			a.Canvas.OnClick(cell.Rect{X: x, Y: r.Y, W: width, H: 1}, func(int) tea.Cmd { return act.Do() })
		}
		x += width + 2
	}
	a.Canvas.Buffer.Place(cell.Rect{X: r.X + 1, Y: r.Y, W: r.W - 2, H: 1}, a.footer.of(names, r.W-2, a.Canvas.Look))
}

// footer keeps the text of the footer, which is the same in most pictures and as dear to style
// as a good part of them. The zero value is ready.
type footer struct {
	names []string
	width int
	look  chart.Look
	text  string
}

// of returns the text for the names of keys, each followed by its hint.
func (f *footer) of(names []string, width int, look chart.Look) string {
	if f.width == width && f.look == look && slices.Equal(f.names, names) {
		return f.text
	}
	bindings := make([]key.Binding, 0, len(names)/2)
	for pair := range slices.Chunk(names, 2) {
		bindings = append(bindings, key.NewBinding(key.WithKeys(pair[0]), key.WithHelp(pair[0], pair[1])))
	}
	h := help.New()
	h.ShortSeparator, h.Ellipsis, h.Styles = "  ", "", widget.HelpStyles(look)
	h.SetWidth(width)
	*f = footer{names, width, look, h.ShortHelpView(bindings)}
	return f.text
}
