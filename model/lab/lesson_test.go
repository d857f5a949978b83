package lab_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"ratescope/limiter/scenario"
	"ratescope/model/lab"
	"ratescope/model/lab/labtest"
)

func lessons(t *testing.T) []lab.Lesson {
	t.Helper()
	all, err := lab.Lessons()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 12 {
		t.Fatalf("there are %d lessons, want twelve or more", len(all))
	}
	return all
}

// play begins a lesson and makes the requests of some steps by hand.
func play(t *testing.T, l lab.Lesson, steps []scenario.Step) *lab.Run {
	t.Helper()
	s := l.Setup()
	tape, err := l.Tape(s, l.Traffic, 0, l.Seed)
	if err != nil {
		t.Fatal(err)
	}
	run := lab.NewRun(s, tape)
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

func TestEveryLessonCanBeReachedAndMissed(t *testing.T) {
	for _, l := range lessons(t) {
		t.Run(l.ID, func(t *testing.T) {
			if l.Goal == nil {
				t.Fatal("it has no goal")
			}
			if p := l.Goal.Progress(play(t, l, nil)); p.Reached {
				t.Error("its goal is reached before anything happens")
			}
			run := play(t, l, l.Solution())
			if p := l.Goal.Progress(run); !p.Reached {
				t.Errorf("its own solution does not reach the goal: %s", p.Text)
			}
			steps := labtest.Missed(l.ID)
			if steps == nil {
				t.Fatal("no try is known that misses it")
			}
			if p := l.Goal.Progress(play(t, l, steps)); p.Reached || p.Text == "" {
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

// TestLessonsVerify: what lessons say of an algorithm holds for the limiter itself.
func TestLessonsVerify(t *testing.T) {
	for _, l := range lessons(t) {
		r, err := scenario.Run(context.Background(), l.Scenario, scenario.Memory())
		if err != nil || r.Status != scenario.Pass {
			t.Errorf("%s: %+v %v", l.ID, r, err)
		}
	}
}

func TestOpen(t *testing.T) {
	none := func(string) ([]byte, error) { return nil, os.ErrNotExist }
	if list, first, err := lab.Open("gcra-next-slot", none); err != nil || list[first].ID != "gcra-next-slot" || len(list) != len(lessons(t)) {
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
		`"goal":{"kind":"fates","of":"sliding-log","fates":["maybe"],"say":"x"}}`, `"goal":{"kind":"disagree","of":"sliding-log","other":"sliding-log","value":1,"say":"x"}}`,
		`"goal":"win"}`, `"text":7}`, `"traffic":{"into":["sliding-log/loud"]}}`, `"traffic":{"into":["gcra","gcra"]}}`, `"traffic":{"given":5}}`,
		`"traffic":{"streams":[{"model":"ripple"}]}}`, `"traffic":{"skew_ms":1e12}}`, `"traffic":{"into":["fixed-window/colliding-members"]}}`,
	} {
		if _, err := lab.Load([]byte(head + tail)); err == nil || !strings.Contains(err.Error(), "scenario x") {
			t.Errorf("%s: %v", tail, err)
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
		run := play(t, l, l.Solution())
		s := run.Setup()
		text := strings.Join(lab.Explain(s.Contenders[0], run.Ask(0, 1), s).Numbers, "\n")
		for _, line := range want {
			if !strings.Contains(text, line) {
				t.Errorf("%s: %q is not in\n%s", id, line, text)
			}
		}
	}
}
