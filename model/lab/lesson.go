package lab

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
	"ratescope/model/collect"
	"ratescope/model/record"
)

//go:embed lessons/*.json
var lessonFiles embed.FS

// Lesson is a scenario to be taught. A scenario file without text, goal and traffic is
// one too: its steps happen by themselves, before three algorithms.
type Lesson struct {
	scenario.Scenario
	Text    []string // paragraphs, with names of numbers as facts.fill says
	Goal    *Goal    // nil where there is none
	Into    []Candidate
	Traffic []Traffic // what comes by itself
	Given   int       // how many steps of the scenario come by themselves; the rest solves the task
	Seed    uint64
	Skew    time.Duration
	Within  time.Duration // how far from its instant in the file a request may have come
	Plain   bool          // shown without formulas, commands and seed
	Column  time.Duration // how much time a column of the lanes shows at first; 0 is two windows on the screen
}

// extra is what a scenario file holds beside what scenario reads.
type extra struct {
	Text    json.RawMessage `json:"text"`
	Goal    *Goal           `json:"goal"`
	Traffic coming          `json:"traffic"`
}

// coming says in a scenario file what comes by itself, to which candidates.
type coming struct {
	Into    []string  `json:"into"`
	Streams []Traffic `json:"streams,omitempty"`
	Given   int       `json:"given,omitempty"`
	Seed    uint64    `json:"seed,omitempty"`
	SkewMS  float64   `json:"skew_ms,omitempty"`
	Within  float64   `json:"within_ms,omitempty"`
	Column  float64   `json:"column_ms,omitempty"`
	Plain   bool      `json:"plain,omitempty"`
}

// Lessons returns the lessons that come with the program, in their order. What they point to is shared
// by all callers and is not to be changed.
func Lessons() []Lesson { return slices.Clone(embedded()) }

// embedded reads the lessons once.
var embedded = sync.OnceValue(func() (all []Lesson) {
	names, _ := fs.Glob(lessonFiles, "lessons/*.json") // that is a pattern
	for _, name := range names {
		content, _ := lessonFiles.ReadFile(name)
		list, err := Load(content)
		if err != nil {
			panic(name + ": " + err.Error()) // TestLessonsCanBeSolved reads them all
		}
		all = append(all, list...)
	}
	return all
})

// Open returns the lessons and which of them has that id, or else what the scenario file
// of that name holds: a recording becomes lessons, see Incident. read reads a whole file, as os.ReadFile does.
func Open(name string, read func(name string) ([]byte, error)) (all []Lesson, first int, err error) {
	all = Lessons()
	if i := slices.IndexFunc(all, func(l Lesson) bool { return l.ID == name }); i >= 0 {
		return all, i, nil
	}
	content, err := read(name)
	if err != nil {
		if !strings.ContainsAny(name, "./\\") {
			ids := collect.Map(all, func(l Lesson) string { return l.ID })
			return nil, 0, fmt.Errorf("there is no lesson %q and no file of that name: name a scenario file or one of %s",
				name, strings.Join(ids, ", "))
		}
		return nil, 0, err
	}
	list, err := openRecording(content)
	if list != nil {
		list = append(list, all...)
	} else if err == nil {
		list, err = Load(content)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	return list, 0, nil
}

// openRecording returns the lessons of a recording; nil where the content is none.
func openRecording(content []byte) ([]Lesson, error) {
	if !record.Recognize(content) {
		return nil, nil
	}
	t, err := ReadTrace(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return Incident(&t)
}

// File returns the lesson as a scenario file.
func (l Lesson) File() []byte { return bytes.Clone(l.Raw) }

// Load reads the scenarios of a file as lessons. Errors name the scenario.
func Load(content []byte) ([]Lesson, error) {
	stories, err := scenario.Load(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	lessons := make([]Lesson, len(stories))
	for i, s := range stories {
		if lessons[i], err = lesson(s); err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.ID, err)
		}
	}
	return lessons, nil
}

func lesson(s scenario.Scenario) (Lesson, error) {
	var x extra
	if err := json.Unmarshal(s.Raw, &x); err != nil {
		return Lesson{}, fmt.Errorf("its goal or traffic cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	l := Lesson{Scenario: s, Goal: x.Goal, Traffic: x.Traffic.Streams, Given: x.Traffic.Given, Seed: x.Traffic.Seed,
		Skew: millis(x.Traffic.SkewMS), Within: millis(x.Traffic.Within), Column: millis(x.Traffic.Column), Plain: x.Traffic.Plain}
	var one string
	if len(x.Text) > 0 && json.Unmarshal(x.Text, &l.Text) != nil {
		if err := json.Unmarshal(x.Text, &one); err != nil {
			return l, fmt.Errorf("its text is neither a text nor a list of paragraphs")
		}
		l.Text = []string{one}
	}
	if l.Text == nil && s.Notes != "" {
		l.Text = []string{s.Notes}
	}
	if x.Goal == nil && x.Traffic.Given == 0 {
		l.Given = len(s.Steps)
	}
	if l.Given < 0 || l.Given > len(s.Steps) {
		return l, fmt.Errorf("%d steps cannot be given of %d", l.Given, len(s.Steps))
	}
	if n := collect.Sum(s.Steps, func(s scenario.Step) int { return s.Repeat }); n > maxArrivals {
		return l, fmt.Errorf("its steps are %d requests: repeat them less, for %d at most", n, maxArrivals)
	}
	if l.Skew < 0 || l.Skew > time.Hour {
		return l, fmt.Errorf("a skew of %v is out of range: use 0 to an hour", l.Skew)
	}
	if l.Column < 0 || l.Column > s.Limit.Window || l.Column > 0 && l.Column < time.Millisecond {
		return l, fmt.Errorf("columns of %v are out of range: use a millisecond to a window", l.Column)
	}
	var err error
	if l.Into, err = ParseCandidates(collect.If(len(x.Traffic.Into) > 0, x.Traffic.Into, besides(s.Algorithm, 3))); err == nil {
		err = cmp.Or(l.Setup().Validate(), checkAll(l.Traffic))
	}
	if err == nil && l.Goal != nil {
		err = l.Goal.check(l.Into)
	}
	return l, err
}

// besides returns the names of an algorithm and of those beside which it is shown, so many together.
func besides(a limiter.Algorithm, n int) []string {
	names := []string{a.String()}
	for _, other := range []limiter.Algorithm{limiter.SlidingLog, limiter.SlidingWindow, limiter.FixedWindow, limiter.GCRA} {
		if other != a && len(names) < n {
			names = append(names, other.String())
		}
	}
	return names
}

// storyBegins is the instant that stories call zero, before it is aligned to a window.
const storyBegins limiter.Instant = 2_000_000_000_000_000

// Setup returns the comparison that the lesson begins with.
func (l Lesson) Setup() Setup {
	w := l.Limit.Window
	return Setup{Candidates: slices.Clone(l.Into), Limit: l.Limit, Convention: l.Convention, Cost: 1,
		Zero: storyBegins.Floor(w).Add(w).Floor(w), Skew: l.Skew, Within: l.Within}
}

// Workload returns what comes by itself under a setup: the steps that are given, and the
// traffic. The same seed makes the same arrivals.
func (l Lesson) Workload(s Setup, traffic []Traffic, seed uint64) (*Workload, error) {
	var list []Arrival
	for _, step := range l.Steps[:l.Given] {
		list = append(list, slices.Repeat([]Arrival{{At: s.Zero.Add(step.At), Cost: step.Cost}}, step.Repeat)...)
	}
	slices.SortStableFunc(list, func(a, b Arrival) int { return int(a.At - b.At) })
	sources := []Source{Given(list)}
	if len(traffic) > 0 {
		src, err := Mix(traffic, s, seed)
		if err != nil {
			return nil, err
		}
		sources = append(sources, src)
	}
	return NewWorkload(merge(s, sources...)), nil
}

// Solution returns the steps that reach the goal.
func (l Lesson) Solution() []scenario.Step { return l.Steps[l.Given:] }

// Length returns how much of the story is worth a look: to the last step, and some.
func (l Lesson) Length() time.Duration {
	return max(2*l.Limit.Window, collect.Most(l.Steps, func(s scenario.Step) time.Duration { return s.At + l.Limit.Window/2 }))
}

// facts are the numbers that the text of a lesson may name. A name stands in braces, as in
// {limit} or {most:sliding-log}, so that no number of a text can differ from the run.
type facts struct {
	run      *Run
	goal     *Goal   // may be nil
	lesson   *Lesson // may be nil
	done     Progress
	decision limiter.Decision // that reached the goal
	selected int              // the candidate that a person selected
	row      int64            // denied in a row, or in a window
	span     time.Duration    // how long that took, or how late a request was
}

var factName = collect.Regexp(`\{[^{}\n]*\}`)

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
	for _, m := range factName().FindAllStringIndex(text, -1) {
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
	kind, of, found := strings.Cut(name, ":")
	if value, ok := ofCandidate[kind]; ok {
		i := f.selected
		if found {
			i = slices.IndexFunc(f.run.setup.Candidates, func(c Candidate) bool { return c.String() == of })
		}
		if i >= 0 {
			return value(f.run, i), true
		}
	}
	for _, group := range []struct {
		known  bool
		values map[string]func(facts) string
	}{
		{name != "edge" || !f.run.setup.Candidates[0].Scripted(), ofTerms}, {f.goal != nil, ofGoal}, {f.done.Reached, ofDecision},
		{f.lesson != nil, ofGiven}, {f.lesson != nil && len(f.lesson.Solution()) > 0, ofSolution},
	} {
		if value, ok := group.values[name]; ok && group.known {
			return value(f), true
		}
	}
	return "", false
}

// ofTerms are the numbers of the terms.
var ofTerms = map[string]func(facts) string{
	"edge":        func(f facts) string { return f.run.setup.clock(f.run.Ask(0, 0).Decision.End) },
	"window":      func(f facts) string { return Seconds(f.run.setup.Limit.Window) },
	"interval":    func(f facts) string { return Seconds(Interval(f.run.setup.Limit)) },
	"long-window": func(f facts) string { return Seconds(1000 * f.run.setup.Limit.Window) },
	"skew":        func(f facts) string { return Seconds(f.run.setup.Skew) },
	"short": func(f facts) string {
		l := shortLimit(f.run.setup.Limit)
		return fmt.Sprintf("%d in %s", l.Count, Seconds(l.Window))
	},
	"nodes": func(facts) string { return strconv.Itoa(nodes) },
	"share": func(f facts) string { return strconv.FormatInt(share(f.run.setup.Limit), 10) },
}

// ofGoal are the numbers of the goal itself.
var ofGoal = map[string]func(facts) string{
	"value":   func(f facts) string { return strconv.FormatInt(f.goal.Value, 10) },
	"values":  func(f facts) string { return strings.Join(collect.Map(f.goal.Values, Number), ", then ") },
	"within":  func(f facts) string { return Seconds(millis(f.goal.WithinMS)) },
	"silence": func(f facts) string { return Seconds(f.goal.lasts(f.run.setup.Limit)) },
}

// ofDecision are the numbers of the decision that reached the goal.
var ofDecision = map[string]func(facts) string{
	"reached":  func(f facts) string { return f.run.setup.clock(f.done.At) },
	"previous": func(f facts) string { return strconv.FormatInt(f.decision.Previous, 10) },
	"current":  func(f facts) string { return strconv.FormatInt(f.decision.Current, 10) },
	"estimate": func(f facts) string { return Number(f.decision.Estimate) },
	"weight":   func(f facts) string { weight, _ := Weighted(f.decision.Previous, f.decision.Weight); return weight },
	"faded":    func(f facts) string { _, faded := Weighted(f.decision.Previous, f.decision.Weight); return faded },
	"wait":     func(f facts) string { return Seconds(f.decision.RetryAfter) },
	"row":      func(f facts) string { return strconv.FormatInt(f.row, 10) },
	"span":     func(f facts) string { return Seconds(f.span) },
}

// ofGiven are the numbers of the steps that come by themselves, and ofSolution of those that solve the task.
var (
	ofGiven    = map[string]func(facts) string{"given": func(f facts) string { return strconv.FormatInt(f.given(), 10) }}
	ofSolution = map[string]func(facts) string{
		"end":             func(f facts) string { steps := f.lesson.Solution(); return Seconds(steps[len(steps)-1].At) },
		"solution-at":     func(f facts) string { return Seconds(f.lesson.Solution()[0].At) },
		"solution-weight": func(f facts) string { weight, _ := f.weighted(); return weight },
		"solution-faded":  func(f facts) string { _, faded := f.weighted(); return faded },
		"table":           func(f facts) string { return f.times(func(scenario.Step) bool { return true }) },
		"table-admitted": func(f facts) string {
			return f.times(func(s scenario.Step) bool { return s.Expect != nil && *s.Expect })
		},
	}
)

// given is what the steps cost that come by themselves.
func (f facts) given() int64 {
	return collect.Sum(f.lesson.Steps[:f.lesson.Given], func(s scenario.Step) int64 { return s.Cost * int64(s.Repeat) })
}

// weighted returns the weight of what is given at the first step of the solution, and what that leaves of it.
func (f facts) weighted() (weight, faded string) {
	w := f.run.setup.Limit.Window
	return Weighted(f.given(), float64(w-f.lesson.Solution()[0].At%w)/float64(w))
}

// times lists when steps of the solution come.
func (f facts) times(of func(scenario.Step) bool) string {
	list := collect.Map(collect.Only(f.lesson.Solution(), of), func(s scenario.Step) string {
		return Number(float64(s.At.Microseconds()) / 1000)
	})
	last := max(len(list)-1, 0)
	return strings.Join(list[:last], ", ") + " and " + strings.Join(list[last:], "") + " ms"
}

// ofCandidate are the numbers of one candidate, as {name:candidate}, or as {name} of the selected one.
var ofCandidate = map[string]func(r *Run, i int) string{
	"most":      func(r *Run, i int) string { return strconv.FormatInt(r.Counts(i).Largest, 10) },
	"most-span": func(r *Run, i int) string { return Seconds(r.Counts(i).LargestAt.Sub(r.Counts(i).LargestFrom)) },
	"admitted":  func(r *Run, i int) string { return strconv.FormatInt(r.Counts(i).Admitted, 10) },
	"denied":    func(r *Run, i int) string { return strconv.FormatInt(r.Counts(i).Denied, 10) },
	"used":      func(r *Run, i int) string { return strconv.FormatInt(r.Ask(i, 0).Decision.Used, 10) },
	"bytes":     func(r *Run, i int) string { return strconv.FormatInt(r.Bytes(i, r.last()), 10) },
}

// Paragraphs returns the text of a lesson with the numbers of a run.
func (l *Lesson) Paragraphs(r *Run) (list []string) {
	list = collect.Map(l.Text, func(p string) string { return l.fill(p, r) })
	if !l.counts(r) {
		list = append(list, "You have changed how it counts (w): what stands above holds under the terms that the lesson began with.")
	}
	return list
}

// Task returns what is to be done, with the numbers of a run; "" without a goal.
func (l *Lesson) Task(r *Run) string { return l.fill(cmp.Or(l.Goal, &Goal{}).Say, r) }

// Hint returns how it can be done, see Task. It holds as the lesson counts, and says so where the run counts in another way.
func (l *Lesson) Hint(r *Run) string {
	return l.otherwise(r, "As the lesson counts, before w changed it: ") + l.fill(cmp.Or(l.Goal, &Goal{}).Hint, r)
}

// ofSteps are the names of numbers that hold under the terms of the lesson alone: those of its steps.
var ofSteps = collect.Regexp(`\{(given|solution|table|values)`)

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
	if own := l.Setup(); ofSteps().MatchString(text) && (r.setup.Limit != own.Limit || r.setup.Convention != own.Convention) {
		f.run = NewRun(own, NewWorkload(nil))
		text = "Under {limit} in {window}: " + text
	}
	if l.Goal != nil {
		goal := l.Goal.under(f.run.setup.Limit)
		f.goal = &goal
	}
	return text, f
}
