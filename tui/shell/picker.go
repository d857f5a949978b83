package shell

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/bubbles/v2/list"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
	"ratescope/tui/cell"
	"ratescope/tui/chart"
	"ratescope/tui/widget"
)

// Choice is a line of a Picker.
type Choice struct {
	Name   string // matched first
	What   string // words of it are matched where the name does not
	Aside  string // at the right end: a key, a tone
	Last   bool   // stands below all others unless its whole name is typed, and is not done by a part of it
	Dim    bool   // it is not possible now
	Weight int    // among equals the greater goes first
	Sample string // rendered, before the aside; "" none
	Value  any

	Synonyms string // words, separated by blanks, that are matched as the name is

	Group  string   // heading at the left, shown at the first of its kind; "" none
	Keys   []string // any of which chooses it while nothing is typed
	Detail string   // what stands below the list while it is selected: lines, as long as they like
}

// FilterValue is what the list filters: the name, and the words about it.
func (c Choice) FilterValue() string { return c.Name + "\x00" + c.What }

// Picker is a list to choose from, filtered by what is typed.
type Picker struct {
	Chosen func(Choice) tea.Cmd
	Moved  func(Choice) // the selection moved; may be nil
	Cancel func()       // closed without a choice; may be nil

	title     string
	list      list.Model
	input     textinput.Model
	choices   []Choice
	width     int
	rows      cell.Rect // where the list was laid out
	at        *place    // beside which cell; nil in the upper middle
	navigated bool      // a person has moved the selection: what is selected is meant
	below     int       // rows for the longest detail, with a blank one above; 0 for none
}

// Choose opens a picker of choices, which does what chosen returns.
func (s *surface) Choose(title string, choices []Choice, chosen func(Choice) tea.Cmd) tea.Cmd {
	p := s.NewPicker(title, choices)
	p.Chosen = chosen
	return s.Open(p)
}

// NewPicker returns a picker of the choices in a look.
func (s *surface) NewPicker(title string, choices []Choice) *Picker {
	p := &Picker{title: title, choices: choices, input: widget.NewInput(s.Canvas.Look, "› ", s.Canvas.Look.Raised)}
	items := make([]list.Item, len(choices))
	names := make([]string, len(choices))
	name, what, group := 8, 20, 0
	for i, c := range choices {
		items[i], names[i] = c, c.Name
		name, what = max(name, safetext.Width(c.Name)), max(what, safetext.Width(c.What))
		group = max(group, safetext.Width(c.Group))
		if c.Detail != "" {
			what = max(what, 56)
		}
	}
	p.width = min(group+name+what+20, max(s.Canvas.Buffer.W-6, 20))
	p.list = list.New(items, delegate{s.Canvas.Look, group, name, p.width - 4}, p.width-4, 1)
	for _, c := range choices {
		if c.Detail != "" {
			p.below = max(p.below, len(p.detail(c))+1)
		}
	}
	p.list.SetShowTitle(false)
	p.list.SetShowFilter(false)
	p.list.SetShowStatusBar(false)
	p.list.SetShowPagination(false)
	p.list.SetShowHelp(false)
	p.list.SetStatusBarItemName("match", "matches") // what it says where nothing fits
	p.list.Filter = p.rank
	p.list.Styles.NoItems = widget.Lip(s.Canvas.Look.Dim.On(s.Canvas.Look.Raised))
	p.input.ShowSuggestions = true
	p.input.SetSuggestions(names)
	p.resize(s.Canvas.Buffer.H)
	p.filter("")
	return p
}

// place is a cell of the screen.
type place struct{ x, y int }

// Beside puts the picker beside a cell, as far as it fits there.
func (p *Picker) Beside(x, y int) { p.at = &place{x, y} }

// Select moves to the first choice of which is holds.
func (p *Picker) Select(is func(Choice) bool) {
	if i := slices.IndexFunc(p.choices, is); i >= 0 {
		p.list.Select(i)
	}
}

// resize gives the list as many rows as its choices need and a screen of that height has.
func (p *Picker) resize(height int) {
	const most = 24
	p.list.SetSize(p.width-4, max(min(len(p.choices), most, height-8-p.below), 1))
}

// detail returns the lines about a choice.
func (p *Picker) detail(c Choice) (lines []string) {
	for paragraph := range strings.SplitSeq(c.Detail, "\n") {
		lines = append(lines, format.Wrap(paragraph, p.width-4)...)
	}
	return lines
}

func (p *Picker) filter(text string) {
	p.list.SetFilterText(text)
	p.navigated = false
	if text == "" {
		p.list.ResetFilter()
	}
}

// Hits returns the choices that what is typed leaves, the best first.
func (p *Picker) Hits() []Choice {
	return collect.Map(p.list.VisibleItems(), func(it list.Item) Choice { return it.(Choice) })
}

// rank orders the choices: by how well what is typed fits the name, then by the words of
// what it does. Letters that are scattered over a name match nothing.
func (p *Picker) rank(pattern string, targets []string) []list.Rank {
	type hit struct {
		list.Rank
		class, weight int
	}
	var hits []hit
	for i, target := range targets {
		name, what, _ := strings.Cut(target, "\x00")
		m, marked := widget.Rank(name, pattern)
		class := 10 * int(m)
		for word := range strings.FieldsSeq(p.choices[i].Synonyms) {
			if also, _ := widget.Rank(word, pattern); also > m && also > widget.InsideMatch {
				m, marked, class = also, nil, 10*int(also)-1 // its own name goes before
			}
		}
		if m <= widget.InsideMatch {
			class, marked = 0, nil
			if m, at := widget.Rank(what, pattern); m >= widget.WordMatch {
				class = int(m)
				for _, j := range at {
					marked = append(marked, len([]rune(name))+1+j)
				}
			}
		}
		if class == 0 {
			continue
		}
		if c := &p.choices[i]; c.Last && !strings.EqualFold(name, pattern) {
			class -= 1000
		} else if c.Dim {
			class -= 5
		}
		hits = append(hits, hit{list.Rank{Index: i, MatchedIndexes: marked}, class, p.choices[i].Weight})
	}
	slices.SortStableFunc(hits, func(x, y hit) int { return cmp.Or(y.class-x.class, y.weight-x.weight) })
	return collect.Map(hits, func(h hit) list.Rank { return h.Rank })
}

// Update handles a key or a paste.
func (p *Picker) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		p.move(Wheel(msg) > 0)
		return nil, true
	case tea.KeyPressMsg:
		switch msg.String() {
		case "esc":
			if p.Cancel != nil {
				p.Cancel()
			}
			return nil, false
		case "enter":
			return p.choose()
		case "up", "shift+tab", "ctrl+p":
			p.move(false)
			return nil, true
		case "down", "ctrl+n":
			p.move(true)
			return nil, true
		case "pgdown":
			p.list.NextPage()
			return nil, true
		case "pgup":
			p.list.PrevPage()
			return nil, true
		case "home", "end":
			if p.input.Value() == "" { // else the cursor of the text goes there
				if p.list.GoToStart(); msg.String() == "end" {
					p.list.GoToEnd()
				}
				p.navigated = true
				p.look()
				return nil, true
			}
		case "tab":
			p.complete()
			return nil, true
		}
		if i := slices.IndexFunc(p.choices, func(c Choice) bool { return slices.Contains(c.Keys, msg.String()) }); i >= 0 &&
			p.input.Value() == "" {
			return p.Chosen(p.choices[i]), false
		}
	case tea.PasteMsg:
	default:
		return nil, true
	}
	before := p.input.Value()
	var cmd tea.Cmd
	p.input, cmd = p.input.Update(msg)
	if p.input.Value() != before {
		p.filter(p.input.Value())
		p.look()
	}
	return cmd, true
}

func (p *Picker) move(down bool) {
	if down {
		p.list.CursorDown()
	} else {
		p.list.CursorUp()
	}
	p.navigated = true
	p.look()
}

func (p *Picker) look() {
	if c, ok := p.list.SelectedItem().(Choice); ok && p.Moved != nil {
		p.Moved(c)
	}
}

// complete types the rest of the selected name.
func (p *Picker) complete() {
	if c, ok := p.list.SelectedItem().(Choice); ok {
		p.input.SetValue(c.Name)
		p.input.CursorEnd()
		p.filter(c.Name)
	}
}

// choose does what is selected. What is last in order is only done by its whole name or
// when a person has moved to it; else its name is completed.
func (p *Picker) choose() (tea.Cmd, bool) {
	c, ok := p.list.SelectedItem().(Choice)
	switch {
	case !ok:
		return nil, true
	case c.Last && !p.navigated && !strings.EqualFold(p.input.Value(), c.Name):
		p.complete()
		return nil, true
	}
	return p.Chosen(c), false
}

// Paint draws the picker over the upper middle of the screen.
func (p *Picker) Paint(c *widget.Canvas, _ cell.Rect) {
	p.resize(c.Buffer.H)
	h := min(p.list.Height()+3+p.below, c.Buffer.H-1)
	r := cell.Rect{W: p.width, H: h}
	r.X, r.Y = (c.Buffer.W-r.W)/2, max((c.Buffer.H-h)/3, 0)
	if p.at != nil {
		r.X, r.Y = max(min(p.at.x+1, c.Buffer.W-r.W), 0), max(min(p.at.y+1, c.Buffer.H-1-h), 0)
	}
	foot := ""
	if n := len(p.list.VisibleItems()); n > p.list.Height() {
		foot = fmt.Sprintf("%d of %d", p.list.Index()+1, n)
	}
	in := c.Panel(r, p.title, foot)
	p.input.SetWidth(in.W - 3)
	c.Buffer.Place(cell.Rect{X: in.X, Y: in.Y, W: in.W, H: 1}, p.input.View())
	_, rest := in.Top(1)
	p.rows, rest = rest.Top(p.list.Height())
	c.Buffer.Place(p.rows, p.list.View())
	if one, ok := p.list.SelectedItem().(Choice); ok {
		_, rest = rest.Top(1)
		c.Lines(rest, c.Look.Text.On(c.Look.Raised), p.detail(one)...)
	}
	first := p.list.Paginator.Page * p.list.Paginator.PerPage
	for i := range p.list.Paginator.ItemsOnPage(len(p.list.VisibleItems())) {
		c.OnClick(cell.Rect{X: in.X, Y: p.rows.Y + i, W: in.W, H: 1}, func(int) tea.Cmd {
			p.list.Select(first + i)
			p.navigated = true
			return func() tea.Msg { return tea.KeyPressMsg{Code: tea.KeyEnter} }
		})
	}
}

// delegate renders a choice as one line.
type delegate struct {
	look               chart.Look
	group, name, width int // cells of the heading, 0 for none, of the name, and of all
}

func (d delegate) Height() int                         { return 1 }
func (d delegate) Spacing() int                        { return 0 }
func (d delegate) Update(tea.Msg, *list.Model) tea.Cmd { return nil }

// Render writes the name, what it does and the aside, with the matched letters marked.
func (d delegate) Render(w io.Writer, m list.Model, index int, item list.Item) {
	c := item.(Choice)
	l, ground, lit, sign := &d.look, d.look.Raised, d.look.Text, "  "
	if index == m.Index() {
		ground, lit, sign = l.Selected, l.Title, l.SelMark+" "
	}
	text, dim, mark := widget.Lip(lit.On(ground)), widget.Lip(l.Dim.On(ground)), widget.Lip(l.Accent.On(ground)).Bold(true)
	if c.Dim {
		text = dim
	}
	var marked []int
	if m.FilterState() != list.Unfiltered {
		marked = m.MatchesForItem(index)
	}
	aside := " " + c.Aside
	head := ""
	if d.group > 0 {
		if all := m.VisibleItems(); index == 0 || all[index-1].(Choice).Group != c.Group {
			head = c.Group
		}
		head += strings.Repeat(" ", max(d.group-safetext.Width(head), 0)+1)
	}
	room := max(d.width-2-len(head)-d.name-1-safetext.Width(aside)-lipgloss.Width(c.Sample)-1, 0)
	name, what := c.Name, safetext.Clip(c.What, room, safetext.Ellipsis)
	line := mark.Render(sign) + dim.Render(head) + lipgloss.StyleRunes(name, marked, mark, text) +
		text.Render(strings.Repeat(" ", max(d.name-safetext.Width(name), 0)+1))
	length := len([]rune(name)) + 1
	var at []int
	for _, i := range marked {
		if i >= length && i-length < len([]rune(what)) {
			at = append(at, i-length)
		}
	}
	line += lipgloss.StyleRunes(what, at, mark, dim) + dim.Render(strings.Repeat(" ", max(room-safetext.Width(what), 0)+1))
	_, _ = io.WriteString(w, line+c.Sample+dim.Render(aside))
}
