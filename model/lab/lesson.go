package lab

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
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
	file    []byte        // the scenario as it was read
	Plain   bool          // shown without formulas, commands and seed
	Column  time.Duration // how much time a column of the lanes shows at first; 0 is two windows on the screen
}

// extra is what a scenario file holds beside what scenario reads.
type extra struct {
	Text    json.RawMessage `json:"text"`
	Goal    *Goal           `json:"goal"`
	Traffic struct {
		Into    []string  `json:"into"`
		Streams []Traffic `json:"streams"`
		Given   int       `json:"given"`
		Seed    uint64    `json:"seed"`
		SkewMS  float64   `json:"skew_ms"`
		Column  float64   `json:"column_ms"`
		Plain   bool      `json:"plain"`
	} `json:"traffic"`
}

// Lessons returns the lessons that come with the program, in their order. What they point to is shared
// by all callers and is not to be changed.
func Lessons() ([]Lesson, error) {
	all, err := embedded()
	return slices.Clone(all), err
}

// embedded reads the lessons once.
var embedded = sync.OnceValues(func() (all []Lesson, err error) {
	names, err := fs.Glob(lessonFiles, "lessons/*.json")
	for _, name := range names {
		content, err := lessonFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list, err := Load(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, list...)
	}
	return all, err
})

// Open returns the lessons and which of them has that id, or else what the scenario file
// of that name holds: a recording becomes lessons, see Incident. read reads a whole file, as os.ReadFile does.
func Open(name string, read func(name string) ([]byte, error)) (all []Lesson, first int, err error) {
	if all, err = Lessons(); err != nil {
		return nil, 0, err
	}
	if i := slices.IndexFunc(all, func(l Lesson) bool { return l.ID == name }); i >= 0 {
		return all, i, nil
	}
	content, err := read(name)
	if err != nil {
		if !strings.ContainsAny(name, "./\\") {
			ids := make([]string, len(all))
			for i, l := range all {
				ids[i] = l.ID
			}
			return nil, 0, fmt.Errorf("there is no lesson %q and no file of that name: name a scenario file or one of %s",
				name, strings.Join(ids, ", "))
		}
		return nil, 0, err
	}
	if list, err := openRecording(content); list != nil || err != nil {
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", name, err)
		}
		return append(list, all...), 0, nil
	}
	list, err := Load(content)
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
func (l Lesson) File() []byte { return append([]byte(nil), l.file...) }

// Load reads the scenarios of a file as lessons. Errors name the scenario.
func Load(content []byte) ([]Lesson, error) {
	stories, err := scenario.Load(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	content = bytes.TrimSpace(content)
	if content[0] != '[' {
		content = slices.Concat([]byte{'['}, content, []byte{']'})
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(content, &raw); err != nil {
		return nil, err
	}
	lessons := make([]Lesson, len(stories))
	for i, s := range stories {
		if lessons[i], err = lesson(s, raw[i]); err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.ID, err)
		}
	}
	return lessons, nil
}

func lesson(s scenario.Scenario, raw json.RawMessage) (Lesson, error) {
	var x extra
	if err := json.Unmarshal(raw, &x); err != nil {
		return Lesson{}, fmt.Errorf("its goal or traffic cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	l := Lesson{Scenario: s, Goal: x.Goal, Traffic: x.Traffic.Streams, Given: x.Traffic.Given, Seed: x.Traffic.Seed,
		Skew: millis(x.Traffic.SkewMS), Column: millis(x.Traffic.Column), Plain: x.Traffic.Plain}
	var file bytes.Buffer
	if err := json.Compact(&file, raw); err != nil {
		return l, err
	}
	l.file = file.Bytes()
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
	if l.Skew < 0 || l.Skew > time.Hour {
		return l, fmt.Errorf("a skew of %v is out of range: use 0 to an hour", l.Skew)
	}
	if l.Column < 0 || l.Column > s.Limit.Window || l.Column > 0 && l.Column < time.Millisecond {
		return l, fmt.Errorf("columns of %v are out of range: use a millisecond to a window", l.Column)
	}
	names := x.Traffic.Into
	if len(names) == 0 {
		names = besides(s.Algorithm, 3)
	}
	for _, name := range names {
		c, err := ParseCandidate(name)
		if err != nil {
			return l, err
		}
		l.Into = append(l.Into, c)
	}
	if err := l.Setup().Validate(); err != nil {
		return l, err
	}
	for _, t := range l.Traffic {
		if err := t.check(); err != nil {
			return l, err
		}
	}
	if l.Goal != nil {
		return l, l.Goal.check(l.Into)
	}
	return l, nil
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
	return Setup{
		Candidates: slices.Clone(l.Into), Limit: l.Limit, Convention: l.Convention, Cost: 1,
		Zero: storyBegins.Floor(w).Add(w).Floor(w), Skew: l.Skew,
	}
}

// Workload returns what comes by itself under a setup: the steps that are given, and the
// traffic. The same seed makes the same arrivals.
func (l Lesson) Workload(s Setup, traffic []Traffic, seed uint64) (*Workload, error) {
	var list []Arrival
	for _, step := range l.Steps[:l.Given] {
		for range step.Repeat {
			list = append(list, Arrival{At: s.Zero.Add(step.At), Cost: step.Cost})
		}
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
	end := 2 * l.Limit.Window
	for _, s := range l.Steps {
		end = max(end, s.At+l.Limit.Window/2)
	}
	return end
}
