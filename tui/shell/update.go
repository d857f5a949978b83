package shell

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"ratescope/model/collect"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// Init asks for the terminal's background and starts the clock and the host. The first tick comes at
// once: until then Now is zero, and a ticket that is issued would have expired long ago.
func (a *App) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, a.clock.arm(0, a.clock.idle), a.Host.Init(), a.at().Update(ShownMsg{}))
}

// Update handles one message and paints what it changed. The clock is re-armed in exactly
// one place.
func (a *App) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := a.route(msg)
	if a.stale {
		cmd = tea.Batch(cmd, refresh(a))
	}
	return a, cmd
}

// refresh paints what changed, unless another program of the group is shown. It returns what the layout begins.
func refresh(a *App) (cmd tea.Cmd) {
	if a.Group.Shows(a) {
		cmd = a.layout()
	}
	if a.Group.Shows(a) { // a layout may have brought another one to the front
		a.paint()
	}
	return cmd
}

func (a *App) route(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tickMsg:
		if msg.generation != anyGeneration && msg.generation != a.clock.generation {
			return nil
		}
		a.clock.now = msg.at
		if a.toast.Over(msg.at) {
			a.Hush()
		}
		tick := TickMsg{msg.at}
		return tea.Batch(a.Host.Update(tick), a.at().Update(tick), a.clock.arm(pace(&a.Host, a.at())))
	case Then:
		return msg()
	case tea.WindowSizeMsg:
		a.Canvas.Buffer.Resize(msg.Width, msg.Height)
		a.Canvas.Framed = a.Canvas.Buffer.W >= WideWidth && a.Canvas.Buffer.H >= WideHeight
		a.stale = true
		return a.everywhere(msg)
	case tea.BackgroundColorMsg:
		dark, th := msg.IsDark(), &a.theming
		if th.dark = dark; (!th.fixed || th.sixteen) && a.Canvas.Look.Dark != dark {
			a.setTheme(a.Options.Shelf.Default(dark))
		}
		return a.everywhere(msg)
	case tea.ResumeMsg:
		a.stale = true
		return touched(a, false)
	case tea.ColorProfileMsg:
		if a.theming.sixteen = msg.Profile == colorprofile.ANSI; a.theming.sixteen {
			a.setTheme(a.Canvas.Look.Theme)
		}
	case tea.KeyPressMsg:
		a.lift()
		looks := msg.String() == "esc" || msg.String() >= "1" && msg.String() <= "6" // and does nothing to a key
		return tea.Batch(touched(a, !looks), a.press(msg))
	case tea.PasteMsg:
		return a.toOverlay(msg)
	case tea.MouseClickMsg:
		return tea.Batch(touched(a, true), a.click(msg))
	case tea.MouseWheelMsg:
		a.stale = true
		return tea.Batch(touched(a, true), a.point(msg))
	case tea.MouseMotionMsg:
		return tea.Batch(touched(a, false), a.follow(msg.X, msg.Y), a.point(msg))
	case tea.MouseReleaseMsg:
		return tea.Batch(a.Host.Update(TouchMsg{true}), a.point(msg))
	default:
		return tea.Batch(a.Host.Update(msg), a.everywhere(msg))
	}
	return nil
}

// touched tells the host of what a person did. A press ends what is said of the cell under the mouse.
func touched(a *App, pressed bool) tea.Cmd {
	if pressed {
		a.lift()
	}
	return a.Host.Update(TouchMsg{pressed})
}

// pace returns the time to the next picture of a screen: its own, else the host's.
func pace(host *Host, shown Screen) (wait time.Duration, idle bool) {
	if p, ok := shown.(Story); ok {
		if own := p.Pace(); own > 0 {
			return own, false
		}
	}
	return host.Pace()
}

// Wake makes the next picture come at once when the clock ticks once a second only.
func (a *App) Wake() tea.Cmd {
	if !a.clock.idle {
		return nil
	}
	a.clock.generation++
	return a.clock.arm(pace(&a.Host, a.at()))
}

// press routes a key: ctrl+c first, then an open overlay, then the keys that mean the same
// everywhere, then those of the screen, then esc, and what is left to the screen as it is.
func (a *App) press(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "ctrl+c":
		return a.quit()
	case "ctrl+z":
		if a.Options.Suspend {
			return tea.Suspend
		}
	case "alt+esc": // esc twice at once: the two bytes arrive together
		esc := tea.KeyPressMsg{Code: tea.KeyEscape}
		return tea.Batch(a.press(esc), a.press(esc))
	}
	a.stale = true
	if a.Over != nil {
		return a.toOverlay(msg)
	}
	if a.toast.Text != "" {
		a.Hush()
	}
	act := a.keys.Match(msg)
	if act == nil || !act.Enabled() || act.ID == Back { // the screen's own step back comes first
		if own := a.at().Keys().Match(msg); own != nil && (act == nil || own.Enabled()) {
			act = own
		}
	}
	switch {
	case act == nil:
		return a.at().Update(msg)
	case !act.Enabled():
		return a.Say(act.Reason())
	}
	return tea.Batch(act.Do(), a.Wake())
}

// click does what stands under the mouse; outside an open overlay it closes that.
func (a *App) click(msg tea.MouseClickMsg) tea.Cmd {
	a.stale = true
	if msg.Button == tea.MouseLeft {
		if cmd, hit := a.Canvas.Click(msg.X, msg.Y); hit {
			return tea.Batch(cmd, a.Wake())
		}
	}
	return a.point(msg)
}

// point gives what the mouse does to the overlay, else to the screen.
func (a *App) point(msg tea.Msg) tea.Cmd {
	if a.Over != nil {
		return a.toOverlay(msg)
	}
	return a.at().Update(msg)
}

// back takes one step back: one on the screen first, then to the screen before, and at last the
// host's, for a screen with steps of its own.
func (a *App) back() tea.Cmd {
	step := stepBack(a)
	if step == nil {
		if to, there := a.before(); there {
			return a.change(to)
		}
		step = a.Host.Back()
	}
	if step != nil {
		step()
	}
	return nil
}

// stepBack returns the next step back on the screen that is shown; nil for none.
func stepBack(a *App) func() {
	if one, ok := a.at().(Story); ok {
		return one.Back()
	}
	return a.Host.Back()
}

// quit ends the program. A screen that others look at says so first; ctrl+c at that question does not ask again.
func (a *App) quit() tea.Cmd {
	leave := func() tea.Cmd {
		a.stopAll()
		return tea.Quit
	}
	if s, ok := a.at().(interface{ Watched() string }); ok && a.Over == nil && s.Watched() != "" {
		a.Ask("quit", "quits", leave, s.Watched())
		return nil
	}
	return leave()
}

// stopAll stops everything, in every program of the group.
func (a *App) stopAll() tea.Cmd {
	if a.Group == nil {
		return tea.Batch(a.Host.Update(StopMsg{}), a.everywhere(StopMsg{}))
	}
	var all []tea.Cmd
	for _, one := range a.Group.apps {
		all = append(all, addressed(one, one.Host.Update(StopMsg{})), addressed(one, one.everywhere(StopMsg{})))
	}
	return tea.Batch(all...)
}

// layout says to the screen which room it has.
func (a *App) layout() tea.Cmd {
	if len(a.screens) == 0 || a.tooSmall() {
		return nil
	}
	return a.at().Update(LayoutMsg{a.body(a.Host.HeaderRows()), a.Canvas.Framed})
}

// body is the room between so many rows of header and the footer. A toast takes the footer's row; those that it needs
// more go from the body, so that it covers no figure. It stands above a footer that an overlay writes in.
func (s *surface) body(header int) cell.Rect {
	_, rest := s.Canvas.Buffer.Bounds().Top(header)
	foot := s.toast.Rows(rest.W)
	if s.Over != nil || foot == 0 {
		foot++
	}
	body, _ := rest.Top(rest.H - foot)
	return body
}

// tickMsg carries this machine's clock.
type tickMsg struct {
	at         time.Time
	generation int
}

// clock ticks until the program ends. It is armed from one place, so that there is one tick under
// way that counts.
type clock struct {
	now        time.Time // this machine's clock at the last tick
	generation int       // a tick of an older one is void
	idle       bool      // it ticks once a second
}

// arm returns the command that ticks after a time.
func (c *clock) arm(wait time.Duration, idle bool) tea.Cmd {
	c.idle = idle
	generation := c.generation
	return tea.Tick(wait, func(t time.Time) tea.Msg { return tickMsg{t, generation} })
}

// anyGeneration is that of a tick which is never void.
const anyGeneration = -1

// TickAt is the message that the clock sends at an instant.
func TickAt(t time.Time) tea.Msg { return tickMsg{at: t, generation: anyGeneration} }

// View returns the picture that Update painted last.
func (a *App) View() tea.View {
	v := tea.NewView(a.frame)
	v.AltScreen = true
	v.WindowTitle = a.Options.Name
	a.Host.Decorate(&v)
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
		a.Canvas.TooSmall(a.Options.Name, MinWidth, MinHeight)
		a.Canvas.Buffer.Text(0, 1, a.Canvas.Buffer.W, strings.TrimSpace(a.Host.TooSmall(a.Canvas.Buffer.W)), a.Canvas.Look.BadgeWarn)
		return
	}
	if len(a.screens) == 0 {
		return
	}
	body := a.body(a.Host.HeaderRows())
	a.at().Paint(&a.Canvas, body)
	footer := cell.Rect{Y: a.Canvas.Buffer.H - 1, W: a.Canvas.Buffer.W, H: 1}
	header, _ := a.Canvas.Buffer.Bounds().Top(a.Host.HeaderRows())
	a.Host.Header(&a.Canvas, header)
	if a.Over != nil || a.toast.Text == "" {
		paintFooter(a, footer)
	}
	a.toast.Paint(&a.Canvas, cell.Rect{Y: body.Y + body.H, W: footer.W})
	if p := &a.pointer; p.rests && a.Over == nil {
		a.Canvas.PaintTip(p.x, p.y, a.Canvas.TipAt(p.x, p.y), cell.Rect{W: footer.W, H: body.Y + body.H})
	}
	if a.Over != nil {
		if _, line := a.Over.(*Prompt); !line { // a click beside it closes it
			a.Canvas.OnClick(a.Canvas.Buffer.Bounds(), func(int) tea.Cmd { return a.toOverlay(tea.KeyPressMsg{Code: tea.KeyEscape}) })
		}
		a.Over.Paint(&a.Canvas, footer)
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
