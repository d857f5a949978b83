package shell

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/collect"
	"ratescope/tui/cell"
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

// paintFooter shows the keys that matter most, each of which can be clicked, as many as fit.
func paintFooter(a *App, r cell.Rect) {
	look, x, end := &a.Canvas.Look, r.X+1, r.X+r.W-1
	for _, act := range footerActions(a) {
		name := act.Help().Key
		if a.Canvas.Buffer.ASCII {
			name = strings.Fields(name)[0]
			if len(name) > 1 && name[0] >= 0x80 {
				name = act.Keys()[0]
			}
		}
		spans := []widget.Span{widget.Styled(name+" ", look.Accent), widget.Styled(act.Hint, look.Dim)}
		width := widget.Width(spans...)
		if x+width > end {
			return
		}
		a.Canvas.OnClick(cell.Rect{X: x, Y: r.Y, W: width, H: 1}, func(int) tea.Cmd { return act.Do() })
		x = a.Canvas.Spans(x, r.Y, end, spans...) + 2
	}
}
