// Package widget is what the screens of the dashboard and of the lab are put together from:
// a sheet with its look and with the parts of it that answer a click, frames with titles,
// rows of styled text, overlays, and the help.
package widget

import (
	"fmt"
	"slices"
	"time"

	"charm.land/bubbles/v2/spinner"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
)

// Canvas is what a screen is painted on. The zero Canvas is empty and has no look; see
// Dress. Not safe for concurrent use.
type Canvas struct {
	Buffer cell.Buffer
	Look   chart.Look
	Framed bool // a box around every pane; else one rule above each

	hitBoxes []hitBox  // what can be clicked, as last painted
	tips     []tip     // what says what it shows
	kept     cell.Rect // what panels leave in sight; see Keep
}

// hitBox is a part of the screen that answers a click; it is told how far from its left
// edge the click was, in cells.
type hitBox struct {
	r    cell.Rect
	do   func(x int) tea.Cmd
	over bool // it answers the mouse over it too
}

// Span is a text in one style.
type Span struct {
	Text  string
	Style themes.Style
}

// Styled makes a Piece.
func Styled(text string, style themes.Style) Span { return Span{text, style} }

// SetTheme puts a theme on, with shapes beyond ASCII or without.
func (p *Canvas) SetTheme(t *themes.Theme, ascii bool) {
	p.Look = chart.Look{Glyphs: chart.Unicode, Theme: t}
	if p.Buffer.ASCII = ascii; ascii {
		p.Look.Glyphs = chart.Ascii
	}
}

// Begin blanks the sheet and forgets what could be clicked.
func (p *Canvas) Begin() {
	p.hitBoxes, p.tips, p.kept = p.hitBoxes[:0], p.tips[:0], cell.Rect{}
	p.Buffer.Clear(p.Buffer.Bounds())
}

// Spans writes pieces of text one after the other, up to the column before end, and
// returns the column after them.
func (p *Canvas) Spans(x, y, end int, spans ...Span) int {
	for _, s := range spans {
		x = p.Buffer.Text(x, y, end, s.Text, s.Style)
	}
	return x
}

// SpansFit writes pieces as Spans does; where they do not fit, the last one that has room ends
// with an ellipsis, so that a text that was cut is not read as a whole one.
func (p *Canvas) SpansFit(x, y, end int, spans ...Span) int {
	for i, s := range spans {
		whole := s.Text
		if i+1 < len(spans) && safetext.Width(whole) == end-x { // what follows is cut off
			whole += " "
		}
		text := safetext.Clip(whole, max(end-x, 0), safetext.Ellipsis)
		x = p.Buffer.Text(x, y, end, text, s.Style)
		if text != s.Text {
			break
		}
	}
	return x
}

// Lines writes lines below each other, as many as fit; one that is too wide ends in an ellipsis.
func (p *Canvas) Lines(r cell.Rect, style themes.Style, lines ...string) {
	for i, line := range lines[:min(len(lines), max(r.H, 0))] {
		p.Buffer.Text(r.X, r.Y+i, r.X+r.W, safetext.Clip(line, r.W, safetext.Ellipsis), style)
	}
}

// Paragraphs writes texts broken into lines, a blank one between two, as much as fits, and returns the row after.
func (p *Canvas) Paragraphs(r cell.Rect, style themes.Style, texts ...string) int {
	var lines []string
	for i, text := range texts {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, format.Wrap(safetext.Clean(text), r.W)...)
	}
	p.Lines(r, style, lines...)
	return r.Y + len(lines)
}

// Flow writes sentences beside each other, " · " between two, and begins a new row for one that
// the row has no room for. It returns the row below.
func (p *Canvas) Flow(r cell.Rect, sentences ...[]Span) int {
	x, y := r.X, r.Y
	for _, s := range sentences {
		switch {
		case x == r.X:
		case x+3+Width(s...) <= r.X+r.W:
			x = p.Spans(x, y, r.X+r.W, Styled(" · ", p.Look.Faint))
		default:
			x, y = r.X, y+1
		}
		if y >= r.Y+r.H {
			return y
		}
		x = p.SpansFit(x, y, r.X+r.W, s...)
	}
	return y + 1
}

// Width returns how many columns the pieces take.
func Width(spans ...Span) int {
	return collect.Sum(spans, func(s Span) int { return safetext.Width(s.Text) })
}

// Selectable returns the style of the frame of what may be selected, and the mark before its title, which tells it
// without colours.
func (p *Canvas) Selectable(selected bool) (frame themes.Style, mark string) {
	if selected {
		return p.Look.Accent, p.Look.SelMark
	}
	return p.Look.Border, " "
}

// Section draws what surrounds a pane and returns the room inside: a box with the title
// in its top line, or where the paper is not framed a rule above.
func (p *Canvas) Section(r cell.Rect, focused bool, title ...Span) cell.Rect {
	if r.H == 0 || r.W < 4 {
		return cell.Rect{}
	}
	line, mark := p.Selectable(focused)
	if p.Framed {
		p.Look.Box.Frame(&p.Buffer, r, line)
	} else {
		p.Buffer.Fill(r.X, r.Y, r.W, p.Look.Box.H, line)
	}
	p.Buffer.Text(r.X+1, r.Y, r.X+2, mark, line)
	x := p.SpansFit(r.X+2, r.Y, r.X+r.W-3, title...)
	p.Buffer.Set(x, r.Y, ' ', line)
	return Inside(r, p.Framed)
}

// Inside returns the room inside a section with that rectangle.
func Inside(r cell.Rect, framed bool) cell.Rect {
	switch {
	case r.H == 0 || r.W < 4:
		return cell.Rect{}
	case framed:
		return cell.Rect{X: r.X + 2, Y: r.Y + 1, W: max(r.W-4, 0), H: max(r.H-2, 0)}
	}
	return cell.Rect{X: r.X + 1, Y: r.Y + 1, W: max(r.W-2, 0), H: r.H - 1}
}

// Aside writes pieces at the right end of the top line of a section with that rectangle,
// whose title takes so many columns; the last ones that do not fit are left out.
func (p *Canvas) Aside(r cell.Rect, title int, spans ...Span) {
	room := r.W - title - 8
	for len(spans) > 0 && Width(spans...) > room {
		spans = spans[:len(spans)-1]
	}
	if w := Width(spans...); w > 0 && r.H > 0 {
		end := r.X + r.W - 2
		p.Buffer.Set(end-w-2, r.Y, ' ', p.Look.Border)
		p.Spans(end-w-1, r.Y, end, spans...)
		p.Buffer.Set(end-1, r.Y, ' ', p.Look.Border)
	}
}

// TitleRoom is how many columns a section of that width has for its title.
func TitleRoom(width int) int { return max(width-5, 0) }

// Keep says where the row stands that a person has selected: panels leave it in sight.
func (p *Canvas) Keep(row cell.Rect) { p.kept = row }

// beside returns where a panel hides no row that is kept in sight: below or above it, else at the bottom
// of the sheet with the row moved above it, if that leaves the header in sight too.
func (p *Canvas) beside(r cell.Rect) cell.Rect {
	const header = 3
	row, bottom := p.kept, p.Buffer.H-1
	switch {
	case row.H == 0 || r.Y >= row.Y+row.H || r.Y+r.H <= row.Y:
	case row.Y+row.H+r.H <= bottom:
		r.Y = row.Y + row.H
	case r.H+header <= row.Y:
		r.Y = row.Y - r.H
	case bottom-r.H-row.H >= header:
		r.Y = bottom - r.H
		p.Buffer.Raise(row.Y, r.Y-row.H, row.H)
	}
	return r
}

// Overlay draws a raised panel over the middle of the sheet, as large as asked for and
// as fits, and returns the room inside.
func (p *Canvas) Overlay(w, h int, title, foot string) cell.Rect {
	r := cell.Rect{W: max(min(w, p.Buffer.W-2), 0), H: max(min(h, p.Buffer.H-2), 0)}
	r.X, r.Y = (p.Buffer.W-r.W)/2, (p.Buffer.H-r.H)/2
	return p.Panel(r, title, foot)
}

// Panel draws a raised panel into r, or beside it where it would hide what is kept in sight, and returns
// the room inside. A click on it that hits nothing else does nothing.
func (p *Canvas) Panel(r cell.Rect, title, foot string) cell.Rect {
	raised := p.Look.Raised
	r = p.beside(r)
	p.OnClick(r, func(int) tea.Cmd { return nil })
	p.Buffer.Clear(r)
	p.Buffer.Tint(r, raised)
	p.Look.Box.Frame(&p.Buffer, r, p.Look.Accent.On(raised))
	title = safetext.Clip(title, max(r.W-6, 0), safetext.Ellipsis)
	p.Buffer.Text(r.X+2, r.Y, r.X+r.W-2, " "+title+" ", p.Look.Title.On(raised))
	if foot != "" {
		p.Buffer.Right(r.X+2, r.Y+r.H-1, r.X+r.W-2, " "+foot+" ", p.Look.Dim.On(raised))
	}
	return cell.Rect{X: r.X + 2, Y: r.Y + 1, W: max(r.W-4, 0), H: max(r.H-2, 0)}
}

// TooSmall says, in the first line of a sheet that is smaller than a screen needs, what it
// needs: as much of that as fits without being cut.
func (p *Canvas) TooSmall(name string, w, h int) {
	need := fmt.Sprintf("needs %dx%d", w, h)
	is := fmt.Sprintf("%s, this is %dx%d", need, p.Buffer.W, p.Buffer.H)
	if both := name + " " + is; safetext.Width(both) <= p.Buffer.W {
		p.Spans(0, 0, p.Buffer.W, Styled(name+" ", p.Look.Title), Styled(is, p.Look.Near))
		return
	}
	p.Buffer.Text(0, 0, p.Buffer.W, format.First(p.Buffer.W, is, need), p.Look.Near)
}

// Button draws a key with what it does, which can be clicked, and returns the column
// after it; one that does not fit before end is left out.
func (p *Canvas) Button(x, y, end int, key, label string, do func(int) tea.Cmd) int {
	width := safetext.Width(key) + safetext.Width(label) + 3
	if x+width > end {
		return x
	}
	p.Spans(x, y, end, Styled(" "+key, p.Look.ButtonKey), Styled(" "+label+" ", p.Look.Button))
	p.OnClick(cell.Rect{X: x, Y: y, W: width, H: 1}, do)
	return x + width + 1
}

// OnClick lets a rectangle answer clicks; what is painted later lies on top.
func (p *Canvas) OnClick(r cell.Rect, do func(x int) tea.Cmd) {
	p.hitBoxes = append(p.hitBoxes, hitBox{r, do, false})
}

// OnHover lets a rectangle answer clicks and the mouse over it.
func (p *Canvas) OnHover(r cell.Rect, do func(x int) tea.Cmd) {
	p.hitBoxes = append(p.hitBoxes, hitBox{r, do, true})
}

// Hover does what answers the mouse over it at x, y, and says whether there is anything.
func (p *Canvas) Hover(x, y int) bool {
	for _, z := range slices.Backward(p.hitBoxes) {
		if z.over && z.r.Holds(x, y) {
			z.do(x - z.r.X)
			return true
		}
	}
	return false
}

// Click does what was painted at x, y last, and says whether there was anything.
func (p *Canvas) Click(x, y int) (tea.Cmd, bool) {
	for i := len(p.hitBoxes) - 1; i >= 0; i-- {
		if z := p.hitBoxes[i]; z.r.Holds(x, y) {
			return z.do(x - z.r.X), true
		}
	}
	return nil, false
}

// Lip returns a style as lipgloss has it, for bubbles.
func Lip(s themes.Style) lipgloss.Style {
	st := lipgloss.NewStyle()
	if c := s.Fg.Color(); c != nil {
		st = st.Foreground(c)
	}
	if c := s.Bg.Color(); c != nil {
		st = st.Background(c)
	}
	return st.Bold(s.Attr&themes.Bold != 0).Underline(s.Attr&themes.Underline != 0)
}

// NewInput returns a focused line of text in a look, on a ground. Its cursor does not
// blink, so that nothing is redrawn while nothing changes.
func NewInput(l chart.Look, prompt string, ground themes.Ink) textinput.Model {
	m := textinput.New()
	m.Prompt = prompt
	state := textinput.StyleState{Text: Lip(l.Text.On(ground)), Prompt: Lip(l.Accent.On(ground)), Placeholder: Lip(l.Dim.On(ground)),
		Suggestion: Lip(l.Dim.On(ground))}
	m.SetStyles(textinput.Styles{Focused: state, Blurred: state, Cursor: textinput.CursorStyle{Color: l.Accent.Fg.Color()}})
	m.CharLimit = 256
	m.Focus()
	return m
}

// Waiting returns the frame of a spinner at an instant. The spinner has no ticks of its own: it moves with
// the pictures that come anyway.
func (c *Canvas) Waiting(at time.Time) string {
	s := collect.If(c.Buffer.ASCII, spinner.Line, spinner.MiniDot)
	n := int64(len(s.Frames))
	return s.Frames[(at.UnixMilli()/s.FPS.Milliseconds()%n+n)%n]
}

// Rows shares lines of the screen out among rows: few rows are taller. The zero Rows has rows of no height.
type Rows struct {
	Height int // of a row, in lines
	taller int // how many of the first rows have one line more
}

// Spread returns so many lines shared out among n rows of at most so many lines each. None is left over as long as no row
// is taller than that.
func Spread(lines, n, most int) Rows {
	r := Rows{Height: min(max(lines/max(n, 1), 1), most)}
	if r.Height < most {
		r.taller = max(lines-n*r.Height, 0)
	}
	return r
}

// Line returns the first line of row i.
func (r Rows) Line(i int) int { return i*r.Height + min(i, r.taller) }

// At returns the row of a line.
func (r Rows) At(line int) (i int) {
	for r.Line(i+1) <= line {
		i++
	}
	return i
}

// A toast stays toastLife at most, and longer where it takes longer to read.
const (
	toastLife = 6 * time.Second
	perLetter = 100 * time.Millisecond
)

// Toast is a sentence that lies over the footer for some seconds. The zero Toast
// is empty.
type Toast struct {
	Text  string
	Bad   bool
	until time.Time
}

// Over reports whether the toast's time has passed. Its time begins with the first call.
func (t *Toast) Over(now time.Time) bool {
	if t.Text != "" && t.until.IsZero() {
		t.until = now.Add(max(toastLife, perLetter*time.Duration(safetext.Width(t.Text))))
	}
	return t.Text != "" && now.After(t.until)
}

// lines is the text in at most five lines of a row's width.
func (t *Toast) lines(width int) []string {
	if t.Text == "" || width < 8 {
		return nil
	}
	return format.WrapTo(safetext.Clean(t.Text), width-8, 5)
}

// Rows is how many rows the toast takes of so many columns: 0 where it is empty.
func (t *Toast) Rows(width int) int { return len(t.lines(width)) }

// Paint draws the toast on raised ground over whole rows, from the first of r down.
func (t *Toast) Paint(p *Canvas, r cell.Rect) {
	mark, st := p.Look.OKMark, p.Look.Good
	if t.Bad {
		mark, st = p.Look.OverMark, p.Look.Denied
	}
	lines := t.lines(r.W)
	r.H = len(lines)
	p.Buffer.Clear(r)
	p.Buffer.Tint(r, p.Look.Raised)
	if r.H > 0 {
		p.Buffer.Text(r.X+1, r.Y, r.X+r.W, mark, st.On(p.Look.Raised))
	}
	p.Lines(cell.Rect{X: r.X + 3, Y: r.Y, W: r.W - 4, H: r.H}, p.Look.Text.On(p.Look.Raised), lines...)
}

// tip is a part of the screen that says what it is made of while the mouse rests on it.
type tip struct {
	r   cell.Rect
	say func(x, y int) string
}

// Tip lets a rectangle say in a sentence or two what it shows at a cell of the screen; "" says
// nothing. What is painted later lies on top. It is asked only while the mouse rests there.
func (p *Canvas) Tip(r cell.Rect, say func(x, y int) string) {
	p.tips = append(p.tips, tip{r, say})
}

// TipAt returns what the screen says of the cell x, y; "" nothing.
func (p *Canvas) TipAt(x, y int) string {
	for i := len(p.tips) - 1; i >= 0; i-- {
		if t := p.tips[i]; t.r.Holds(x, y) {
			return t.say(x, y)
		}
	}
	return ""
}

// PaintTip writes a tip beside the cell that it is about, on raised ground: below it, or above
// where that is outside of r. It covers what stands there and moves nothing.
func (p *Canvas) PaintTip(x, y int, text string, r cell.Rect) {
	const widest = 64
	lines := format.Wrap(text, min(widest, r.W-4))
	if text == "" || len(lines) > r.H || r.W < 10 {
		return
	}
	w := collect.Most(lines, safetext.Width)
	at := cell.Rect{X: max(min(x+1, r.X+r.W-w-2), r.X), Y: y + 1, W: w + 2, H: len(lines)}
	if at.Y+at.H > r.Y+r.H {
		at.Y = max(y-at.H, r.Y)
	}
	p.Buffer.Clear(at)
	p.Buffer.Tint(at, p.Look.Raised)
	p.Lines(cell.Rect{X: at.X + 1, Y: at.Y, W: at.W - 1, H: at.H}, p.Look.Text.On(p.Look.Raised), lines...)
}
