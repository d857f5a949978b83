package lab_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
	"ratescope/model/lab"
)

func lessons(t *testing.T) []lab.Lesson {
	t.Helper()
	all := lab.Lessons()
	if len(all) < 12 {
		t.Fatalf("there are %d lessons, want twelve or more", len(all))
	}
	return all
}

// play begins a lesson and makes the requests of some steps by hand.
func play(t *testing.T, l lab.Lesson, steps []scenario.Step) *lab.Run {
	t.Helper()
	s := l.Setup()
	workload, err := l.Workload(s, l.Traffic, l.Seed)
	if err != nil {
		t.Fatal(err)
	}
	run := lab.NewRun(s, workload)
	for _, step := range steps {
		run.SeekTo(s.Zero.Add(step.At))
		for range step.Repeat {
			if step.Cost > 0 {
				run.Fire(step.Cost)
			}
		}
	}
	return run
}

// solved plays the solution of a lesson, and selects the candidate that a goal asks for.
func solved(t *testing.T, l lab.Lesson) *lab.Run {
	t.Helper()
	run := play(t, l, l.Solution())
	if l.Goal.Kind == lab.GoalCheapest {
		run.Select(l.Goal.Answer(run))
	}
	return run
}

func TestEveryLessonCanBeReachedAndMissed(t *testing.T) {
	for _, l := range lessons(t) {
		t.Run(l.ID, func(t *testing.T) {
			if l.Goal == nil {
				t.Fatal("it has no goal")
			}
			if p := l.Goal.Progress(play(t, l, nil)); p.Reached {
				t.Error("its goal is reached before anything happens")
			}
			run := solved(t, l)
			if p := l.Goal.Progress(run); !p.Reached {
				t.Errorf("its own solution does not reach the goal: %s", p.Text)
			}
			if p := l.Goal.Progress(play(t, l, missed(t, l))); p.Reached || p.Text == "" {
				t.Errorf("a try that should miss reaches the goal, or nothing is said about it: %+v", p)
			}
		})
	}
}

// TestLessonsFit: a lesson is read on 80x24 beside its own controls.
func TestLessonsFit(t *testing.T) {
	for _, l := range lessons(t) {
		lines := 0
		for _, p := range l.Text {
			lines += 1 + (utf8.RuneCountInString(p)+71)/70
		}
		lines += (utf8.RuneCountInString(l.Goal.Say) + 71) / 70
		if lines > 17 || utf8.RuneCountInString(l.Title) > 44 {
			t.Errorf("%s: %d lines of text, title %q", l.ID, lines, l.Title)
		}
		for _, text := range []string{l.Goal.Hint, l.Goal.Then} {
			if text == "" || utf8.RuneCountInString(text) > 150 {
				t.Errorf("%s: hint or conclusion %q", l.ID, text)
			}
		}
	}
}

// label is what a lesson may write with a digit: a request by its name.
var label = regexp.MustCompile(`\bR\d\b`)

// TestLessonNumbersComeFromTheRun: a text names its numbers, so that none can differ from
// what is on screen, whatever was fired; and every name is known.
func TestLessonNumbersComeFromTheRun(t *testing.T) {
	for _, l := range lessons(t) {
		names := regexp.MustCompile(`\{[^}]*\}`)
		for _, text := range append(slices.Clone(l.Text), l.Title, l.Goal.Say, l.Goal.Hint, l.Goal.Then) {
			if bare := label.ReplaceAllString(names.ReplaceAllString(text, ""), ""); strings.ContainsAny(bare, "0123456789") {
				t.Errorf("%s has a number of its own: %q", l.ID, text)
			}
			for _, word := range []string{"four", "five", "ten", "fifteen", "nineteen", "twenty", "thirty", "hundred"} {
				if regexp.MustCompile(`(?i)\b` + word + `\b`).MatchString(text) {
					t.Errorf("%s has a number of its own, %s: %q", l.ID, word, text)
				}
			}
		}
		run := solved(t, l)
		shown := append(l.Paragraphs(run), l.Task(run), l.Hint(run), l.Goal.Progress(run).Then)
		for _, text := range shown {
			if text == "" || strings.ContainsAny(text, "{}") {
				t.Errorf("%s: a name is not known in %q", l.ID, text)
			}
		}
	}
}

// TestClosingSentencesTellWhatWasFired: other ways to the goal are told with their own
// numbers.
func TestClosingSentencesTellWhatWasFired(t *testing.T) {
	fire := func(at time.Duration, n int) scenario.Step { return scenario.Step{At: at, Cost: 1, Repeat: n} }
	for _, tc := range []struct {
		lesson string
		steps  []scenario.Step
		want   string // "" where the goal is not reached
	}{
		{"fixed-edge", []scenario.Step{fire(9500*time.Millisecond, 10), fire(10750*time.Millisecond, 10)},
			"20 in 1.25 s, under a limit of 10 in 10 s."},
		{"fixed-edge", []scenario.Step{fire(9900*time.Millisecond, 40), fire(10*time.Second, 40)},
			"20 in 0.1 s, under a limit of 10 in 10 s."},
		{"counter-ninety-five", []scenario.Step{fire(2400*time.Millisecond, 100)}, ""},
		{"counter-ninety-five", []scenario.Step{fire(2400*time.Millisecond, 15)},
			"100 × 0.8 + 15 = 95. The log denied 15: it knows that the 100 are younger than 2 s."},
		{"counter-false-denial", []scenario.Step{fire(100*time.Millisecond, 10), fire(10300*time.Millisecond, 1)},
			"10 × 0.97 = 9.7, and one more is too many for the counter. The true window had room."},
		{"log-lockout", []scenario.Step{fire(0, 2), fire(time.Second, 4), fire(3*time.Second, 3), fire(6*time.Second, 4),
			fire(9*time.Second, 1)}, "Denied 12 times in 8 s. Silence is the only way out of a log that charges for denied requests."},
	} {
		all := lessons(t)
		l := all[slices.IndexFunc(all, func(l lab.Lesson) bool { return l.ID == tc.lesson })]
		if p := l.Goal.Progress(play(t, l, tc.steps)); p.Then != tc.want || p.Reached != (tc.want != "") {
			t.Errorf("%s: reached %v: %q, want %q", tc.lesson, p.Reached, p.Then, tc.want)
		}
	}
}

// TestVerdictsOfWhatWasNotSent: a denied request that is only imagined is charged to nothing,
// so the wait that is named is right, and the rest is the same in every sentence of a moment.
func TestVerdictsOfWhatWasNotSent(t *testing.T) {
	all := lessons(t)
	l := all[slices.IndexFunc(all, func(l lab.Lesson) bool { return l.ID == "log-lockout" })]
	run := solved(t, l)
	m := run.Ask(0, 1)
	if m.Decision.Allowed || m.Decision.RetryAfter != 3*time.Second {
		t.Fatalf("asked at 8 s: %+v", m.Decision)
	}
	if got := m.Explain().Verdict; got != "denied: next slot in 3 s, at 11 s; to send it now moves that to 12 s" {
		t.Errorf("the verdict: %q", got)
	}
	run.AdvanceTo(run.Now().Add(m.Decision.RetryAfter))
	if m := run.Ask(0, 1); !m.Decision.Allowed {
		t.Errorf("after the wait it is denied: %+v", m.Decision)
	} else if got, want := m.Explain().Verdict, fmt.Sprintf("admitted: there is room for %d",
		run.Ask(0, 0).Decision.Remaining); got != want {
		t.Errorf("the verdict: %q, want %q", got, want)
	}
	if v := run.Fire(1); v != run.Decided()-1 {
		t.Fatal("it is not the latest request")
	}
	if _, v := run.Arrival(run.Decided() - 1); !v.Allowed(0) {
		t.Error("fired after the wait it is denied")
	}
}

// TestLessonsVerify: what lessons say of an algorithm holds for the limiter itself.
func TestLessonsVerify(t *testing.T) {
	for _, l := range lessons(t) {
		r, err := scenario.Run(context.Background(), l.Scenario, nil)
		if err != nil || r.Status != scenario.Pass {
			t.Errorf("%s: %+v %v", l.ID, r, err)
		}
	}
}

func TestOpen(t *testing.T) {
	none := func(string) ([]byte, error) { return nil, os.ErrNotExist }
	if list, first, err := lab.Open("gcra-next-slot", none); err != nil || list[first].ID != "gcra-next-slot" ||
		len(list) != len(lessons(t)) {
		t.Errorf("a lesson by its name: %v", err)
	}
	if _, _, err := lab.Open("nothing", none); err == nil || !strings.Contains(err.Error(), "fixed-edge") {
		t.Errorf("a name that is neither lesson nor file: %v", err)
	}
	if _, _, err := lab.Open("no/file.json", none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	list, _, err := lab.Open("../../limiter/testdata/vectors.json", os.ReadFile)
	if err != nil || len(list) != 27 {
		t.Fatalf("%d scenarios: %v", len(list), err)
	}
	for _, l := range list {
		run := play(t, l, nil)
		run.AdvanceTo(l.Setup().Zero.Add(l.Length()))
		want := 0
		for _, s := range l.Steps {
			want += s.Repeat
		}
		if run.Decided() != want || len(l.Into) < 2 {
			t.Errorf("%s: %d of %d requests came", l.ID, run.Decided(), want)
		}
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	head := `{"id":"x","algorithm":"sliding-log","limit":1,"window_ms":1000,"steps":[{"t_ms":0}],`
	for _, tail := range []string{
		`"goal":{"kind":"dance","of":"sliding-log","say":"x"}}`, `"goal":{"kind":"largest","of":"gcra","value":1,"say":"x"}}`,
		`"goal":{"kind":"largest","of":"sliding-log","say":"x"}}`, `"goal":{"kind":"largest","of":"sliding-log","value":3}}`,
		`"goal":{"kind":"fates","of":"sliding-log","fates":["maybe"],"say":"x"}}`,
		`"goal":{"kind":"disagree","of":"sliding-log","other":"sliding-log","value":1,"say":"x"}}`,
		`"goal":"win"}`, `"text":7}`, `"traffic":{"into":["sliding-log/loud"]}}`,
		`"traffic":{"into":["gcra","gcra"]}}`, `"traffic":{"given":5}}`,
		`"traffic":{"streams":[{"model":"ripple"}]}}`, `"traffic":{"skew_ms":1e12}}`,
		`"traffic":{"column_ms":0.5}}`, `"traffic":{"into":["fixed-window/colliding-members"]}}`,
		`"steps":[` + strings.Repeat(`{"t_ms":0,"repeat":1000000},`, 299) + `{"t_ms":0,"repeat":1000000}]}`,
		`"traffic":{"streams":[` + strings.Repeat(`{"model":"steady","every_ms":1},`, 16) + `{"model":"steady","every_ms":1}]}}`,
	} {
		if _, err := lab.Load([]byte(head + tail)); err == nil || !strings.Contains(err.Error(), "scenario x") {
			t.Errorf("%.200s: %v", tail, err)
		}
	}
}

// TestWorkedExamples reads the numbers of the articles off the board.
func TestWorkedExamples(t *testing.T) {
	for id, want := range map[string][]string{
		"counter-ninety-five":  {"100 × 0.8 = 80", "80 + 15 + 1 = 96 <= 100"},
		"counter-rounding":     {"42 × 0.75 = 31.5", "31.5 + 18 + 1 = 50.5 > 50"},
		"counter-weighted-sum": {"5 × 0.4 = 2", "2 + 1 + 1 = 4 <= 10"},
	} {
		i := 0
		all := lessons(t)
		for all[i].ID != id {
			i++
		}
		l := all[i]
		run := solved(t, l)
		text := strings.Join(run.Ask(0, 1).Explain().Numbers, "\n")
		for _, line := range want {
			if !strings.Contains(text, line) {
				t.Errorf("%s: %q is not in\n%s", id, line, text)
			}
		}
	}
}

// FuzzLesson loads a scenario file from a stranger: every lesson of it has an id and a limit that a
// limiter takes.
func FuzzLesson(f *testing.F) {
	all := lab.Lessons()
	for _, l := range all {
		f.Add(l.File())
	}
	f.Add([]byte("[]"))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, content []byte) {
		list, err := lab.Load(content)
		if err != nil {
			return
		}
		for _, l := range list {
			if err := l.Limit.Validate(); err != nil {
				t.Errorf("the lesson %q has the limit %+v: %v", l.ID, l.Limit, err)
			}
		}
	})
}

// TestTasksFollowTheTerms plays the first lesson by its hint under other limits and windows, and asks every
// lesson under them that no sentence names a number of steps as if it held there.
func TestTasksFollowTheTerms(t *testing.T) {
	lessons := lab.Lessons()
	for _, limit := range []limiter.Limit{{Count: 7, Window: 10 * time.Second}, {Count: 10, Window: time.Minute},
		{Count: 3, Window: 1500 * time.Millisecond}} {
		s := lessons[0].Setup()
		s.Limit = limit
		run := lab.NewRun(s, lab.NewWorkload(nil))
		edge := run.Ask(0, 0).Decision.End
		hint := fmt.Sprintf("Send %d shortly before %s, and %d shortly after.", limit.Count, lab.Seconds(edge.Sub(run.Setup().Zero)),
			limit.Count)
		if got := lessons[0].Hint(run); got != hint {
			t.Errorf("under %d in %v the hint is %q, want %q", limit.Count, limit.Window, got, hint)
		}
		for _, at := range []time.Duration{-50 * time.Millisecond, 50 * time.Millisecond} {
			if p := lessons[0].Goal.Progress(run); p.Reached {
				t.Errorf("under %d in %v it is reached at once", limit.Count, limit.Window)
			}
			run.AdvanceTo(edge.Add(at))
			for range limit.Count {
				run.Fire(1)
			}
		}
		if p := lessons[0].Goal.Progress(run); !p.Reached || !strings.Contains(p.Then, fmt.Sprintf("%d in ", 2*limit.Count)) {
			t.Errorf("under %d in %v, after its hint: %+v", limit.Count, limit.Window, p)
		}
		for _, l := range lessons {
			s := l.Setup()
			s.Limit.Count, s.Limit.Window = limit.Count, limit.Window
			run := lab.NewRun(s, lab.NewWorkload(nil))
			for i, text := range append(l.Paragraphs(run), l.Task(run), l.Hint(run)) {
				raw := append(slices.Clone(l.Text), l.Goal.Say, l.Goal.Hint)[i]
				if strings.Contains(raw, "{given}") != strings.HasPrefix(text, "Under ") && !strings.Contains(raw, "{solution") &&
					!strings.Contains(raw, "{values}") && !strings.Contains(raw, "{table") {
					t.Errorf("%s: %q", l.ID, text)
				}
			}
		}
	}
}

// missed returns requests that do not reach the goal of a lesson, as its file has them: seconds, and how many. A step of
// cost 0 only lets time pass.
func missed(t *testing.T, l lab.Lesson) (steps []scenario.Step) {
	t.Helper()
	var file struct {
		Goal struct{ Missed [][2]float64 }
	}
	if err := json.Unmarshal(l.File(), &file); err != nil || len(file.Goal.Missed) == 0 {
		t.Fatalf("%s: no try that misses its goal (%v)", l.ID, err)
	}
	for _, try := range file.Goal.Missed {
		steps = append(steps, scenario.Step{At: time.Duration(try[0]*1e6) * time.Microsecond, Cost: min(int64(try[1]), 1),
			Repeat: max(int(try[1]), 1)})
	}
	return steps
}
