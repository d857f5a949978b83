package lab

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// facts are the numbers that the text of a lesson may name. A name stands in braces, as in
// {limit} or {most:sliding-log}, so that no number of a text can differ from the run.
type facts struct {
	run    *Run
	goal   *Goal   // may be nil
	lesson *Lesson // may be nil
	// The decision that reached the goal, and when.
	decision limiter.Decision
	at       limiter.Instant
	reached  bool
	selected int           // the candidate that a person selected
	row      int64         // denied in a row, or in a window
	span     time.Duration // how long that took, or how late a request was
}

var factName = regexp.MustCompile(`\{[^{}\n]*\}`)

// fill puts the numbers in the place of their names. A name that is not known stays.
func (f facts) fill(text string) string {
	var b strings.Builder
	for _, part := range f.parts(text) {
		b.WriteString(part.Text)
	}
	return b.String()
}

// Part is a piece of a text. Of a number that is one of the terms Name says which: limit or window.
type Part struct{ Text, Name string }

// parts returns a text in pieces, each number apart.
func (f facts) parts(text string) (list []Part) {
	at := 0
	for _, m := range factName.FindAllStringIndex(text, -1) {
		name := text[m[0]+1 : m[1]-1]
		value, ok := f.value(name)
		if !ok {
			continue
		}
		list = append(list, Part{Text: text[at:m[0]]}, Part{Text: value})
		if name == "limit" || name == "window" {
			list[len(list)-1].Name = name
		}
		at = m[1]
	}
	return append(list, Part{Text: text[at:]})
}

// value returns what a name stands for.
func (f facts) value(name string) (string, bool) {
	if n, ok := ofLimit(name, f.run.setup.Limit); ok {
		return strconv.FormatInt(n, 10), true
	}
	if name, of, found := strings.Cut(name, ":"); found {
		return f.of(name, of)
	}
	if name == "most" || name == "most-span" || name == "bytes" {
		return f.of(name, f.run.setup.Candidates[f.selected].String())
	}
	for _, group := range []struct {
		known  bool
		values map[string]func(facts) string
	}{{name != "edge" || !f.run.setup.Candidates[0].Scripted(), ofTerms}, {f.goal != nil, ofGoal}, {f.reached, ofDecision}} {
		if value, ok := group.values[name]; ok && group.known {
			return value(f), true
		}
	}
	return f.lessonValue(name)
}

// ofTerms are the numbers of the terms.
var ofTerms = map[string]func(facts) string{
	"edge":        func(f facts) string { return f.run.setup.clock(f.run.Ask(0, 0).Decision.End) },
	"window":      func(f facts) string { return Seconds(f.run.setup.Limit.Window) },
	"interval":    func(f facts) string { return Seconds(Interval(f.run.setup.Limit)) },
	"long-window": func(f facts) string { return Seconds(1000 * f.run.setup.Limit.Window) },
	"skew":        func(f facts) string { return Seconds(f.run.setup.Skew) },
}

// ofGoal are the numbers of the goal itself.
var ofGoal = map[string]func(facts) string{
	"value":   func(f facts) string { return strconv.FormatInt(f.goal.Value, 10) },
	"values":  func(f facts) string { return strings.Join(numbers(f.goal.Values), ", then ") },
	"within":  func(f facts) string { return Seconds(millis(f.goal.WithinMS)) },
	"silence": func(f facts) string { return Seconds(f.goal.lasts(f.run.setup.Limit)) },
}

// ofDecision are the numbers of the decision that reached the goal.
var ofDecision = map[string]func(facts) string{
	"reached":  func(f facts) string { return f.run.setup.clock(f.at) },
	"previous": func(f facts) string { return strconv.FormatInt(f.decision.Previous, 10) },
	"current":  func(f facts) string { return strconv.FormatInt(f.decision.Current, 10) },
	"estimate": func(f facts) string { return Number(f.decision.Estimate) },
	"weight":   func(f facts) string { weight, _ := Weighted(f.decision.Previous, f.decision.Weight); return weight },
	"faded":    func(f facts) string { _, faded := Weighted(f.decision.Previous, f.decision.Weight); return faded },
	"wait":     func(f facts) string { return Seconds(f.decision.RetryAfter) },
	"row":      func(f facts) string { return strconv.FormatInt(f.row, 10) },
	"span":     func(f facts) string { return Seconds(f.span) },
}

// numbers writes values.
func numbers(values []float64) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = Number(v)
	}
	return list
}

// lessonValue is a number of the steps that come by themselves, or of those that solve the
// task.
func (f facts) lessonValue(name string) (string, bool) {
	if f.lesson == nil {
		return "", false
	}
	var given int64
	for _, step := range f.lesson.Steps[:f.lesson.Given] {
		given += step.Cost * int64(step.Repeat)
	}
	solution := f.lesson.Solution()
	if name == "given" {
		return strconv.FormatInt(given, 10), true
	}
	if len(solution) == 0 {
		return "", false
	}
	w := f.run.setup.Limit.Window
	weight, faded := Weighted(given, float64(w-solution[0].At%w)/float64(w))
	switch name {
	case "solution-at":
		return Seconds(solution[0].At), true
	case "solution-weight":
		return weight, true
	case "solution-faded":
		return faded, true
	case "table", "table-admitted":
		var times []string
		for _, step := range solution {
			if name == "table" || step.Expect != nil && *step.Expect {
				times = append(times, Number(float64(step.At.Microseconds())/1000))
			}
		}
		last := len(times) - 1
		if last < 1 {
			return "", false
		}
		return strings.Join(times[:last], ", ") + " and " + times[last] + " ms", true
	}
	return "", false
}

// of is a number of one candidate.
func (f facts) of(name, of string) (string, bool) {
	for i, c := range f.run.setup.Candidates {
		if c.String() != of {
			continue
		}
		t := f.run.Counts(i)
		switch name {
		case "most":
			return strconv.FormatInt(t.Largest, 10), true
		case "most-span":
			return Seconds(t.LargestAt.Sub(t.LargestFrom)), true
		case "admitted":
			return strconv.FormatInt(t.Admitted, 10), true
		case "denied":
			return strconv.FormatInt(t.Denied, 10), true
		case "used":
			return strconv.FormatInt(f.run.Ask(i, 0).Decision.Used, 10), true
		case "bytes":
			return strconv.FormatInt(f.run.bytesAtLast(i), 10), true
		}
	}
	return "", false
}

// Paragraphs returns the text of a lesson with the numbers of a run.
func (l *Lesson) Paragraphs(r *Run) []string {
	list := make([]string, len(l.Text))
	for i, p := range l.Text {
		list[i] = l.fill(p, r)
	}
	return list
}

// Task returns what is to be done, with the numbers of a run; "" without a goal.
func (l *Lesson) Task(r *Run) string { return l.fill(cmp.Or(l.Goal, &Goal{}).Say, r) }

// Hint returns how it can be done, see Task.
func (l *Lesson) Hint(r *Run) string { return l.fill(cmp.Or(l.Goal, &Goal{}).Hint, r) }

// ofSteps are the names of numbers that hold under the terms of the lesson alone: those of its steps.
var ofSteps = regexp.MustCompile(`\{(given|solution|table|values)`)

// Sentence returns the task in pieces, see Task. The lesson has one. Numbers of the lesson's own terms, which are not those
// of the run, have no name.
func (l *Lesson) Sentence(r *Run) []Part {
	text, f := l.facts(l.Goal.Say, r)
	list := f.parts(text)
	for i := range list {
		if f.run != r {
			list[i].Name = ""
		}
	}
	return list
}

// fill puts the numbers of a run into a text.
func (l *Lesson) fill(text string, r *Run) string {
	text, f := l.facts(text, r)
	return f.fill(text)
}

// facts returns a text with the numbers for it. Where the run has other terms than the lesson, a text about the
// lesson's steps has the numbers of its own terms, and says so.
func (l *Lesson) facts(text string, r *Run) (string, facts) {
	f := facts{run: r, lesson: l}
	if own := l.Setup(); ofSteps.MatchString(text) && (r.setup.Limit != own.Limit || r.setup.Convention != own.Convention) {
		f.run = NewRun(own, NewWorkload(nil))
		text = "Under {limit} in {window}: " + text
	}
	if l.Goal != nil {
		goal := l.Goal.under(f.run.setup.Limit)
		f.goal = &goal
	}
	return text, f
}
