package lab_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/limiter"
	"ratescope/limiter/scenario"
	engine "ratescope/model/lab"
	"ratescope/tui/lab"
	"ratescope/tui/tuitest"
)

func lessons(t *testing.T) []engine.Lesson {
	t.Helper()
	return engine.Lessons()
}

// threeLanes returns the first lesson with two algorithms beside its own, and formulas.
func threeLanes(t *testing.T) lab.Options {
	l := lessons(t)[0]
	for _, name := range []string{"sliding-log", "sliding-window"} {
		c, err := engine.ParseCandidate(name)
		if err != nil {
			t.Fatal(err)
		}
		l.Into = append(l.Into, c)
	}
	l.Plain = false
	return lab.Options{Lessons: []engine.Lesson{l}}
}

// fire goes to the time of each step and presses what fires it.
func fire(x *program, l engine.Lesson, steps []scenario.Step) {
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
		for j, size := range [][2]int{{80, 24}, {140, 42}} {
			o := lab.Options{Lessons: []engine.Lesson{l}}
			t.Run(fmt.Sprintf("%s reached at %dx%d", l.ID, size[0], size[1]), func(t *testing.T) {
				learn(t, size[0], size[1], o, func(x *program) {
					x.See(l.Title)
					x.Press("enter")
					fire(x, l, l.Solution())
					if l.Goal.Kind == engine.GoalCheapest {
						x.Press("a", "a", "a", "a") // the last lane
					}
					x.See("reached at")
				})
			})
			if i%2 == j { // how it is told that a goal is missed, and reached, is the same for all: at one of the sizes each
				continue
			}
			t.Run(fmt.Sprintf("%s missed at %dx%d", l.ID, size[0], size[1]), func(t *testing.T) {
				learn(t, size[0], size[1], o, func(x *program) {
					x.See(l.Title)
					fire(x, l, missed(t, l))
					if strings.Contains(x.Screen(), "reached at") || strings.Contains(x.Screen(), "Reached at") {
						t.Errorf("the goal is reached by a try that should miss it:\n%s", x.Screen())
					}
					x.Press("H") // and this is how
					x.See("reached at")
				})
			})
		}
	}
}

func TestTheClockIsInTheHand(t *testing.T) {
	learn(t, 140, 42, lab.Options{}, func(x *program) {
		x.See("PAUSED")
		x.Press("C", "p")
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
	learn(t, 140, 42, lab.Options{}, func(x *program) {
		x.See("PAUSED")
		x.Press("C", "r") // ten in every window of 10 s
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
	learn(t, 140, 42, lab.Options{Lessons: all[i : i+1]}, func(x *program) {
		x.See(all[i].Title)
		x.Press("H")
		x.See("2 admitted 8 denied")
		x.Press("w")
		x.See("charged")
		for range 8 {
			x.Press("down")
		}
		x.See("a denied request is counted too.")
		x.Press("right")
		x.See("a denied request changes nothing.")
		x.Press("esc")
		x.Gone("2 admitted 8 denied") // the same requests, and no client is locked out
		x.Press("w")
		for range 6 { // from the top upwards
			x.Press("up")
		}
		x.See("compared")
		x.Press("esc", "w", "right", "right", "esc")
		x.See("limit 4 in 4s")
	})
}

// turn opens the terms, goes to the one of that name and turns it until it says want.
func turn(x *program, name, want string) {
	x.Press("w")
	x.See("←→ changes")
	until := func(key, text string) {
		for range 40 {
			if strings.Contains(x.Screen(), text) {
				break
			}
			x.Press(key)
		}
		x.See(text)
	}
	until("down", "▌ "+name)
	until("right", want)
	x.Press("esc")
	x.Gone("←→ changes")
}

func TestOneKeyOfMany(t *testing.T) {
	trace := &engine.Trace{Keys: []engine.TraceKey{{Name: "busy"}, {Name: "quiet"}}}
	for i := range 90 {
		at := limiter.Instant(2_000_000_000_000_000).Add(time.Duration(i) * time.Second)
		trace.Arrivals = append(trace.Arrivals, engine.Arrival{At: at, Cost: 1, Key: int32(i % 3 / 2)})
	}
	var kept lab.Memory
	learn(t, 140, 42, lab.Options{Trace: trace, Remember: func(m lab.Memory) error { kept = m; return nil }}, func(x *program) {
		x.See("PAUSED")
		x.Press("C")
		turn(x, "traffic", "recorded")
		x.Press("Y")
		x.See("Recorded traffic cannot be put into a line")
		x.Press("g", "1", "2", "0", "enter")
		busiest := admitted(t, x)
		turn(x, "whose requests", "   2 of 2 quiet")
		second := admitted(t, x)
		turn(x, "whose requests", "all 2 as one")
		all := admitted(t, x)
		if second == 0 || busiest <= second || all < busiest {
			t.Errorf("%d requests of the busiest key, %d of the second, %d of all", busiest, second, all)
		}
	})
	if kept.Moment != "" {
		t.Error("a moment is kept without the requests that were recorded")
	}
}

// admitted reads off how many requests the first lane decided about.
func admitted(t *testing.T, x *program) (n int) {
	t.Helper()
	screen := x.Screen()
	i := strings.Index(screen, " admitted ")
	if i < 0 {
		t.Fatalf("no lane says how many were admitted:\n%s", screen)
	}
	var in, out int
	from := strings.LastIndexByte(screen[:i], ' ')
	if _, err := fmt.Sscanf(screen[from:], "%d admitted %d denied", &in, &out); err != nil {
		t.Fatal(err)
	}
	return in + out
}

func TestRecordedTrafficIsPlayed(t *testing.T) {
	log := strings.Repeat("10.0.0.1 - - [10/Oct/2025:13:55:36 +0000] \"GET / HTTP/1.1\" 200 1\n", 12) +
		"10.0.0.2 - - [10/Oct/2025:13:55:37 +0000] \"GET / HTTP/1.1\" 200 1\n"
	trace, err := engine.ReadTrace(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	learn(t, 140, 42, lab.Options{Trace: &trace}, func(x *program) {
		x.See("PAUSED")
		x.Press("C")
		turn(x, "traffic", "recorded")
		x.Press("g", "8", "enter")
		x.See("10 admitted 2 denied")
		turn(x, "whose requests", "2 of 2 10.0.0.2")
		x.See("1 admitted 0 denied")
		turn(x, "whose requests", "all 2 as one")
		x.See("10 admitted 3 denied")
		x.Press("Q") // the quiz asks about these too
		x.See("a request comes at")
	})
}

// TestLongWaysShowABar: what takes long is told while it lasts, and can be stopped.
func TestLongWaysShowABar(t *testing.T) {
	one := `{"id":"flood","algorithm":"fixed-window","limit":10,"window_ms":1000,"steps":[{"t_ms":0,"n":0}],
		"traffic":{"into":["fixed-window","gcra"],"streams":[{"model":"poisson","rate_per_s":20000}]}}`
	list, err := engine.Load([]byte(one))
	if err != nil {
		t.Fatal(err)
	}
	o := lab.Options{Lessons: list}
	model, err := lab.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	var m tea.Model = model
	m, _ = m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	press := func(key string) (cmd tea.Cmd) {
		m, cmd = m.Update(tuitest.Key(key))
		return cmd
	}
	press("g")
	press("9")
	cmd := press("enter")
	last, frames := -1, 0
	for ; cmd != nil; frames++ {
		v := m.View()
		if v.ProgressBar == nil || v.ProgressBar.Value <= last && frames > 0 || !strings.Contains(v.Content, "any key stops") {
			t.Fatalf("frame %d of a long way shows no bar, or one that stands still at %d:\n%s", frames, last, ansi.Strip(v.Content))
		}
		last = v.ProgressBar.Value
		m, cmd = m.Update(cmd())
	}
	if text := ansi.Strip(m.View().Content); frames < 5 || !strings.Contains(text, "9.000 s") || m.View().ProgressBar != nil {
		t.Errorf("%d frames on the way, and then\n%s", frames, text)
	}
	press("R")
	press("g")
	press("9")
	cmd = press("enter")
	press("x")
	m, cmd = m.Update(cmd())
	if text := ansi.Strip(m.View().Content); cmd != nil || strings.Contains(text, "any key stops") || strings.Contains(text, "9.000 s") {
		t.Errorf("a key did not stop it:\n%s", text)
	}
}

func TestTheMouseSeeks(t *testing.T) {
	learn(t, 140, 42, lab.Options{}, func(x *program) {
		x.See("PAUSED")
		x.Press("C")
		bar := 40        // two windows of 10 s
		x.Click(72, bar) // the middle of it
		x.See("10.0")    //
		x.Send(tea.MouseMotionMsg{X: 103, Y: bar, Button: tea.MouseLeft})
		x.See("15.0")
		column, row, found := x.Find("5s")
		if !found {
			t.Fatalf("no label of the time axis:\n%s", x.Screen())
		}
		x.Click(column, row)
		x.See(" 5.0")
	})
}

func TestQuizRevealsAndKeepsScore(t *testing.T) {
	learn(t, 80, 24, lab.Options{}, func(x *program) {
		x.See("PAUSED")
		x.Press("Q")
		x.See("a  it is admitted")
		for range 12 {
			x.Press("d")
			x.See("you said denied")
			if strings.Contains(x.Screen(), "When would it be admitted") {
				x.Press("a")
			}
			x.See("enter goes on")
			x.See("<=")
			x.Press("enter")
			x.See("a  it is admitted")
		}
		x.See(" of 12")
	})
}

func TestInspectorWalksThroughDecisions(t *testing.T) {
	learn(t, 140, 42, threeLanes(t), func(x *program) {
		x.See("PAUSED")
		x.Press("H", "D")
		x.See("one more request now")
		x.See("TIME")
		x.See("DECRBY {rl:lab}:fw:")
		x.Press("up")
		x.See("request 20 at 10.1 s")
		x.See("INCR {rl:lab}:fw:")
		x.Press("a")
		x.See("ZCOUNT rl:lab")
		x.See("# nothing is written")
		x.See("local call = redis.call")
		x.Press("esc")
		x.See("sliding window counter")
	})
}

func TestExports(t *testing.T) {
	saved := map[string]string{}
	o := lab.Options{Save: func(name string, content []byte) error {
		if _, ok := saved[name]; ok {
			return fs.ErrExist
		}
		saved[name] = string(content)
		return nil
	}}
	learn(t, 140, 42, o, func(x *program) {
		x.See("PAUSED")
		x.Press("E")
		x.See("nothing has happened yet")
		x.Press("H", "e")
		x.See("Saved fixed-edge-10_1.md")
		x.Press("E")
		x.See("Saved fixed-edge-10_1.json")
		x.Press("E")
		x.See("Saved fixed-edge-10_1-2.json to /")
	})
	if list, err := engine.Load([]byte(saved["fixed-edge-10_1.json"])); err != nil || len(list) != 1 {
		t.Errorf("the exported scenario: %v\n%s", err, saved["fixed-edge-10_1.json"])
	}
	if !strings.Contains(saved["fixed-edge-10_1.md"], "| fixed-window | 20 | 20 | 0 | 10 | 0 | 20 |") {
		t.Errorf("the exported moment:\n%s", saved["fixed-edge-10_1.md"])
	}
}

// TestLeavingAndComingBack: what was reached is ticked the next time, and the run goes on
// where it was left.
func TestLeavingAndComingBack(t *testing.T) {
	var kept lab.Memory
	o := lab.Options{Remember: func(m lab.Memory) error { kept = m; return nil }}
	learn(t, 140, 42, o, func(x *program) {
		x.See("PAUSED")
		x.Press("H")
		x.See("reached at 10.1 s")
		x.Press("Q", "a")
		x.See("you said admitted")
		x.Press("C", "n", "C", "b")
		x.See("1 admitted")
		x.Press("q")
		x.Done()
	})
	if len(kept.Reached) != 1 || kept.Reached[0] != "fixed-edge" || kept.Moment == "" {
		t.Fatalf("remembered: %+v", kept)
	}
	learn(t, 140, 42, lab.Options{Memory: kept}, func(x *program) {
		x.See("2/24")
		x.See("1 admitted")
		x.Press("L")
		x.See("1 of 24 reached")
	})
}

// TestTheFirstMinute: the first lesson plays its solution once, which the user is not said to have reached, and then
// begins anew for the user; with any key it does so at once.
func TestTheFirstMinute(t *testing.T) {
	for _, key := range []string{"", "space"} {
		var kept lab.Memory
		o := lab.Options{Play: true, Remember: func(m lab.Memory) error { kept = m; return nil }}
		learn(t, 140, 42, o, func(x *program) {
			x.See("RUNS")
			x.Wait(2500 * time.Millisecond)
			x.See("20 admitted 0 denied")
			if key != "" {
				x.Press(key)
			} else {
				x.Wait(2 * time.Second)
			}
			x.See("Now make it happen yourself.")
			x.Press("space") // which leaves the text, behind which nothing is fired
			x.Gone("read this, then press enter")
			x.See(" 0 admitted 0 denied")
			x.Press("T", "b")
			x.See("10 admitted")
			x.Press("q")
		})
		if len(kept.Reached) > 0 {
			t.Errorf("what was shown is remembered as reached: %v", kept.Reached)
		}
	}
}

// TestTheSentenceIsAControl: tab chooses the numbers of the task one after the other, + and - change them, enter types
// them, and after the last one tab goes to the next view.
func TestTheSentenceIsAControl(t *testing.T) {
	learn(t, 140, 42, lab.Options{}, func(x *program) {
		x.See("PAUSED")
		x.Press("C", "+")
		x.See("b fires 11")
		x.Press("tab", "+")
		x.See("enter types it")
		x.See("admit 20 within one true window of 15 s. Its limit is 10 · b fires 11")
		x.Press("-", "tab", "+", "+")
		x.See("admit 24 within one true window of 10 s. Its limit is 12 · b fires 11")
		x.Press("enter", "7", "enter")
		x.See("admit 14 within one true window of 10 s. Its limit is 7 ·")
		x.Press("tab", "enter", "4", "0", "enter")
		x.See("b fires 40")
		x.Press("enter", "4", "x", "enter")
		x.See("N is a whole number")
		x.Press("tab")
		x.See("requests ·")
	})
	// A task that holds under the lesson's own terms alone says so, and the numbers that are changed are those of the run.
	learn(t, 80, 24, lab.Options{First: 3}, func(x *program) {
		x.See("PAUSED")
		x.Press("C", "tab")
		x.See("limit 10 · window 10 s · b fires 10")
		x.See("enter types it")
		x.Press("+")
		x.See("▲ Under 10 in 10 s: Fire one request")
		x.See("b fires 10") // on one line
		x.Press("enter", "1", "2", "enter")
		x.See("limit 12 · window 10 s ·")
	})
}
