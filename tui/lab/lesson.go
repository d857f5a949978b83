package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/shell"
	"ratescope/tui/widget"
)

// textView is the lesson's text with its task below, and where there is room the lanes to
// try it on.
type textView struct {
	plain
	text  viewport.Model
	box   cell.Rect // with its frame
	lanes cell.Rect // below it; empty where there is no room
}

func (v *textView) reset() { v.text.GotoTop() }

func (v *textView) move(s *Screen, by int) {
	if s.presents { // whole lines of large type
		by *= widget.TypeRows
	}
	if by < 0 {
		v.text.ScrollUp(-by)
	} else {
		v.text.ScrollDown(by)
	}
}

// widest is how wide a text may be to be read well.
const widest = 100

func (v *textView) layout(s *Screen, r cell.Rect) {
	width := collect.If(s.presents, r.W, min(r.W, widest))
	lines := v.lines(s, width-4)
	v.box, v.lanes = cell.Rect{X: r.X + (r.W-width)/2, Y: r.Y, W: width, H: r.H}, cell.Rect{}
	if s.app.Canvas.Framed {
		v.box.H = min(len(lines)+4, r.H)
		if below := (cell.Rect{X: r.X, Y: r.Y + v.box.H, W: r.W, H: r.H - v.box.H}); below.H >= 8 {
			v.lanes = below
		} else {
			v.box.H = r.H
		}
	}
	beside, above := 2, 1
	if s.app.Canvas.Framed {
		beside, above = 4, 4
	}
	height := max(v.box.H-above, 0)
	if s.presents && height > widget.TypeRows { // no line of large type is cut
		height -= height % widget.TypeRows
	}
	v.text.SetWidth(width - beside)
	v.text.SetHeight(height)
	v.text.SetContentLines(collect.Map(lines, func(l widget.Span) string { return widget.Lip(l.Style).Render(l.Text) }))
}

func (v *textView) paint(p painter, r cell.Rect) {
	it := p.s.at()
	title := []widget.Span{widget.Styled(safetext.Clean(it.Title), p.c.Look.Title),
		widget.Styled(" · "+limitText(p.s.run.Setup().Limit), p.c.Look.Dim)}
	in := p.c.Section(v.box, true, title...)
	if !v.text.AtBottom() {
		p.c.Aside(v.box, widget.Width(title...), widget.Styled("↓ reads on", p.c.Look.Accent))
	}
	if p.c.Framed {
		in.Y, in.H = in.Y+1, in.H-2
	}
	p.c.Buffer.Place(in, v.text.View())
	if v.lanes.H > 0 {
		p.paintLanes(v.lanes)
	}
}

// lines is what a lesson says, in lines of a width; in presenter mode in large type, all but
// the keys.
func (v *textView) lines(s *Screen, width int) []widget.Span {
	it := s.at()
	var lines []widget.Span
	small := func(text string, st themes.Style) {
		for _, t := range format.Wrap(safetext.Clean(text), width) {
			lines = append(lines, widget.Styled(t, st))
		}
	}
	write := func(text string, st themes.Style) {
		if text = safetext.Clean(text); !s.presents || s.app.Canvas.Buffer.ASCII || !widget.Settable(text) {
			small(text, st)
			return
		}
		for _, t := range widget.WrapType(text, width) {
			for _, row := range widget.Enlarge(t, width < widget.Finely) {
				lines = append(lines, widget.Styled(row, st))
			}
		}
	}
	gap := make([]widget.Span, collect.If(s.presents, widget.TypeRows, 1))
	for _, p := range it.Paragraphs(s.run) {
		write(p, s.app.Canvas.Look.Text)
		lines = append(lines, gap...)
	}
	if g := it.Goal; g != nil {
		p := s.task.Progress
		write(s.app.Canvas.Look.NearMark+" "+it.Task(s.run), s.app.Canvas.Look.Title)
		switch {
		case p.Reached:
			write(s.app.Canvas.Look.YesMark+" Reached at "+lab.Seconds(p.At.Sub(s.run.Setup().Zero))+". "+p.Then, s.app.Canvas.Look.Good)
		case s.hint:
			write("Hint: "+it.Hint(s.run), s.app.Canvas.Look.Accent)
		default:
			write(p.Text, s.app.Canvas.Look.Dim)
		}
		lines = append(lines, gap...)
	}
	small("enter or space tries it · g goes to a time · i hints · H shows how", s.app.Canvas.Look.Dim)
	return lines
}

// openLessons lists the lessons, with those done ticked.
func (s *Screen) openLessons() {
	choices := make([]shell.Choice, len(s.lessons))
	for i := range s.lessons {
		it := &s.lessons[i]
		mark := collect.If(slices.Contains(s.results.Reached, it.ID), s.app.Canvas.Look.YesMark, s.app.Canvas.Look.IdleMark)
		choices[i] = shell.Choice{Name: fmt.Sprintf("%2d %s %s", i+1, mark, safetext.Clean(it.Title)),
			Synonyms: strconv.Itoa(i + 1), Aside: describe.Short(it.Algorithm), Value: i}
	}
	done := len(collect.Only(s.lessons, func(l lab.Lesson) bool { return slices.Contains(s.results.Reached, l.ID) }))
	p := s.app.NewPicker(fmt.Sprintf("lessons · %d of %d reached", done, len(s.lessons)), choices)
	p.Select(func(c shell.Choice) bool { return c.Value == s.lesson })
	p.Chosen = func(c shell.Choice) tea.Cmd {
		s.begin(c.Value.(int))
		return nil
	}
	s.app.Open(p)
}

// task is how far the goal of a lesson is, worked out once for each change of the run.
type task struct {
	lab.Progress
	run              *lab.Run
	version, decided int
	now              limiter.Instant
}

// update works out how far the goal of the lesson on screen is, if it has one. What was reached stays
// reached until the restart, or until the terms are others.
func (t *task) update(s *Screen) {
	g := s.at().Goal
	if g == nil || s.showsUntil != 0 { // what is shown is not the user's
		return
	}
	if t.run != s.run {
		*t = task{run: s.run, version: -1}
	}
	s.run.Select(s.focus)
	changed := t.version != s.run.Version() || t.decided != s.run.Decided()
	if changed || g.Kind == lab.GoalReadings && t.now != s.run.Now() {
		before := t.Progress
		t.version, t.decided, t.now = s.run.Version(), s.run.Decided(), s.run.Now()
		t.Progress = s.at().Progress(s.run)
		if s.app.Options.ASCII {
			t.Text = strings.NewReplacer("✓", s.app.Canvas.Look.YesMark, "✖", s.app.Canvas.Look.OverMark).Replace(t.Text)
		}
		switch {
		case before.Reached:
			t.Reached, t.At, t.Then = true, before.At, before.Then
		case t.Reached && !slices.Contains(s.results.Reached, s.at().ID):
			s.results.Reached = append(s.results.Reached, s.at().ID)
		}
	}
}

// number is one of the numbers of a task that can be changed: limit, window, burst, or N, which b fires.
type number struct {
	name, text string
	at         int // where it stands in the sentence, in bytes
}

// away reports whether the view is about another thing than the task.
func away(s *Screen) bool {
	return s.apart() || s.shows("lesson") || s.shows(studentsName)
}

// tasked reports whether the task is what stands below the title.
func tasked(s *Screen) bool {
	return s.at().Goal != nil && !away(s) && !s.task.Reached && !s.hint && !s.guess.asked
}

// bond stands for a space at which no line breaks: a blank that is no white space.
const bond = "\u2800"

// taskNumbers returns the task with its numbers: those of the terms that it does not name stand behind it.
func taskNumbers(s *Screen) (text string, numbers []number) {
	var b strings.Builder
	b.WriteString(s.app.Canvas.Look.NearMark + " ")
	add := func(name, text string) {
		if name != "" && !slices.ContainsFunc(numbers, func(n number) bool { return n.name == name }) {
			numbers = append(numbers, number{name, text, b.Len()})
		}
		b.WriteString(text)
	}
	if s.at().Goal == nil {
		return "", nil
	}
	parts := s.at().Sentence(s.run)
	for i, part := range parts {
		text := oneSpace(safetext.Clean(part.Text))
		if i == len(parts)-1 { // more follows on the line
			text = strings.TrimSuffix(text, ".")
		}
		add(part.Name, text)
	}
	setup := s.run.Setup()
	for _, one := range []number{
		{name: "limit", text: fmt.Sprint(setup.Limit.Count)},
		{name: "window", text: lab.Seconds(setup.Limit.Window)},
		{name: "burst", text: fmt.Sprint(cmp.Or(setup.Limit.Burst, setup.Limit.Count))},
		{name: "N", text: fmt.Sprint(s.burst)},
	} {
		named := slices.ContainsFunc(numbers, func(n number) bool { return n.name == one.name })
		bursts := slices.ContainsFunc(setup.Candidates, lab.Candidate.Bursts)
		if !named && (one.name != "burst" || bursts) {
			b.WriteString(" · " + map[string]string{"N": "b" + bond + "fires"}[one.name] + strings.TrimPrefix(one.name, "N") + bond)
			add(one.name, one.text)
		}
	}
	return b.String(), numbers
}

// tab chooses the next number of the task, after the last one the next term of the rule, and then shows the next view.
func tab(s *Screen) {
	s.hint = false // the task is back in its place
	if s.lit < 0 && tasked(s) {
		if _, list := taskNumbers(s); s.number+1 < len(list) {
			s.number++
			return
		}
	}
	s.number = -1
	s.nextTerm(s.terms())
}

// adjust moves the chosen number a step up or down; where none is chosen, N.
func adjust(s *Screen, by int) tea.Cmd {
	name := chosen(s)
	for _, one := range adjustable(s) {
		if one.name == name {
			return one.turn(by)
		}
	}
	s.burst = min(max(s.burst+by, 1), maxBurst)
	return nil
}

// chosen returns the name of the chosen number; "" where none is.
func chosen(s *Screen) string {
	if _, list := taskNumbers(s); tasked(s) && s.number >= 0 && s.number < len(list) {
		return list[s.number].name
	}
	return ""
}

// typeNumber lets a person type the chosen number.
func typeNumber(s *Screen, name string) {
	s.app.Open(s.app.NewPrompt(name+" ", "", "enter takes it · esc leaves it", nil, func(text string, kept bool) tea.Cmd {
		setup := s.run.Setup()
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case !kept:
			return nil
		case name == "window":
			if setup.Limit.Window, err = readTime(text); err != nil {
				return s.app.Warn("A window is a number of seconds, or one with its unit: 10, 10s, 500ms, 1m.")
			}
		case err != nil || n < 0 || name == "N" && (n < 1 || n > maxBurst):
			return s.app.Warn(fmt.Sprintf("%s is a whole number, of requests up to %s.", name, format.Short(maxBurst)))
		case name == "limit":
			setup.Limit.Count = n
		case name == "burst":
			setup.Limit.Burst = n
		default:
			s.burst = int(n)
			return nil
		}
		return apply(s, setup)
	}, nil))
}
