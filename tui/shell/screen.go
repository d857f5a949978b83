// Package shell is the program around the screens: it owns the terminal's size, the theme,
// the toast, the overlays, the keys that mean the same everywhere and the way from one
// screen to another. It knows no Redis and no limiter, so that the dashboard and the lab
// run in the same shell; that is why it is a package of its own beneath both.
package shell

import (
	"errors"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// Screen is one full picture. Update handles every message but the input that the shell or
// an overlay takes; Paint draws the screen into r and changes nothing that Update reads;
// Keys lists what a person can do on it.
type Screen interface {
	Update(msg tea.Msg) tea.Cmd
	Paint(p *widget.Canvas, r cell.Rect)
	Keys() Actions
}

// Story is a Screen that goes on by itself, as the lab does. Others follow the Host.
type Story interface {
	// Pace is the time to its next picture, 0 while it stands still.
	Pace() time.Duration
	// Back returns the next of its own steps that esc takes back before it leaves the screen, instead of those of the Host; nil
	// for none.
	Back() (step func())
	// Legend is what its shapes mean, in place of the Host's.
	Legend(p *widget.Canvas) []widget.Span
	// Keep keeps what it remembers, at the end of the program.
	Keep() error
}

// Wheel returns 1 where the wheel was turned down, else -1.
func Wheel(msg tea.MouseWheelMsg) int {
	return collect.If(msg.Button == tea.MouseWheelDown, 1, -1)
}

// Then is a message that goes on with what a command has brought, on the program's own goroutine. The command that it returns may be nil.
type Then func() tea.Cmd

// The messages that the shell sends to a screen.
type (
	// LayoutMsg comes before a picture is painted: the room there is for the screen, and
	// the moment on this machine's clock.
	LayoutMsg struct {
		Area   cell.Rect
		Framed bool
	}
	// TickMsg comes when the clock moves.
	TickMsg struct{ At time.Time }
	// ShownMsg comes when the screen begins to be shown, HiddenMsg when another one is.
	ShownMsg  struct{}
	HiddenMsg struct{}
	// StopMsg comes, to the Host too, when a person stops everything.
	StopMsg struct{}
	// TouchMsg comes to the Host alone: a person pressed a key or a button, or moved the mouse.
	TouchMsg struct{ Pressed bool }
)

// Host is what the program is about: it fills the header and knows how fast time passes. No field is nil.
type Host struct {
	Init func() tea.Cmd
	// Update handles a message before the screens do, a TickMsg among them.
	Update func(msg tea.Msg) tea.Cmd
	// Pace is the time to the next picture, and whether nothing moves until then but time.
	Pace func() (wait time.Duration, idle bool)
	// Header draws the first rows of every screen; HeaderRows is how many.
	Header     func(p *widget.Canvas, r cell.Rect)
	HeaderRows func() int
	// TooSmall is what to say on a terminal that is too small for a screen; "" nothing.
	TooSmall func(columns int) string
	// Decorate sets the fields of the view beside its content, as the title.
	Decorate func(v *tea.View)
	// Back returns the next step back that is not the screen's or the shell's; nil for none.
	Back func() (step func())
	// HostKeys are actions of the host that mean the same on every screen.
	HostKeys func() Actions
	// Legend is what the shapes mean, for the help: a shape, a tab and its meaning.
	Legend func(p *widget.Canvas) []widget.Span
}

// Bare returns a Host of nothing, with a picture a second: the lab without a Redis begins with it.
func Bare() Host {
	return Host{
		Init: func() tea.Cmd { return nil }, Update: func(tea.Msg) tea.Cmd { return nil },
		Pace: func() (time.Duration, bool) { return time.Second, true }, Legend: func(*widget.Canvas) []widget.Span { return nil },
		Header: func(*widget.Canvas, cell.Rect) {}, HeaderRows: func() int { return 0 }, TooSmall: func(int) string { return "" },
		Decorate: func(*tea.View) {}, Back: func() func() { return nil }, HostKeys: func() Actions { return nil },
	}
}

// entry is a screen with the name and the sentence by which it is found.
type entry struct {
	name, what string
	screen     Screen
}

// stack is the screens of a program, which of them is shown, and those that esc leads back to.
type stack struct {
	screens []entry
	current int
	past    []int // screens that esc leads back to, oldest first
}

// Screen returns the name of the screen that is shown.
func (s *stack) Screen() string { return s.screens[s.current].name }

// at returns the screen that is shown.
func (s *stack) at() Screen { return s.screens[s.current].screen }

// First returns the screen that is shown at the start.
func First(a *App) Screen { return a.screens[0].screen }

// before returns the screen that esc leads back to, and forgets it; there is none on the first.
func (s *stack) before() (i int, there bool) {
	if n := len(s.past); n > 0 {
		i, s.past = s.past[n-1], s.past[:n-1]
		return i, true
	}
	return 0, s.current != 0
}

// everywhere gives a message to every screen: one that is hidden may wait for it.
func (s *stack) everywhere(msg tea.Msg) tea.Cmd {
	return tea.Batch(collect.Map(s.screens, func(e entry) tea.Cmd { return e.screen.Update(msg) })...)
}

// KeepAll asks the screens that remember something to keep it, at the end of the program.
func (s *stack) KeepAll() error {
	return errors.Join(collect.Map(s.screens, func(e entry) error {
		if one, ok := e.screen.(Story); ok {
			return one.Keep()
		}
		return nil
	})...)
}

// surface is what a program paints on: a canvas, and what lies over the screen on it: an overlay, a
// sentence, and what is said of the cell under the mouse.
type surface struct {
	Canvas widget.Canvas

	Over    Overlay // the open one; nil for none
	toast   widget.Toast
	pointer pointer
	frame   string // the last painted picture
	stale   bool   // something changed since
}

// Redraw says that something changed that is on screen.
func (s *surface) Redraw() { s.stale = true }

// Say shows a sentence for some seconds. It returns nil for a caller with no other command, as Warn and Open do.
func (s *surface) Say(text string) tea.Cmd {
	s.toast, s.stale = widget.Toast{Text: text}, true
	return nil
}

// Warn shows a sentence about trouble for some seconds.
func (s *surface) Warn(text string) tea.Cmd {
	s.toast, s.stale = widget.Toast{Text: text, Bad: true}, true
	return nil
}

// Told returns the message that says a sentence, or warns of an error in its place.
func (s *surface) Told(text string, err error) tea.Msg {
	return Then(func() tea.Cmd {
		if err != nil {
			return s.Warn(err.Error())
		}
		return s.Say(text)
	})
}

// Hush takes the sentence away.
func (s *surface) Hush() { s.toast, s.stale = widget.Toast{}, true }

// Open lays an overlay over the screen; it has the keyboard until it closes.
func (s *surface) Open(o Overlay) tea.Cmd {
	s.Over, s.stale = o, true
	return nil
}

// follow notes where the mouse is, and returns what says later that it has rested there. It
// waits for nothing where there is nothing to say.
func (s *surface) follow(x, y int) tea.Cmd {
	if p := &s.pointer; x == p.x && y == p.y && p.rests {
		return nil
	}
	s.lift()
	if s.pointer.x, s.pointer.y = x, y; s.Over != nil || s.Canvas.TipAt(x, y) == "" {
		return nil
	}
	moves := s.pointer.moves
	return tea.Tick(resting, func(time.Time) tea.Msg {
		return Then(func() tea.Cmd {
			if moves == s.pointer.moves {
				s.pointer.rests, s.stale = true, true
			}
			return nil
		})
	})
}

// lift ends a rest of the mouse, and takes away what is said of the cell under it.
func (s *surface) lift() {
	s.stale = s.stale || s.pointer.rests
	s.pointer.moves++
	s.pointer.rests = false
}

// toOverlay gives a message to the open overlay.
func (s *surface) toOverlay(msg tea.Msg) tea.Cmd {
	if s.Over == nil {
		return nil
	}
	s.stale = true
	over := s.Over
	cmd, open := over.Update(msg)
	if !open && s.Over == over { // it may have opened another one
		s.Over = nil
	}
	return cmd
}

// tooSmall reports whether there is no room for a screen.
func (s *surface) tooSmall() bool {
	return s.Canvas.Buffer.W < MinWidth || s.Canvas.Buffer.H < MinHeight
}

// resting is how long the mouse stays where it is before the screen says what is there.
const resting = 400 * time.Millisecond

// pointer is where the mouse is.
type pointer struct {
	x, y  int
	moves int  // counts them: a rest that an older one began is none
	rests bool // long enough on one cell
}

// theming is what the theme is chosen by: the terminal's background until a person has picked one, and how many colours the
// terminal has.
type theming struct {
	fixed   bool // a person has picked it
	dark    bool // the terminal's background is
	sixteen bool // the terminal has sixteen colours
}

// setTheme puts a theme on. A terminal of sixteen colours gets its own.
func (a *App) setTheme(t *themes.Theme) {
	if a.theming.sixteen {
		t = themes.Sixteen(a.theming.dark)
	}
	a.Canvas.SetTheme(t, a.Options.ASCII)
	a.stale = true
}

// Overlay lies over a screen and has the keyboard while it is open.
type Overlay interface {
	// Update handles a message; with open false the overlay closes.
	Update(msg tea.Msg) (cmd tea.Cmd, open bool)
	// Paint draws it; footer is the last row of the screen.
	Paint(p *widget.Canvas, footer cell.Rect)
}

// Prompt is a line of text in the footer. It alone lets clicks beside it reach the screen: rows can be clicked while a filter is typed.
type Prompt struct {
	input   textinput.Model
	note    string
	changed func(text string)
	done    func(text string, kept bool) tea.Cmd
	move    func(by int)
	wrong   string // what is wrong with the text; "" nothing
}

// NewPrompt returns a prompt with a text in it. changed has the text after every change, done
// once at the end: with kept false it was given up. move has the arrows up and down. All three may be nil.
func (s *surface) NewPrompt(sign, text, note string, changed func(string), done func(string, bool) tea.Cmd,
	move func(by int)) *Prompt {
	p := &Prompt{input: widget.NewInput(s.Canvas.Look, sign, 0), note: note, changed: changed, done: done, move: move}
	p.input.SetValue(text)
	p.input.CursorEnd()
	return p
}

// Text returns what is typed.
func (p *Prompt) Text() string { return p.input.Value() }

// Suggest offers texts that tab completes to.
func (p *Prompt) Suggest(texts []string) {
	p.input.ShowSuggestions = len(texts) > 0
	p.input.SetSuggestions(texts)
}

// Complain says what is wrong with the text in place of the note, until it is told "". Meanwhile enter ends nothing.
func (p *Prompt) Complain(what string) { p.wrong = what }

// Update edits the text.
func (p *Prompt) Update(msg tea.Msg) (tea.Cmd, bool) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch name := k.String(); {
		case name == "enter" && p.wrong != "" && strings.TrimSpace(p.Text()) != "":
			return nil, true // what is typed is not lost, and what is wrong with it stays on screen
		case name == "enter" || name == "esc":
			if p.done != nil {
				return p.done(p.input.Value(), name == "enter"), false
			}
			return nil, false
		case p.move != nil && (name == "up" || name == "down"):
			p.move(collect.If(name == "up", -1, 1))
			return nil, true
		}
	}
	before := p.input.Value()
	var cmd tea.Cmd
	p.input, cmd = p.input.Update(msg)
	if text := p.input.Value(); text != before && p.changed != nil {
		p.changed(text)
	}
	return cmd, true
}

// Paint draws the prompt over the footer.
func (p *Prompt) Paint(c *widget.Canvas, footer cell.Rect) {
	c.Buffer.Clear(footer)
	note, st := format.First(footer.W/2, p.note, "enter keeps · esc clears"), c.Look.Dim
	if p.wrong != "" {
		note, st = safetext.Clip(p.wrong, footer.W/2, safetext.Ellipsis), c.Look.Near
	}
	room := footer.W - 3 - safetext.Width(note)
	p.input.SetWidth(max(room-4, 4))
	c.Buffer.Place(cell.Rect{X: 1, Y: footer.Y, W: room, H: 1}, p.input.View())
	c.Buffer.Right(footer.X+room, footer.Y, footer.X+footer.W-1, note, st)
}

// Question asks whether something is to be done.
type Question struct {
	title string
	lines []string
	yes   string
	do    func() tea.Cmd
}

// Ask lays a question over the screen: enter does it, any other key does not.
func (s *surface) Ask(title, yes string, do func() tea.Cmd, lines ...string) {
	s.Open(&Question{title: title, lines: lines, yes: yes, do: do})
}

// Update waits for the answer.
func (q *Question) Update(msg tea.Msg) (tea.Cmd, bool) {
	k, ok := msg.(tea.KeyPressMsg)
	switch {
	case !ok:
		return nil, true
	case k.String() == "enter":
		return q.do(), false
	}
	return nil, false
}

// Paint draws the question in the middle.
func (q *Question) Paint(p *widget.Canvas, _ cell.Rect) {
	const width = 64
	lines := slices.Concat(collect.Map(q.lines, func(l string) []string { return format.Wrap(l, min(width, p.Buffer.W-6)-4) })...)
	in := p.Overlay(width, len(lines)+4, q.title, "")
	p.Lines(in, p.Look.Text.On(p.Look.Raised), lines...)
	y := in.Y + len(lines) + 1
	x := p.Button(in.X, y, in.X+in.W, "enter", q.yes, func(int) tea.Cmd { return q.do() })
	p.Button(x, y, in.X+in.W, "esc", "leave it", func(int) tea.Cmd { return nil })
}
