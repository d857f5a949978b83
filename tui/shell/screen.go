// Package shell is the program around the screens: it owns the terminal's size, the theme,
// the toast, the overlays, the keys that mean the same everywhere and the way from one
// screen to another. It knows no Redis and no limiter, so that the dashboard and the lab
// run in the same shell; that is why it is a package of its own beneath both.
package shell

import (
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

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

// Pacer is a Screen with a pace of its own: the time to its next picture, 0 while it stands
// still. Others follow the Host's.
type Pacer interface{ Pace() time.Duration }

// Backer is a Screen with steps of its own that esc takes back before it leaves the screen, instead of
// those of the Host. Back returns the next of them, nil for none.
type Backer interface{ Back() (step func()) }

// Toaster is a Screen that says where a toast may lie: not over the keys that it shows.
type Toaster interface{ ToastRoom() cell.Rect }

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

// Host is what the program is about: it fills the header and knows how fast time passes.
type Host interface {
	Init() tea.Cmd
	// Update handles a message before the screens do, a TickMsg among them.
	Update(msg tea.Msg) tea.Cmd
	// Pace is the time to the next picture, and whether nothing moves until then but time.
	Pace() (wait time.Duration, idle bool)
	// Header draws the first rows of every screen; HeaderRows is how many.
	Header(p *widget.Canvas, r cell.Rect)
	HeaderRows() int
	// TooSmall is what to say on a terminal that is too small for a screen; "" nothing.
	TooSmall(columns int) string
	// Decorate sets the fields of the view beside its content, as the title.
	Decorate(v *tea.View)
	// Back returns the next step back that is not the screen's or the shell's; nil for none.
	Back() (step func())
	// HostKeys are actions of the host that mean the same on every screen.
	HostKeys() Actions
	// Legend is what the shapes mean, for the help: a shape, a tab and its meaning.
	Legend(p *widget.Canvas) []widget.Span
}

// Bare is a Host of nothing: the lab without a Redis runs on it.
type Bare struct{}

// Init does nothing.
func (Bare) Init() tea.Cmd { return nil }

// Update does nothing.
func (Bare) Update(tea.Msg) tea.Cmd { return nil }

// Pace is a picture a second.
func (Bare) Pace() (time.Duration, bool) { return time.Second, true }

// Header draws nothing.
func (Bare) Header(*widget.Canvas, cell.Rect) {}

// HeaderRows is 0.
func (Bare) HeaderRows() int { return 0 }

// TooSmall says nothing.
func (Bare) TooSmall(int) string { return "" }

// Decorate does nothing.
func (Bare) Decorate(*tea.View) {}

// Back is nil.
func (Bare) Back() func() { return nil }

// HostKeys are none.
func (Bare) HostKeys() Actions { return nil }

// Legend is empty.
func (Bare) Legend(*widget.Canvas) []widget.Span { return nil }

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

// index returns the number of the screen of that name, or -1.
func (s *stack) index(name string) int {
	return slices.IndexFunc(s.screens, func(e entry) bool { return e.name == name })
}

// First returns the screen that is shown at the start.
func First(a *App) Screen { return a.screens[0].screen }

// remember notes, before screen i is shown, where esc leads back to from it: nowhere from the first.
func (s *stack) remember(i int) {
	if i == 0 {
		s.past = s.past[:0]
	} else {
		s.past = append(s.past[max(0, len(s.past)-len(s.screens)):], s.current)
	}
}

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
	var list []tea.Cmd
	for i := range s.screens {
		if cmd := s.screens[i].screen.Update(msg); cmd != nil {
			list = append(list, cmd)
		}
	}
	return tea.Batch(list...)
}

// KeepAll asks the screens that remember something to keep it, at the end of the program.
func (s *stack) KeepAll() error {
	var errs []error
	for i := range s.screens {
		if k, ok := s.screens[i].screen.(interface{ Keep() error }); ok {
			errs = append(errs, k.Keep())
		}
	}
	return errors.Join(errs...)
}
