package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ratescope/model/format"
	"ratescope/model/lab"
	"ratescope/model/safetext"
)

// number is one of the numbers of a task that can be changed: limit, window, burst, or N, which b fires.
type number struct {
	name, text string
	at         int // where it stands in the sentence, in bytes
}

// sentence is the task with the numbers in it as controls.
type sentence struct {
	s      *Screen
	number int // the chosen one; -1 none
}

// away reports whether the view is about another thing than the task.
func (t *sentence) away() bool {
	s := t.s
	return s.shows("quiz") || s.shows("box") || s.shows("lesson") || s.shows(studentsName)
}

// tasked reports whether the task is what stands below the title.
func (t *sentence) tasked() bool {
	s := t.s
	return s.at().Goal != nil && !t.away() && !s.task.Reached && !s.hint && !s.guess.asked
}

// words returns the task with its numbers: those of the terms that it does not name stand behind it.
func (t *sentence) words() (text string, numbers []number) {
	s := t.s
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
			b.WriteString(" · " + map[string]string{"N": "b fires"}[one.name] + strings.TrimPrefix(one.name, "N") + " ")
			add(one.name, one.text)
		}
	}
	return b.String(), numbers
}

// tab chooses the next number of the task, and after the last one shows the next view.
func (t *sentence) tab() {
	if t.number++; t.tasked() {
		if _, list := t.words(); t.number < len(list) {
			return
		}
	}
	t.number = -1
	t.s.show(t.s.after(1))
}

// adjust moves the chosen number a step up or down; where none is chosen, N.
func (t *sentence) adjust(by int) tea.Cmd {
	s, name := t.s, t.chosen()
	for _, one := range (terms{s}).list() {
		if one.name == name {
			return one.turn(by)
		}
	}
	s.burst = min(max(s.burst+by, 1), maxBurst)
	return nil
}

// chosen returns the name of the chosen number; "" where none is.
func (t *sentence) chosen() string {
	if _, list := t.words(); t.tasked() && t.number >= 0 && t.number < len(list) {
		return list[t.number].name
	}
	return ""
}

// typeNumber lets a person type the chosen number.
func (t *sentence) typeNumber(name string) {
	s := t.s
	s.app.Open(s.app.NewPrompt(name+" ", "", "enter takes it · esc leaves it", nil, func(text string, kept bool) tea.Cmd {
		setup := s.run.Setup()
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case !kept:
			return nil
		case name == "window":
			if setup.Limit.Window, err = readTime(text); err != nil {
				s.app.Warn("A window is a number of seconds, or one with its unit: 10, 10s, 500ms, 1m.")
				return nil
			}
		case err != nil || n < 0 || name == "N" && (n < 1 || n > maxBurst):
			s.app.Warn(fmt.Sprintf("%s is a whole number, of requests up to %s.", name, format.Short(maxBurst)))
			return nil
		case name == "limit":
			setup.Limit.Count = n
		case name == "burst":
			setup.Limit.Burst = n
		default:
			s.burst = int(n)
			return nil
		}
		return terms{s}.apply(setup)
	}, nil))
}
