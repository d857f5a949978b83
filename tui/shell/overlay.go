package shell

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// Overlay lies over a screen and has the keyboard while it is open.
type Overlay interface {
	// Update handles a message; with open false the overlay closes.
	Update(msg tea.Msg) (cmd tea.Cmd, open bool)
	// Paint draws it; footer is the last row of the screen.
	Paint(p *widget.Canvas, footer cell.Rect)
	// Modal says whether a click beside it closes it instead of reaching the screen.
	Modal() bool
}

// Prompt is a line of text in the footer.
type Prompt struct {
	input   textinput.Model
	note    string
	changed func(text string)
	done    func(text string, kept bool) tea.Cmd
	keys    func(msg tea.KeyPressMsg) bool
	wrong   string // what is wrong with the text; "" nothing
}

// NewPrompt returns a prompt with a text in it. changed has the text after every change, done
// once at the end: with kept false it was given up. keys takes the keys that are not for the
// text, and says whether it did. All three may be nil.
func (s *surface) NewPrompt(sign, text, note string, changed func(string), done func(string, bool) tea.Cmd,
	keys func(tea.KeyPressMsg) bool) *Prompt {
	p := &Prompt{input: widget.NewInput(s.Canvas.Look, sign, 0), note: note, changed: changed, done: done, keys: keys}
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

// Complain says what is wrong with the text in place of the note, until it is told "".
func (p *Prompt) Complain(what string) { p.wrong = what }

// Update edits the text.
func (p *Prompt) Update(msg tea.Msg) (tea.Cmd, bool) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch name := k.String(); {
		case name == "enter" || name == "esc":
			if p.done != nil {
				return p.done(p.input.Value(), name == "enter"), false
			}
			return nil, false
		case p.keys != nil && p.keys(k):
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

// Modal is false: rows can be clicked while a filter is typed.
func (p *Prompt) Modal() bool { return false }

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
	var lines []string
	for _, l := range q.lines {
		lines = append(lines, format.Wrap(l, min(width, p.Buffer.W-6)-4)...)
	}
	in := p.Overlay(width, len(lines)+4, q.title, "")
	for i, l := range lines {
		p.Buffer.Text(in.X, in.Y+i, in.X+in.W, l, p.Look.Text.On(p.Look.Raised))
	}
	y := in.Y + len(lines) + 1
	x := p.Button(in.X, y, in.X+in.W, "enter", q.yes, func(int) tea.Cmd { return q.do() })
	p.Button(x, y, in.X+in.W, "esc", "leave it", func(int) tea.Cmd { return nil })
}

// Modal is true.
func (q *Question) Modal() bool { return true }
