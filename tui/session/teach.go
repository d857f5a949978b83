package session

import (
	"context"
	"fmt"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model/format"
	"ratescope/model/identify"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// Teach finds the readings that fit a group of likely limiters under a limit, which may be "".
type Teach func(ctx context.Context, g identify.Group, limit string) ([]identify.Fit, error)

// teaching is the overlay in which a person says what a group of likely limiters is: one of the readings that fit, with
// what each gives for some keys now, and the limit. It writes the rule.
type teaching struct {
	s        *Session
	group    identify.Group
	input    textinput.Model
	asked    string // the limit that the readings are asked with
	fits     []identify.Fit
	selected int
	says     string // why there is nothing to choose from, or what is wrong
}

// fitsMsg is the readings that fit a group under a limit.
type fitsMsg struct {
	of    *teaching
	limit string
	fits  []identify.Fit
	err   error
}

// taughtMsg is the result of writing a rule, or of taking it back.
type taughtMsg struct {
	pattern string
	undone  bool
	taught  identify.Taught
	err     error
}

// openTeaching opens the overlay for a group, and asks for its readings.
func (s *Session) openTeaching(g identify.Group) tea.Cmd {
	look := s.Shell.Canvas.Look
	t := &teaching{s: s, group: g, says: "Reading some of its keys…", input: widget.NewInput(look, "limit  ", look.Raised)}
	t.input.Placeholder = "COUNT/DURATION, as in 10/20s"
	s.Shell.Open(t)
	return t.ask("")
}

// ask asks for the readings under a limit.
func (t *teaching) ask(limit string) tea.Cmd {
	t.asked = limit
	ctx, teach, g := t.s.Shell.Context(), t.s.Options.Teach, t.group
	return func() tea.Msg {
		fits, err := teach(ctx, g, limit)
		return fitsMsg{t, limit, fits, err}
	}
}

// take takes in the readings, unless a later limit was asked with.
func (t *teaching) take(msg fitsMsg) {
	t.s.Shell.Redraw()
	switch {
	case msg.limit != t.asked:
	case msg.err != nil:
		t.fits, t.says = nil, safetext.Sentence(msg.err.Error())
	case len(msg.fits) == 0:
		t.says = "No reading fits what its keys hold: a rule with name says where the amount and the time stand, see docs/configuration.md."
	default:
		t.fits, t.says, t.selected = msg.fits, "", min(t.selected, len(msg.fits)-1)
	}
}

// Update chooses a reading, takes the limit, and writes the rule.
func (t *teaching) Update(msg tea.Msg) (tea.Cmd, bool) {
	k, pressed := msg.(tea.KeyPressMsg)
	if pressed {
		switch k.String() {
		case "esc":
			t.s.openGroups()
			return nil, true
		case "up":
			t.selected = max(t.selected-1, 0)
			return nil, true
		case "down":
			t.selected = max(min(t.selected+1, len(t.fits)-1), 0)
			return nil, true
		case "enter":
			return t.write()
		}
	}
	if _, pasted := msg.(tea.PasteMsg); !pressed && !pasted {
		return nil, true
	}
	before := t.input.Value()
	var cmd tea.Cmd
	t.input, cmd = t.input.Update(msg)
	text := strings.TrimSpace(t.input.Value())
	if text == strings.TrimSpace(before) {
		return cmd, true
	}
	t.says = ""
	first, _, _ := strings.Cut(text, " ")
	if _, err := limiter.ParseLimit(first); err != nil && !strings.HasSuffix(first, "month") {
		text = "" // not yet one
	}
	if text == t.asked {
		return cmd, true
	}
	return tea.Batch(cmd, t.ask(text)), true
}

// write writes the rule of the selected reading.
func (t *teaching) write() (tea.Cmd, bool) {
	if t.selected >= len(t.fits) {
		return nil, true
	}
	write := t.fits[t.selected].Write
	if write == nil {
		t.says = "Type the limit first, COUNT/DURATION, as in 10/20s; a bucket's capacity stands behind it, as in 10/20s burst 30."
		return nil, true
	}
	pattern := t.group.Pattern
	return func() tea.Msg {
		taught, err := write()
		return taughtMsg{pattern: pattern, taught: taught, err: err}
	}, true
}

// taught shows the result of writing a rule, or of taking it back.
func (s *Session) taught(msg taughtMsg) {
	name := FullName(msg.pattern, s.Options.Mask)
	switch {
	case msg.err != nil:
		s.Shell.Warn(safetext.Sentence(msg.err.Error()))
		return
	case msg.undone:
		s.untaught = nil
		s.Shell.Say("The rule is taken back, and the file is as it was before.")
	case msg.taught.Where == "":
		s.Shell.Say("A rule for " + name + " holds until the program ends: there is no folder for a configuration file.")
	default:
		s.Shell.Say("A rule for " + name + " is in " + safetext.Clean(msg.taught.Where) + ": z takes it back.")
	}
	if !msg.undone {
		s.untaught = msg.taught.Undo
	}
	s.openGroups()
}

// untell takes the rule back that was written last.
func (s *Session) untell() tea.Cmd {
	undo := s.untaught
	if undo == nil {
		return nil
	}
	return func() tea.Msg { return taughtMsg{undone: true, err: undo()} }
}

// Modal returns true: the overlay takes all keys.
func (t *teaching) Modal() bool { return true }

// Paint draws the limit, the readings, with figures of the selected one, and its rule.
func (t *teaching) Paint(p *widget.Canvas, _ cell.Rect) {
	width := min(p.Buffer.W-4, 110)
	var lines []widget.Span
	say := func(text string, st widget.Span) { lines = append(lines, widget.Styled(text, st.Style)) }
	plain, dim, title := widget.Styled("", p.Look.Text), widget.Styled("", p.Look.Dim), widget.Styled("", p.Look.Title)
	wrapped := func(text string, st widget.Span) {
		for _, l := range format.Wrap(safetext.Clean(text), width-4) {
			say(l, st)
		}
	}
	for i := range t.fits {
		f := &t.fits[i]
		if i != t.selected {
			say("  "+f.As, plain)
			continue
		}
		say(p.Look.SelMark+" "+f.As, title)
		for _, k := range f.Figures {
			key := safetext.Shorten(k.Key, 22, safetext.Ellipsis)
			say(fmt.Sprintf("    %s  %s  %s", pad(key, 22), pad(safetext.Clip(k.Shape, 32, safetext.Ellipsis), 32), k.Says), dim)
		}
	}
	if len(t.fits) > 0 {
		f := &t.fits[t.selected]
		say("", plain)
		if f.Note != "" {
			wrapped("It "+f.Note+".", dim)
		}
		wrapped("- "+f.Rule, plain)
	}
	if t.says != "" {
		say("", plain)
		wrapped(t.says, widget.Styled("", p.Look.Near))
	}
	name := safetext.Shorten(FullName(t.group.Pattern, t.s.Options.Mask), width/2, safetext.Ellipsis)
	in := p.Overlay(width, len(lines)+5, "what "+name+" are",
		"↑↓ chooses · enter writes the rule · esc goes back")
	t.input.SetWidth(in.W - 10)
	p.Buffer.Place(cell.Rect{X: in.X, Y: in.Y, W: in.W, H: 1}, t.input.View())
	for i, l := range lines {
		if y := in.Y + 2 + i; y < in.Y+in.H {
			p.Buffer.Text(in.X, y, in.X+in.W, l.Text, l.Style.On(p.Look.Raised))
		}
	}
}
