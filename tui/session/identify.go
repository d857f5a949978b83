package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/identify"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// groups are the limiters on the present board by library and pattern, and what a person says the likely ones are.
type groups struct {
	app      *shell.App
	live     func() *model.Board
	library  func(name string) (identify.Library, bool) // describes one by its name; nil for none
	find     Teach                                      // nil if no rule can be made here
	mask     bool
	untaught func() error    // takes back the rule that was written last; nil for none
	told     map[string]bool // patterns for which rules were written since the last one was taken back
}

// open lists the limiters on the present board by library and pattern, but for the likely ones of patterns that were told, with
// the evidence for the selected group and the terms that are missing.
func (s *groups) open() tea.Cmd {
	var readings []model.Reading
	for _, k := range s.live().Keys() {
		if !k.Gone && !(s.told[k.Reading.Pattern] && k.Reading.Target.Evidence == model.Likely) {
			readings = append(readings, k.Reading)
		}
	}
	libraries := s.library
	if libraries == nil {
		libraries = func(string) (identify.Library, bool) { return identify.Library{}, false }
	}
	found := identify.Of(readings, s.live().Sweep, libraries)
	found.Candidates = slices.DeleteFunc(found.Candidates, func(g identify.Group) bool { return s.told[g.Pattern] })
	var choices []shell.Choice
	for _, g := range found.Groups {
		choices = append(choices, s.groupChoice(&g, g.Evidence.String()))
	}
	for _, g := range found.Candidates {
		choices = append(choices, s.groupChoice(&g, "has the shape of one"))
	}
	if len(choices) == 0 {
		return s.app.Say("No limiter was found: name your own keys with --watch 'rl:*'.")
	}
	title := format.Plural(len(choices), "kind") + " of limiters: enter says what a likely one is"
	if s.untaught != nil {
		choices = append(choices, shell.Choice{Name: "take the last rule back", Aside: "z", Keys: []string{"z"}, Last: true})
	}
	p := s.app.NewPicker(title, choices)
	p.Chosen = func(c shell.Choice) tea.Cmd {
		if g, ok := c.Value.(identify.Group); ok {
			return s.teach(g)
		}
		return s.untell()
	}
	if len(s.told) > 0 { // the next one that is to be told
		p.Select(func(c shell.Choice) bool { g, ok := c.Value.(identify.Group); return ok && g.Evidence == model.Likely })
	}
	return s.app.Open(p)
}

// groupChoice returns a group as a line of the list; as is what speaks for it where no library does.
func (s *groups) groupChoice(g *identify.Group, as string) shell.Choice {
	const longest = 44
	return shell.Choice{Name: safetext.Shorten(FullName(g.Pattern, s.mask), longest, safetext.Ellipsis),
		What: format.Plural(g.Keys, "key") + ", " + cmp.Or(g.Library, as), Aside: limitOf(g), Detail: s.about(g), Value: *g}
}

// teach opens what a group can be.
func (s *groups) teach(g identify.Group) tea.Cmd {
	switch {
	case g.Evidence != model.Likely: // the list stays, so that what is typed next reaches no screen
		s.open()
		return s.app.Say("These are limiters already: nothing is to be said of them but a limit, with ratescope identify --write.")
	case s.find == nil:
		return s.app.Warn("What is shown here takes no rules: a recording, and the embedded Redis, are as they are.")
	}
	look := s.app.Canvas.Look
	t := &teaching{s: s, group: g, says: "Reading some of its keys…", input: widget.NewInput(look, "limit  ", look.Raised)}
	t.input.Placeholder = "COUNT/DURATION, as in 10/20s"
	s.app.Open(t)
	return t.ask("")
}

// pad appends blanks to a text up to a number of columns.
func pad(text string, cells int) string {
	return text + strings.Repeat(" ", max(cells-safetext.Width(text), 0))
}

// limitOf formats the limit of a group; an unknown part is a dash.
func limitOf(g *identify.Group) string {
	window := collect.If(g.Window > 0, format.Length(g.Window), "–")
	switch {
	case g.Varies:
		return "its own each"
	case g.LimitFrom == model.NoLimit:
		return "–/" + window
	case g.LimitFrom == model.LimitInferred:
		return fmt.Sprintf("~%d/%s", g.Limit.Count, window)
	}
	return fmt.Sprintf("%d/%s", g.Limit.Count, window)
}

// about returns the sentences about a group, one a line.
func (s *groups) about(one *identify.Group) string {
	var lines []string
	say := func(what, text string) {
		if text != "" {
			lines = append(lines, what+": "+safetext.Clean(text))
		}
	}
	say("evidence", one.Evidence.String()+": "+cmp.Or(strings.Join(one.Why, "; "), "a person named the keys"))
	if one.Algorithm != limiter.Unknown {
		say("algorithm", one.Algorithm.String())
	}
	if one.LimitFrom != model.NoLimit {
		say("limit from", one.LimitFrom.String())
	}
	say("not recorded", strings.Join(one.NotRecorded, "; "))
	say("not yet known", strings.Join(one.Unsettled, "; "))
	if one.Missing() && one.Evidence != model.Likely { // of a likely one, what a person says it is makes the rule
		say("rule to add", s.rule(one))
	}
	return strings.Join(lines, "\n")
}

// rule returns the configuration rule that adds the missing terms of a group.
func (s *groups) rule(one *identify.Group) string {
	words := []string{fmt.Sprintf("match: %q", FullName(one.Pattern, s.mask))}
	if one.Library != "" {
		words = append(words, "library: "+one.Library)
	}
	if one.Algorithm != limiter.Unknown {
		words = append(words, "algorithm: "+one.Algorithm.String())
	}
	window := collect.If(one.Window > 0, format.Length(one.Window), "DURATION")
	return "{" + strings.Join(append(words, "limit: COUNT/"+window), ", ") + "}"
}

// Teach finds the readings that fit a group of likely limiters under a limit, which may be "".
type Teach func(ctx context.Context, g identify.Group, limit string) ([]identify.Fit, error)

// teaching is the overlay in which a person says what a group of likely limiters is: one of the readings that fit, with
// what each gives for some keys now, and the limit. It writes the rule.
type teaching struct {
	s        *groups
	group    identify.Group
	input    textinput.Model
	asked    string // the limit that the readings are asked with
	held     string // the limit with which fits were read
	waits    bool   // for the readings under the limit, so that their rule is written
	fits     []identify.Fit
	selected int    // -1 none
	says     string // why there is nothing to choose from, or what is wrong
}

// readingAgain is said while the readings under another limit are waited for, and unread is the limit of none.
const readingAgain, unread = "Reading some of its keys under this limit…", "?"

// ask asks for the readings under a limit.
func (t *teaching) ask(limit string) tea.Cmd {
	t.asked = limit
	ctx := t.s.app.Context()
	return func() tea.Msg {
		fits, err := t.s.find(ctx, t.group, limit)
		return shell.Then(func() tea.Cmd { return t.take(limit, fits, err) })
	}
}

// take takes in the readings, unless a later limit was asked with, and writes the rule that waits for them.
func (t *teaching) take(limit string, fits []identify.Fit, err error) (cmd tea.Cmd) {
	t.s.app.Redraw()
	if limit != t.asked {
		return nil
	}
	switch t.held = limit; {
	case err != nil: // they are read again, since the keys of some limiters live for seconds
		t.fits, t.says, t.held = nil, safetext.Sentence(err.Error()), unread
		if again := t.ask(limit); t.s.app.Over == t {
			cmd = tea.Tick(time.Second, func(time.Time) tea.Msg { return again() })
		}
		return cmd
	case len(fits) == 0:
		t.says = "No reading fits what its keys hold: a rule with name says where the amount and the time stand, see docs/configuration.md."
	default:
		if t.says = ""; t.fits == nil && len(fits) > 1 && fits[0].Unsure != "" && fits[0].Unsure == fits[1].Unsure {
			t.selected = -1
		}
		if t.fits, t.selected = fits, min(t.selected, len(fits)-1); t.waits {
			cmd, _ = t.write()
		}
	}
	t.waits = false
	return cmd
}

// Update chooses a reading, takes the limit, and writes the rule.
func (t *teaching) Update(msg tea.Msg) (tea.Cmd, bool) {
	k, pressed := msg.(tea.KeyPressMsg)
	if pressed {
		switch k.String() {
		case "esc":
			return t.s.open(), true
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
	t.says, t.waits = "", false
	first, _, _ := strings.Cut(text, " ")
	if _, err := limiter.ParseLimit(first); err != nil && !strings.HasSuffix(first, "month") {
		text = "" // not yet one
	}
	if text == t.asked {
		return cmd, true
	}
	t.says = readingAgain
	return tea.Batch(cmd, t.ask(text)), true
}

// write writes the rule of the selected reading.
func (t *teaching) write() (tea.Cmd, bool) {
	if t.held != t.asked {
		t.waits, t.says = true, readingAgain
		return nil, true
	}
	switch {
	case t.selected >= len(t.fits):
		return nil, true
	case t.selected < 0:
		t.says = "Choose one of them first, with the arrows."
		return nil, true
	}
	write := t.fits[t.selected].Write
	if write == nil {
		t.says = "Type the limit first, COUNT/DURATION, as in 10/20s; a bucket's capacity stands behind it, as in 10/20s burst 30."
		return nil, true
	}
	return func() tea.Msg {
		taught, err := write()
		return shell.Then(func() tea.Cmd { return t.taught(taught, err) })
	}, true
}

// taught shows the result of writing a rule.
func (t *teaching) taught(taught identify.Taught, err error) tea.Cmd {
	s, pattern := t.s, t.group.Pattern
	if err != nil {
		return s.app.Warn(safetext.Sentence(err.Error()))
	}
	s.untaught, s.told[pattern] = taught.Undo, true
	s.open()
	rule := "A rule for " + FullName(pattern, s.mask)
	if taught.Where == "" {
		return s.app.Say(rule + " holds until the program ends: there is no folder for a configuration file.")
	}
	return s.app.Say(rule + " is in " + safetext.Clean(taught.Where) + ": z takes it back here, W z later.")
}

// untell takes the rule back that was written last.
func (s *groups) untell() tea.Cmd {
	undo := s.untaught
	if undo == nil {
		return nil
	}
	return func() tea.Msg {
		err := undo()
		return shell.Then(func() tea.Cmd {
			if err != nil {
				return s.app.Warn(safetext.Sentence(err.Error()))
			}
			s.untaught = nil
			clear(s.told)
			s.open()
			return s.app.Say("The rule is taken back, and the file is as it was before.")
		})
	}
}

// figuresIn returns the figures as lines of at most so many columns. What they say goes before the shapes.
func figuresIn(list []identify.Figures, columns int) []string {
	const key, least = 22, 10
	says := collect.Most(list, func(f identify.Figures) int { return safetext.Width(f.Says) })
	shape := min(columns-key-says-4, 32)
	return collect.Map(list, func(f identify.Figures) string {
		text := pad(safetext.Shorten(f.Key, key, safetext.Ellipsis), key) + "  "
		if shape >= least {
			text += pad(safetext.Clip(f.Shape, shape, safetext.Ellipsis), shape) + "  "
		}
		return safetext.Clip(text+f.Says, columns, safetext.Ellipsis)
	})
}

// Paint draws the limit, the readings, with figures of the selected one, and its rule.
func (t *teaching) Paint(p *widget.Canvas, _ cell.Rect) {
	width := min(p.Buffer.W-4, 110)
	var lines []widget.Span
	say := func(text string, st themes.Style) { lines = append(lines, widget.Styled(text, st)) }
	wrapped := func(text string, st themes.Style) {
		for _, l := range format.Wrap(safetext.Clean(text), width-4) {
			say(l, st)
		}
	}
	if len(t.fits) > 0 && t.selected < 0 {
		wrapped("Not settled: "+t.fits[0].Unsure+".", p.Look.Near)
	} else if len(t.fits) > 0 {
		f := &t.fits[t.selected]
		say("", p.Look.Text)
		if f.Note != "" {
			wrapped("It "+f.Note+".", p.Look.Dim)
		}
		wrapped("- "+f.Rule, p.Look.Text)
	}
	if t.says != "" {
		say("", p.Look.Text)
		wrapped(t.says, p.Look.Near)
	}
	below := lines
	lines = nil
	for i := range t.fits {
		f := &t.fits[i]
		if i != t.selected {
			text := pad("  "+f.As, width/2-2) // and what it gives for the first key, so that they can be compared
			for _, first := range f.Figures[:min(len(f.Figures), 1)] {
				text += "  " + first.Says
			}
			say(safetext.Clip(text, width-4, safetext.Ellipsis), p.Look.Text)
			continue
		}
		say(p.Look.SelMark+" "+f.As, p.Look.Title)
		room := max(p.Buffer.H-8-len(t.fits)-len(below), 1) // of which every choice has its line
		for _, text := range figuresIn(f.Figures[:min(room, len(f.Figures))], width-8) {
			say("    "+text, p.Look.Dim)
		}
	}
	lines = append(lines, below...)
	name := safetext.Shorten(FullName(t.group.Pattern, t.s.mask), width/2, safetext.Ellipsis)
	in := p.Overlay(width, len(lines)+5, "what "+name+" are", "↑↓ chooses · enter writes the rule · esc goes back")
	t.input.SetWidth(in.W - 10)
	p.Buffer.Place(cell.Rect{X: in.X, Y: in.Y, W: in.W, H: 1}, t.input.View())
	for i, l := range lines {
		if y := in.Y + 2 + i; y < in.Y+in.H {
			p.Buffer.Text(in.X, y, in.X+in.W, l.Text, l.Style.On(p.Look.Raised))
		}
	}
}
