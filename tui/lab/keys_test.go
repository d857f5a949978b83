package lab_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/lab/accuracy"
	"ratescope/tui/lab"
)

func TestTheQuizIsLeftByTheKeysOfTheHelp(t *testing.T) {
	for _, leave := range []string{"C", "D", "T", "esc", "tab"} {
		learn(t, 140, 42, lab.Options{}, func(x *program) {
			x.See("PAUSED")
			x.Press("Q")
			x.See("predict each decision")
			x.Press(leave)
			x.Gone("predict each decision")
		})
	}
}

func TestPresenterModeSaysWhereItShows(t *testing.T) {
	learn(t, 140, 42, lab.Options{}, func(x *program) {
		x.See("PAUSED")
		x.Press("Q", "B")
		x.See("Presenter mode is on")
		x.Press("B")
		x.See("Presenter mode is off")
	})
}

// TestTheHelpIsNotCut looks for every key's meaning, in full.
func TestTheHelpIsNotCut(t *testing.T) {
	for _, size := range [][2]int{{60, 96}, {140, 42}, {200, 55}} {
		learn(t, size[0], size[1], lab.Options{}, func(x *program) {
			x.See("PAUSED")
			x.Press("?", "?")
			x.See("any key closes")
			for _, act := range lab.HelpKeys() {
				x.See(act.What())
			}
		})
	}
}

func TestTheLabSaysWhatFitsWhereItIsTooSmall(t *testing.T) {
	learn(t, 140, 42, lab.Options{}, func(x *program) {
		x.See("PAUSED")
		x.Resize(30, 8)
		x.See("needs 60x20, this is 30x8")
		x.Resize(20, 8)
		x.See("needs 60x20")
		if strings.Contains(x.Screen(), "thi") {
			t.Errorf("it is cut:\n%s", x.Screen())
		}
	})
}

// TestTheMapLeadsToARun: the cell under the cursor is what the lanes show then.
func TestTheMapLeadsToARun(t *testing.T) {
	learn(t, 140, 42, threeLanes(t), func(x *program) {
		x.See("PAUSED")
		x.Press("M")
		x.See("two bursts, the second 0.9 of a window later")
		x.See("2 × the limit")              // the fixed window at its worst
		x.See("sliding log  1 × the limit") // which a log does not have
		x.Press("enter")
		x.See("most in any 10s: 20 of 10")
		x.See("most in any 10s: 10 of 10")
		x.Press("M", "left", "left", "down", "esc")
		x.Gone("two bursts")
	})
}

// TestAccuracyAsAScreen measures, anew under another limit and at the next start of the program.
func TestAccuracyAsAScreen(t *testing.T) {
	t.Parallel()
	var kept lab.Memory
	learn(t, 140, 42, lab.Options{Remember: func(m lab.Memory) error { kept = m; return nil }}, func(x *program) {
		seePlots := func(count int64) {
			r, err := accuracy.Measure(t.Context(), accuracy.Options{Limit: limiter.Limit{Count: count, Window: 10 * time.Second},
				Seed: accuracy.DefaultSeed})
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range accuracy.Plots(r, false) { // the command prints the same
				x.See(line)
			}
		}
		x.See("PAUSED")
		x.Press("A")
		seePlots(10)
		x.Press("R")
		x.See("wrong decisions by load")
		x.Press("w", "right", "esc")
		seePlots(11)
		x.Press("b", "q")
		x.Done()
	})
	learn(t, 140, 42, lab.Options{Memory: kept}, func(x *program) {
		x.See("ratescope accuracy --limit 11/10s")
		x.See("wrong decisions by load")
	})
	learn(t, 140, 42, lab.Options{First: 14}, func(x *program) {
		x.See("PAUSED")
		x.Press("A")
		x.See("Not measured: a limit of 0 denies nothing")
	})
}

// TestTheNumbersSayWhereTheOtherScreensAre presses those of the dashboard in the lab alone.
func TestTheNumbersSayWhereTheOtherScreensAre(t *testing.T) {
	learn(t, 140, 42, lab.Options{}, func(x *program) {
		x.See("PAUSED")
		for _, number := range []string{"1", "2", "6"} {
			x.Press(number)
			x.See("This is the lab alone;")
			x.Press("T")
		}
	})
}

// TestARestartIsTakenBackInItsLesson: the run of another lesson does not come back under the task of this one.
func TestARestartIsTakenBackInItsLesson(t *testing.T) {
	learn(t, 140, 42, lab.Options{}, func(x *program) {
		x.See("PAUSED")
		x.Press("enter", "b")
		x.See("10 admitted")
		x.Press("R", "U")
		x.See("The run is as it was before the restart.")
		x.See("10 admitted")
		x.Press("n", "enter", "U")
		x.See("Nothing was restarted.")
	})
}

// TestPlusRaisesTheBurst, also where it is that of the limit.
func TestPlusRaisesTheBurst(t *testing.T) {
	learn(t, 140, 42, lab.Options{First: 5}, func(x *program) {
		x.See("PAUSED")
		x.Press("enter", "tab", "tab", "tab", "+")
		x.See("limit 5 · window 5 s · burst 6 ·")
		x.Press("-", "-")
		x.See("burst 4 ·")
	})
}

// TestTheLastLessonIsTheEnd: n does not go from the last lesson to the first, nor N the other way, and each says so.
func TestTheLastLessonIsTheEnd(t *testing.T) {
	last := len(lessons(t)) - 1
	for first, key := range map[int]string{0: "N", last: "n"} {
		learn(t, 140, 42, lab.Options{First: first}, func(x *program) {
			x.See("PAUSED")
			x.Press(key)
			x.See(map[string]string{"N": "This is the first lesson", "n": "This is the last lesson"}[key])
			x.See(lessons(t)[first].Title)
		})
	}
}

// TestAGameIsOverWithTheProgram: the next start shows the lesson before the game, as it stood there.
func TestAGameIsOverWithTheProgram(t *testing.T) {
	var kept lab.Memory
	learn(t, 140, 42, lab.Options{First: 1, Remember: func(m lab.Memory) error { kept = m; return nil }}, func(x *program) {
		x.See("PAUSED")
		x.Press("C", "b")
		x.See("1 admitted")
		x.Press("v", "b")
		x.See("attack and defend")
		x.Press("q")
		x.Done()
	})
	learn(t, 140, 42, lab.Options{Memory: kept}, func(x *program) {
		x.See("2/24")
		x.See("1 admitted")
	})
}
