package lab_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter/scenario"
	engine "ratescope/model/lab"
	"ratescope/model/lab/labtest"
	"ratescope/tui/lab"
	"ratescope/tui/tuitest"
)

// story runs a test in virtual time on the lab.
func story(t *testing.T, w, h int, o lab.Options, tell func(x *tuitest.Terminal)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tell(tuitest.Launch(t, w, h, tuitest.Dark, func(ctx context.Context, extra ...tea.ProgramOption) error {
			return lab.Run(ctx, o, extra...)
		}))
	})
}

func lessons(t *testing.T) []engine.Lesson {
	t.Helper()
	all, err := engine.Lessons()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fire goes to the time of each step and presses what fires it.
func fire(x *tuitest.Terminal, l engine.Lesson, steps []scenario.Step) {
	for _, s := range steps {
		keys := []string{"g"}
		for _, r := range fmt.Sprintf("%dus", s.At.Microseconds()) {
			keys = append(keys, string(r))
		}
		x.Press(append(keys, "enter")...)
		keys = nil
		switch {
		case s.Cost == 0:
		case int64(s.Repeat) == l.Limit.Count:
			keys = []string{"b"} // N begins as the limit
		default:
			for range s.Repeat {
				keys = append(keys, "space")
			}
		}
		x.Press(keys...)
	}
}

func TestEveryLessonOnScreen(t *testing.T) {
	for i, l := range lessons(t) {
		for _, size := range [][2]int{{80, 24}, {140, 42}} {
			if size[0] > 80 && underRace && i%6 != 0 {
				continue
			}
			o := lab.Options{Lessons: []engine.Lesson{l}}
			t.Run(fmt.Sprintf("%s reached at %dx%d", l.ID, size[0], size[1]), func(t *testing.T) {
				story(t, size[0], size[1], o, func(x *tuitest.Terminal) {
					x.See(l.Title)
					x.Press("enter")
					fire(x, l, l.Solution())
					x.See("reached at")
				})
			})
			t.Run(fmt.Sprintf("%s missed at %dx%d", l.ID, size[0], size[1]), func(t *testing.T) {
				story(t, size[0], size[1], o, func(x *tuitest.Terminal) {
					x.See(l.Title)
					fire(x, l, labtest.Missed(l.ID))
					if strings.Contains(x.Screen(), "reached at") || strings.Contains(x.Screen(), "Reached at") {
						t.Errorf("the goal is reached by a try that should miss it:\n%s", x.Screen())
					}
					x.Press("w") // and this is how
					x.See("reached at")
				})
			})
		}
	}
}

func TestTheClockIsInTheHand(t *testing.T) {
	story(t, 140, 42, lab.Options{}, func(x *tuitest.Terminal) {
		x.See("PAUSED")
		x.Press("1", "p")
		x.See("RUNS")
		x.Wait(2 * time.Second)
		x.Press("p")
		x.See("PAUSED")
		if !strings.Contains(x.Screen(), " 2.") {
			t.Errorf("after two seconds the clock shows something else:\n%s", x.Screen())
		}
		x.Press(">", ">")
		x.See("5x")
		x.Press("<", "<", "<", "<", "<")
		x.See("0.1x")
		x.Press("g", "9", ".", "9", "enter")
		x.See("9.900 s")
		x.Press("b")
		x.See("10 admitted")
		x.Press("left")
		x.See("9 admitted")
		x.Press("right")
		x.See("10 admitted")
		x.Press("R")
		x.See("0.000 s")
		x.See("0 admitted")
	})
}

func TestRateFiresInStoryTime(t *testing.T) {
	story(t, 140, 42, lab.Options{}, func(x *tuitest.Terminal) {
		x.See("PAUSED")
		x.Press("1", "r") // ten in every window of 10 s
		x.Wait(5 * time.Second)
		x.Press("x")
		x.See("PAUSED")
		x.See("5 admitted")
	})
}

func TestTermsShowTheirEffectAtOnce(t *testing.T) {
	all := lessons(t)
	i := 0
	for all[i].ID != "log-lockout" {
		i++
	}
	story(t, 140, 42, lab.Options{Lessons: all[i : i+1]}, func(x *tuitest.Terminal) {
		x.See(all[i].Title)
		x.Press("w")
		x.See("2 admitted 8 denied")
		x.Press("v")
		x.See("charged")
		for range 8 {
			x.Press("down")
		}
		x.Press("right", "esc")
		x.Gone("2 admitted 8 denied") // the same requests, and nobody is locked out
		x.Press("v")
		for range 6 { // from the top upwards
			x.Press("up")
		}
		x.See("compared")
		x.Press("esc", "v", "right", "right", "esc")
		x.See("limit 4 in 4s")
	})
}

func TestQuizRevealsAndKeepsScore(t *testing.T) {
	story(t, 80, 24, lab.Options{}, func(x *tuitest.Terminal) {
		x.See("PAUSED")
		x.Press("3")
		x.See("a  admitted")
		for range 12 {
			x.Press("d")
			x.See("you said denied")
			if strings.Contains(x.Screen(), "When would it be admitted") {
				x.Press("1")
			}
			x.See("enter goes on")
			x.See("<=")
			x.Press("enter")
			x.See("a  admitted")
		}
		x.See(" of 12")
	})
}

func TestInspectorWalksThroughDecisions(t *testing.T) {
	story(t, 140, 42, lab.Options{}, func(x *tuitest.Terminal) {
		x.See("PAUSED")
		x.Press("w", "2")
		x.See("one more request now")
		x.See("INCRBY")
		x.Press("up")
		x.See("request 20 at 10.1 s")
		x.See("INCRBY {rl:lab}:fw:")
		x.Press("a")
		x.See("ZCOUNT rl:lab")
		x.See("denied: nothing is written")
		x.See("EVAL '")
		x.Press("esc")
		x.See("sliding window counter")
	})
}

func TestExports(t *testing.T) {
	saved := map[string]string{}
	o := lab.Options{Save: func(name string, content []byte) error {
		if _, ok := saved[name]; ok {
			return errors.New("it exists")
		}
		saved[name] = string(content)
		return nil
	}}
	story(t, 140, 42, o, func(x *tuitest.Terminal) {
		x.See("PAUSED")
		x.Press("E")
		x.See("nothing has happened yet")
		x.Press("w", "e")
		x.See("Saved fixed-edge-10_1.md")
		x.Press("E")
		x.See("Saved fixed-edge-10_1.json")
		x.Press("E")
		x.See("Not saved: it exists")
	})
	if list, err := engine.Load([]byte(saved["fixed-edge-10_1.json"])); err != nil || len(list) != 1 {
		t.Errorf("the exported scenario: %v\n%s", err, saved["fixed-edge-10_1.json"])
	}
	if !strings.Contains(saved["fixed-edge-10_1.md"], "| fixed-window | 20 | 0 | 10 | 0 | 20 |") {
		t.Errorf("the exported moment:\n%s", saved["fixed-edge-10_1.md"])
	}
}

func TestLeavesTheTerminalAsItWas(t *testing.T) {
	story(t, 80, 24, lab.Options{}, func(x *tuitest.Terminal) {
		x.See("PAUSED")
		x.Press("?")
		x.See("any other key closes")
		for range 30 {
			x.Press("down")
		}
		x.See("turns the mouse on or off")
		x.Press("q")
		x.See("PAUSED")
		x.Press("q")
		x.Done()
		if x.AltScreen() {
			t.Error("the program left the terminal on its second screen")
		}
	})
}
