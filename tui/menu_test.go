package tui_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"ratescope/model"
	"ratescope/model/lab"
	"ratescope/model/report"
	"ratescope/tui"
	"ratescope/tui/firing"
	screenlab "ratescope/tui/lab"
	"ratescope/tui/session"
	"ratescope/tui/state"
	"ratescope/tui/tuitest"
)

// TestTheMenus: each lists what it is for with the key that does it, under one key, and what is chosen by
// its key there is done; what fires asks first.
func TestTheMenus(t *testing.T) {
	injector := &feedInjector{}
	for _, size := range [][2]int{{80, 24}, {140, 42}} {
		s := tuitest.NewStage(t, size[0], size[1], tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}})
		s.Run(time.Second)
		s.Press("o")
		for _, want := range []string{"look ahead", "pin", "same prefix", "copy", "copy commands", "give room", "open in the lab",
			"burst at a copy", "order", "rate", "what if"} {
			s.See(want + " ")
		}
		s.Press("space")
		s.See("It writes to Redis.")
		s.Press("esc", "o", "c")
		s.See("One request of cost 1")
		s.Press("esc", "o", "z")
		s.See("esc back") // which clears the filter
		s.Press("esc", "m")
		for _, want := range []string{"save", "look", "server", "record", "export", "csv", "capsule", "theme", "mouse", "arm",
			"identify", "watch another"} {
			s.See(want + " ")
		}
		s.See("to /", "(on)")
		if text := s.Text(); strings.Count(text, "save ") != 1 {
			t.Errorf("a heading stands more than once:\n%s", text)
		}
		s.Press("m")
		s.See("Mouse off")
		s.Press("m", "m")
		s.See("Mouse on")
		s.Press("m", "w")
		s.See("ratescope --redis redis://HOST:6379 --watch")
		s.Press("esc", "m", "W")
		s.See("limiters")
		s.Press("esc")
	}
	if n := len(injector.Orders()); n != 0 {
		t.Errorf("the menus fired %d times without a question", n)
	}
}

// TestDialogsLeaveTheSelectedRowInSight opens what is about the selected key at each row of a small screen.
func TestDialogsLeaveTheSelectedRowInSight(t *testing.T) {
	selected := regexp.MustCompile(`▌. \S+ .*\d+/\d+ .*│`)
	for _, size := range [][2]int{{60, 20}, {80, 24}, {140, 42}} {
		story(t, size[0], size[1], tui.Options{}, func(x *terminal) {
			for range 8 {
				x.Press("j")
				for key, says := range map[string]string{"o": "same prefix", "$": "free now", "t": "phosphor"} {
					x.Press(key)
					x.See(says)
					if !selected.MatchString(x.Screen()) {
						t.Errorf("at %dx%d %s hides the selected row:\n%s", size[0], size[1], key, x.Screen())
					}
					x.Press("esc")
				}
			}
		})
	}
}

// TestExportOfAKey: what the selected key did, in the format that was chosen; the menu names the folder.
func TestExportOfAKey(t *testing.T) {
	var got string
	var as report.Format
	o := tui.Options{Session: session.Options{Saving: state.FileOptions{History: func(key string, f report.Format) (string, error) {
		got,
			as = key, f
		return "/tmp/otp.csv", nil
	}}}}
	story(t, 140, 42, o, func(x *terminal) {
		folder, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		x.Press("/", "o", "t", "p", "enter", "m")
		x.See("exports what the key did as csv, md or jsonl to " + folder[:min(12, len(folder))])
		x.Press("V")
		x.See("export login:otp:+4915112345678 as")
		x.Press("c", "s", "v", "enter")
		x.See("/tmp/otp.csv")
		if !strings.Contains(got, "otp") || as != report.CSV {
			t.Errorf("%q was exported as %q", got, as)
		}
	})
}

func TestCopy(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		x.Press("y")
		x.See("Copied: login:otp:+4915112345678")
	})
}

func TestExport(t *testing.T) {
	var got model.Batch
	o := tui.Options{Session: session.Options{Saving: state.FileOptions{Export: func(b model.Batch) (string,
		error) {
		got = b
		return "/tmp/out.json", nil
	}}}}
	story(t, 140, 42, o, func(x *terminal) {
		x.Press("e")
		x.See("/tmp/out.json")
		if len(got.Readings) != len(tuitest.Cast()) {
			t.Errorf("%d keys were exported, want %d", len(got.Readings), len(tuitest.Cast()))
		}
	})
}

// TestExportOfRows: of the keys that fit the filter, in the format that was chosen.
func TestExportOfRows(t *testing.T) {
	var got model.Batch
	var as report.Format
	o := tui.Options{Session: session.Options{Saving: state.FileOptions{ExportRows: func(b model.Batch, f report.Format) (string,
		error) {
		got, as = b, f
		return "/tmp/out.md", nil
	}}}}
	story(t, 140, 42, o, func(x *terminal) {
		x.Press("/", "o", "t", "p", "enter", "E")
		x.See("export 1 key as")
		x.Press("m", "d", "enter")
		x.See("/tmp/out.md")
		if len(got.Readings) != 1 || !strings.Contains(got.Readings[0].Key, "otp") || as != report.Markdown || got.At == 0 {
			t.Errorf("%v was exported as %q", got.Readings, as)
		}
	})
}

// TestAKeyBecomesALesson opens the requests of a key that was denied in the lab, plays them, and
// saves the lesson as a file that opens as one.
func TestAKeyBecomesALesson(t *testing.T) {
	saved := map[string][]byte{}
	o := tui.Options{Lab: screenlab.Options{Save: func(name string, content []byte) error { saved[name] = content; return nil }}}
	told(t, 140, 42, o, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
		x.Wait(20 * time.Second)
		key := strings.Fields(selected(t, x))
		x.Press("O")
		x.See("Incident: the limit for ")
		x.See("as they were recorded")
		x.Press("enter", "p")
		x.Wait(5 * time.Second)
		x.Press("p")
		if text := x.Screen(); strings.Contains(text, " 0 admitted 0 denied") {
			t.Errorf("no request of %v came:\n%s", key, text)
		}
		x.Press("E")
		x.See("Saved incident-limit.json to /")
		x.Press("H")
		x.See("reached at ")
		x.See(" denies nothing, and a smaller one does.")
		x.Press("n", "H")
		x.See("reached at ")
		x.See("It admitted ")
		x.Press("N")
		x.Press("1")
		x.See("used/limit")
		x.Press("3")
		x.See("Incident: the limit for ")
	})
	list, err := lab.Load(saved["incident-limit.json"])
	if err != nil || len(list) != 1 || list[0].Goal == nil || len(list[0].Steps) == 0 {
		t.Fatalf("the file holds %d lessons (%v)", len(list), err)
	}
}

// TestWithoutWhatWasInjected: one key takes what was fired from here out of every figure, the screen
// says so, and again shows all; also in a pause.
func TestWithoutWhatWasInjected(t *testing.T) {
	told(t, 140, 42, tui.Options{}, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
		x.Press("/", "o", "n", "c", "e", "enter")
		x.See("0/10")
		x.Press("b")
		x.See("10/10")
		x.Press("\\")
		x.See("NOT INJECTED")
		x.See("0/10")
		x.Gone("10/10")
		x.Wait(2 * time.Second)
		x.See("0/10")
		x.Press("p")
		x.See("PAUSED, NOT INJECTED")
		x.See("0/10")
		x.Press("\\")
		x.Gone("NOT INJECTED")
		x.See("10/10")
		x.Press("p")
		x.See("LIVE")
		x.See("10/10")
	})
}
