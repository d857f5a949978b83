package lab_test

import (
	"encoding/json"
	"testing"
	"time"

	"ratescope/limiter/scenario"
	engine "ratescope/model/lab"
	"ratescope/tui/lab"
)

// TestTheTextFollowsTheTerms: the title of the text names the terms of the run, and tab puts a hint away to choose a
// number of the task, which stood in its place.
func TestTheTextFollowsTheTerms(t *testing.T) {
	learn(t, 140, 42, lab.Options{First: 2}, func(x *program) {
		x.See("PAUSED")
		x.Press("C", "i")
		x.See("hint ")
		x.Press("tab", "+", "T")
		x.See("one by one · limit 4 in 1m ")
		x.See("With a limit of 4 in 60 s")
		x.Press("C", "-", "T")
		x.See("one by one · limit 3 in 1m ")
	})
	learn(t, 140, 42, lab.Options{First: 1}, func(x *program) {
		x.See("PAUSED")
		x.Press("T")
		x.Gone("You have changed how it counts")
		x.Press("w", "j", "j", "j", "j", "j", "j", "j", "j", "right", "esc")
		x.See("You have changed how it counts (w): what stands above holds")
	})
	learn(t, 140, 42, lab.Options{First: 14}, func(x *program) {
		x.See("PAUSED")
		x.Press("T")
		x.See("comes before limiting · count only in 5s")
	})
}

// TestAnAssemblyIsAsked: the quiz about several logs says by which rule they decide and, once it is answered, what each
// log held; the inspector names them as logs.
func TestAnAssemblyIsAsked(t *testing.T) {
	for _, size := range [][2]int{{140, 42}, {80, 24}} {
		learn(t, size[0], size[1], lab.Options{First: 19}, func(x *program) {
			x.See("PAUSED")
			x.Press("C", "b", "D")
			x.See("logs     10 in 10s: was 3, now 3 of 10")
			x.See("two limits, one by")
			x.Press("Q")
			x.See("predict · two limits, limit 10 in 10s")
			x.See("rule     admitted where both limits have room")
			x.Press("a")
			x.See("10 in 10s: was ")
			x.Gone("unknown before a request")
		})
	}
}

// TestTheListOfLessonsHasEnds: end goes to the last lesson of the list and home to the first, and a number to the lesson that has
// exactly that.
func TestTheListOfLessonsHasEnds(t *testing.T) {
	learn(t, 80, 24, lab.Options{First: 4}, func(x *program) {
		x.See("PAUSED")
		x.Press("L", "end", "enter")
		x.See("24/24 Two clocks")
		x.Press("L", "home", "enter")
		x.See("1/24 ")
		x.Press("n", "L", "1", "enter")
		x.See(" 1/24 ")
		x.Press("L", "1", "2", "enter")
		x.See("12/24 ")
	})
}

// TestTheMapSaysWhatItsShadesAre: beside the title stands which shade is which share of the limit.
func TestTheMapSaysWhatItsShadesAre(t *testing.T) {
	learn(t, 140, 42, lab.Options{}, func(x *program) {
		x.See("PAUSED")
		x.Press("M")
		x.See("under 1  ▒ 1  ▓ over 1  █ from 1.6")
	})
}

// missed returns requests that do not reach the goal of a lesson, as its file has them: seconds, and how many. A step of
// cost 0 only lets time pass.
func missed(t *testing.T, l engine.Lesson) (steps []scenario.Step) {
	t.Helper()
	var file struct {
		Goal struct{ Missed [][2]float64 }
	}
	if err := json.Unmarshal(l.File(), &file); err != nil || len(file.Goal.Missed) == 0 {
		t.Fatalf("%s: no try that misses its goal (%v)", l.ID, err)
	}
	for _, try := range file.Goal.Missed {
		at := time.Duration(try[0]*1e6) * time.Microsecond
		steps = append(steps, scenario.Step{At: at, Cost: min(int64(try[1]), 1), Repeat: max(int(try[1]), 1)})
	}
	return steps
}
