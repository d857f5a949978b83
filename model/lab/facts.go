package lab

import (
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

// timesLimit reads 2*limit-1 and the like.
var timesLimit = regexp.MustCompile(`^(?:(\d)\*)?limit([+-]\d)?$`)

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
	s := f.run.setup
	if m := timesLimit.FindStringSubmatch(name); m != nil {
		n := s.Limit.Count
		if m[1] != "" {
			n *= int64(m[1][0] - '0')
		}
		more, _ := strconv.ParseInt(m[2], 10, 64)
		return strconv.FormatInt(n+more, 10), true
	}
	if name, of, found := strings.Cut(name, ":"); found {
		return f.of(name, of)
	}
	if value, ok := f.goalValue(name); ok {
		return value, true
	}
	if value, ok := f.lessonValue(name); ok {
		return value, true
	}
	switch name {
	case "edge":
		return s.clock(f.run.Ask(0, 0).Decision.End), !s.Candidates[0].Scripted()
	case "window":
		return Seconds(s.Limit.Window), true
	case "interval":
		return Seconds(Interval(s.Limit)), true
	case "long-window":
		return Seconds(1000 * s.Limit.Window), true
	case "skew":
		return Seconds(s.Skew), true
	case "most", "most-span":
		return f.of(name, s.Candidates[f.selected].String())
	case "reached":
		return s.clock(f.at), f.reached
	case "previous":
		return strconv.FormatInt(f.decision.Previous, 10), f.reached
	case "current":
		return strconv.FormatInt(f.decision.Current, 10), f.reached
	case "estimate":
		return Number(f.decision.Estimate), f.reached
	case "weight":
		factor, _ := Weighted(f.decision.Previous, f.decision.Weight)
		return factor, f.reached
	case "faded":
		_, product := Weighted(f.decision.Previous, f.decision.Weight)
		return product, f.reached
	case "wait":
		return Seconds(f.decision.RetryAfter), f.reached
	case "row":
		return strconv.FormatInt(f.row, 10), f.reached
	case "span":
		return Seconds(f.span), f.reached
	}
	return "", false
}

// lessonValue is a number of the steps that come by themselves, or of those that solve the
// task.
func (f facts) lessonValue(name string) (string, bool) {
	if f.lesson == nil {
		return "", false
	}
	w := f.run.setup.Limit.Window
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
	weight := float64(w-solution[0].At%w) / float64(w)
	switch name {
	case "solution-at":
		return Seconds(solution[0].At), true
	case "solution-weight":
		factor, _ := Weighted(given, weight)
		return factor, true
	case "solution-faded":
		_, product := Weighted(given, weight)
		return product, true
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

// goalValue is a number of the goal itself.
func (f facts) goalValue(name string) (string, bool) {
	if f.goal == nil {
		return "", false
	}
	switch name {
	case "value":
		return strconv.FormatInt(f.goal.Value, 10), true
	case "values":
		list := make([]string, len(f.goal.Values))
		for i, v := range f.goal.Values {
			list[i] = Number(v)
		}
		return strings.Join(list, ", then "), true
	case "within":
		return Seconds(millis(f.goal.WithinMS)), true
	case "silence":
		return Seconds(millis(f.goal.SilenceMS)), true
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
			return strconv.FormatInt(f.run.Bytes(i), 10), true
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
func (l *Lesson) Task(r *Run) string {
	if l.Goal == nil {
		return ""
	}
	return l.fill(l.Goal.Say, r)
}

// Hint returns how it can be done, see Task.
func (l *Lesson) Hint(r *Run) string {
	if l.Goal == nil {
		return ""
	}
	return l.fill(l.Goal.Hint, r)
}

// ofSteps are the names of numbers that hold under the terms of the lesson alone: those of its steps.
var ofSteps = regexp.MustCompile(`\{(given|solution|table|values)`)

// Sentence returns the task in pieces, see Task. The lesson has one.
func (l *Lesson) Sentence(r *Run) []Part {
	text, f := l.facts(l.Goal.Say, r)
	return f.parts(text)
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
		text = "Of the lesson's own {limit} in {window}: " + text
	}
	if l.Goal != nil {
		goal := l.Goal.under(f.run.setup.Limit)
		f.goal = &goal
	}
	return text, f
}
