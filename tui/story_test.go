package tui_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/chart"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/tuitest"
)

// story runs a test in virtual time on a dashboard with the tests' own feed. It ends
// with no goroutine left: a bubble that leaves one behind fails the test.
func story(t *testing.T, w, h int, o tui.Options, tell func(x *terminal)) {
	t.Helper()
	told(t, w, h, o, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) { tell(x) })
}

// told is a story whose teller also has the feed and an armed injector.
func told(t *testing.T, w, h int, o tui.Options, tell func(*terminal, *tuitest.Feed, *feedInjector)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		feed := tuitest.NewFeed(time.Now())
		if o.Session.Source.Take == nil {
			o.Session.Source.Take = feed.Take
		}
		injector := &feedInjector{feed: feed}
		if o.Session.Inject.Injector == nil {
			o.Session.Inject.Injector = injector
		}
		x := start(t, w, h, dark, o)
		x.See("used/limit")
		tell(x, feed, injector)
	})
}

// row returns the line of the screen on which a text stands.
func row(t *testing.T, x *terminal, text string) string {
	t.Helper()
	for line := range strings.Lines(x.Screen()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	t.Fatalf("%q is not on screen:\n%s", text, x.Screen())
	return ""
}

var pin = chart.Unicode.PinMark

// byName puts the keys in an order that does not change under the test's hands.
func byName(x *terminal) { x.Press("s", "s", "s", "s", "s"); x.See("by name") }

// selected returns the first words of the row that is marked as selected.
func selected(t *testing.T, x *terminal) string {
	t.Helper()
	return row(t, x, "│ "+chart.Unicode.SelMark)
}

func TestFirstLookTellsWhoIsInTrouble(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		x.See("LIVE")
		x.See("near limit")
		x.See("login:otp:+4915112345678")
		x.See("next slot frees in")
		x.Press("q")
		x.Done()
		if x.AltScreen() {
			t.Error("the program left the terminal on its second screen")
		}
	})
}

func TestPauseFreezesThePictureAndCollectingGoesOn(t *testing.T) {
	told(t, 140, 42, tui.Options{}, func(x *terminal, feed *tuitest.Feed, _ *feedInjector) {
		x.Wait(3 * time.Second)
		x.Press("p")
		x.See("PAUSED")
		before := x.Screen()
		x.Wait(4 * time.Minute) // longer than the timeline of the busiest key reaches back
		if after := x.Screen(); after != before {
			t.Errorf("the paused picture changed from\n%s\nto\n%s", before, after)
		}
		x.Press("p")
		x.See("LIVE")
		x.Wait(time.Second)
		if strings.Contains(x.Screen(), "╱") {
			t.Errorf("the time of the pause is a gap:\n%s", x.Screen())
		}
	})
}

func TestScrollBackInTime(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		x.Wait(10 * time.Second)
		x.Press("left")
		x.See("back · esc now")
		x.Press("esc")
		x.See("LIVE")
		x.Press("p")
		still := x.Screen()
		x.Press("left", "left", "left")
		if x.Screen() == still {
			t.Error("the left arrow shows nothing earlier")
		}
		x.Press("right", "right", "right", "right")
		if got := x.Screen(); got != still {
			t.Errorf("three steps back and more forward show\n%s\nand it was\n%s", got, still)
		}
		for range 100 {
			x.Send(tuitest.Key("h"))
		}
		x.Wait(300 * time.Millisecond)
		far := x.Screen()
		x.Press("h")
		if x.Screen() != far {
			t.Error("there is no end of the past")
		}
		x.Press("p")
		x.See("LIVE")
	})
}

func TestFilter(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		x.Press("/", "w", "h", "o", "k", "p") // p is a letter here, not the pause
		x.See("No key matches the filter whokp")
		x.Press("backspace")
		x.See("webhook:github")
		x.Gone("api:search:alice")
		x.Press("enter", "p")
		x.See("PAUSED")
		x.Press("p", "esc")
		x.See("api:search:alice")
		x.Press("/", "q", "u", "esc")
		x.See("api:search:alice")
		x.Send(tuitest.Key("/"))
		x.Send(tea.PasteMsg{Content: "mail\x1b[31m"})
		x.Wait(200 * time.Millisecond)
		if strings.ContainsRune(x.Screen(), 0x1b) {
			t.Error("what was pasted reached the terminal")
		}
	})
}

func TestSortAndReverse(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		x.See("trouble first")
		x.Press("s")
		x.See("by utilization")
		for _, order := range []string{"rate", "denied", "next", "name"} {
			x.Press("s")
			x.See("by " + order)
		}
		rows := func() (list []string) {
			_, table, _ := strings.Cut(x.Screen(), "used/limit")
			table, _, _ = strings.Cut(table, "╰")
			for line := range strings.Lines(table) {
				for _, p := range tuitest.Cast() {
					if fields := strings.Fields(line); len(fields) > 3 && strings.Contains(strings.Join(fields[:3], " "), p.Name[:5]) {
						list = append(list, p.Name)
					}
				}
			}
			return list
		}
		up := rows()
		x.Press("S")
		x.See("by name reversed")
		down := rows()
		for i := range up {
			if up[i] != down[len(down)-1-i] {
				t.Fatalf("reversed, %v is %v", up, down)
			}
		}
		if len(up) != len(tuitest.Cast()) || !slices.IsSorted(up) {
			t.Errorf("by name the keys are %v", up)
		}
		column, line, _ := x.Find("limiter")
		x.Click(column+2, line)
		x.See("by algorithm")
		x.Click(column+2, line)
		x.See("by algorithm reversed")
	})
}

func TestPinKeepsAKeyOnTop(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		x.Press("end")
		last := selected(t, x)
		x.Press("P")
		x.See(pin)
		x.Wait(2 * time.Second)
		_, top, _ := x.Find(pin)
		_, head, _ := x.Find("used/limit")
		if top != head+1 {
			t.Errorf("the pinned key stands %d rows below the heading", top-head)
		}
		if name := strings.Fields(strings.Trim(last, "│ ▌●▲✖·"))[0]; !strings.Contains(row(t, x, pin), name) {
			t.Errorf("pinned is %q, and %q was selected", row(t, x, pin), name)
		}
		x.Press("P")
		x.Gone(pin)
	})
}

func TestThemes(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		x.Press("t")
		x.See("phosphor")
		x.See("colour-blind")
		x.Press("down", "down", "enter")
		x.See("Theme: ")
		x.Press("t", "down", "esc") // looked at and left alone
		x.Gone("colour-blind")
		x.Press("t", "d", "r", "a", "c", "enter")
		x.See("Theme: dracula")
	})
}

func TestOverlaysAndScreens(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		x.Press("?")
		x.See("fires one request at the selected key")
		x.Press("esc")
		x.Gone("fires one request at the selected key")
		x.Press(":")
		x.See("pauses the picture")
		x.Press("p", "a", "u", "s", "e", "s", "enter")
		x.See("PAUSED")
		x.Press("p", "2")
		x.Gone("used/limit")
		x.Press("esc")
		x.See("used/limit")
		x.Press("5")
		x.See("events")
		x.Press("1")
		x.See("used/limit")
		x.Press("tab", "enter")
		x.Gone("used/limit")
		x.See("next slot frees in")
		x.Press("esc")
		x.See("used/limit")
	})
}

func TestResize(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		x.Resize(60, 20)
		x.See("used/limit")
		x.Resize(30, 8)
		x.See("needs 60x20, this is 30x8")
		x.Resize(3, 1)
		x.Resize(200, 55)
		x.See("what counts now")
		x.Gone("needs 60x20")
	})
}

func TestTheServerGoesAwayAndComesBack(t *testing.T) {
	told(t, 140, 42, tui.Options{}, func(x *terminal, feed *tuitest.Feed, _ *feedInjector) {
		x.Wait(3 * time.Second)
		if strings.Contains(x.Screen(), "╱") {
			t.Fatalf("there is a gap before anything happened:\n%s", x.Screen())
		}
		feed.Break(time.Now(), "prod-eu-1 does not answer: connection refused; still trying.")
		x.See("DOWN")
		x.See("prod-eu-1 does not answer: connection refused; still trying.")
		x.Wait(5 * time.Second)
		x.See("DOWN 7") // 5 s and what it took to see it
		feed.Mend()
		x.See("LIVE")
		x.See("is back after") // which the alerts say, and keep why it was away
		x.Wait(time.Second)
		if header, _, _ := strings.Cut(x.Screen(), "keys"); strings.Contains(header, "does not answer") {
			t.Errorf("the header still says why the server was away:\n%s", header)
		}
		x.See("╱")
		x.Press("5")
		x.See("is away: prod-eu-1 does not answer")
		x.See("is back after")
	})
}

func TestConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, 120, 36, dark,
			tui.Options{Session: session.Options{Source: session.Source{Take: func(ctx context.Context) (model.Batch, error) {
				<-ctx.Done()
				return model.Batch{}, ctx.Err()
			}}}})
		x.See("CONNECTING")
		x.Press("b", "p", "enter", "y", "down", "5", "2", "1")
		x.See("CONNECTING")
	})
}

func TestASourceThatFailsEndsTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the recording ends in the middle of a line")
		x := start(t, 120, 36, dark, tui.Options{Session: session.Options{Source: session.Source{Take: func(context.Context) (model.Batch,
			error) {
			return model.Batch{}, broken
		}}}})
		x.Wait(time.Second)
		x.Done()
		if err := x.Err(); !errors.Is(err, broken) {
			t.Errorf("the program ends with %v, want %v", err, broken)
		}
		if x.AltScreen() {
			t.Error("the program left the terminal on its second screen")
		}
	})
}

func TestNoKeysAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, 120, 36, dark,
			tui.Options{Session: session.Options{Source: session.Source{Take: func(ctx context.Context) (model.Batch, error) {
				select {
				case <-ctx.Done():
					return model.Batch{}, ctx.Err()
				case <-time.After(tuitest.Refresh):
				}
				now := time.Now()
				return model.Batch{At: limiter.InstantOf(now), Local: now, Server: model.Server{Link: model.Live, Target: "redis://x"},
					Sweep: model.Sweep{Passes: 1, Patterns: []string{"rl:*"}}}, nil
			}}}})
		x.See("There is no key on this server yet.")
		x.Press("space", "y", "P", "enter", "tab", "down", "end")
		x.See("LIVE")
	})
}

func TestReadOnlySaysHowToAllowIt(t *testing.T) {
	injector := &feedInjector{
		refuse: errors.New("redis://prod is opened read-only, so nothing is fired at it: start ratescope with --allow-inject to allow it"),
	}
	story(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}}, func(x *terminal) {
		x.See("read-only")
		x.Press("space")
		x.See("start ratescope with --allow-inject")
		x.Press("b", "r", "+", "x")
		if orders := injector.Orders(); len(orders) != 0 {
			t.Errorf("a read-only screen fired %+v", orders)
		}
	})
}

func TestFiring(t *testing.T) {
	told(t, 140, 42, tui.Options{}, func(x *terminal, feed *tuitest.Feed, injector *feedInjector) {
		byName(x)
		column, line, _ := x.Find("quiet:once")
		x.Click(column, line)
		x.See("ARMED")
		x.Press("space")
		x.See("fired 1: 1 admitted")
		x.See("1/10")
		x.See(string(chart.Unicode.MarkYes)) // whose it was
		x.Press("b")
		x.See("fired 11: 10 admitted, 1 denied")
		x.See("10/10")
		x.Wait(time.Second) // to a column of their own
		x.Press("+", "+", "-", "b")
		x.Wait(time.Second)
		orders := injector.Orders()
		var sizes []int
		for _, s := range orders {
			if s.Key != "quiet:once" || s.Cost != 1 {
				t.Errorf("it fired %+v", s)
			}
			sizes = append(sizes, s.N)
		}
		if len(sizes) != 3 || sizes[0] != 1 || sizes[1] != 10 || sizes[2] != 20 {
			t.Fatalf("the orders were %v, want 1, 10 and 20 requests", sizes)
		}
		x.See(string(chart.Unicode.MarkNo))

		x.Press("r")
		x.See("firing 5.0/s at quiet:once")
		x.See("stop rate")
		x.Press("+")
		x.See("firing 10.0/s at quiet:once")
		x.Press("r")
		x.Gone("firing")
		x.Press("r")
		x.See("firing 10.0/s")
		x.Press("x")
		x.Gone("firing")
		count := regexp.MustCompile(`fired \d+: \d+ admitted, \d+ denied`)
		fired := count.FindString(x.Screen())
		x.Wait(5 * time.Second)
		if again := count.FindString(x.Screen()); again != fired || fired == "" {
			t.Errorf("after x there were more: %q and then %q", fired, again)
		}
		x.Press("r")
		x.See("firing")
		x.Press("q") // while it fires
		x.Done()
		if x.AltScreen() {
			t.Error("the program left the terminal on its second screen")
		}
	})
}

func TestQuittingLeavesNothingBehind(t *testing.T) {
	for _, key := range []string{"q", "ctrl+c"} {
		for _, state := range [][]string{nil, {"/", "x"}, {"?"}, {"t"}, {":"}, {"p"}, {"2"}, {"r"}} {
			story(t, 100, 30, tui.Options{}, func(x *terminal) {
				x.Press(state...)
				if key == "q" && len(state) > 0 && strings.Contains("/ ? t :", state[0]) {
					return // a letter there
				}
				x.Press(key)
				x.Done()
				if x.AltScreen() {
					t.Errorf("%s after %v left the terminal on its second screen", key, state)
				}
				if err := x.Err(); err != nil {
					t.Errorf("%s after %v ends with %v", key, state, err)
				}
			})
		}
	}
}

// TestThePastOfSeveralServersIsOneMoment: where several servers are in one view, the rows of all of them are of the past, and go on with
// the header.
func TestThePastOfSeveralServersIsOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []tui.Options
		for _, name := range []string{"one", "two"} {
			people := tuitest.Overrun()
			for i := range people {
				people[i].Name = name + ":" + people[i].Name
			}
			all = append(all, tui.Options{Session: session.Options{Target: name, Source: session.Source{Take: tuitest.NewFeed(time.Now(),
				people...).Take}}})
		}
		x := launch(t, 140, 42, dark, func(ctx context.Context, extra ...tea.ProgramOption) error {
			return tui.Run(ctx, all, extra...)
		})
		rows := func() string {
			x.Resize(140, 42)
			lines := slices.DeleteFunc(strings.Split(x.Screen(), "\n"), func(line string) bool {
				return !strings.Contains(line, "o:") &&
					!strings.Contains(line, "e:")
			})
			return strings.Join(lines, "\n")
		}
		x.See("two:")
		x.Wait(10 * time.Second)
		now := rows()
		x.Press("left", "left", "left", "left")
		x.See("PAUSED, ")
		then := rows()
		if then == now {
			t.Errorf("the past is as now:\n%s", then)
		}
		x.Wait(4 * time.Second)
		if later := rows(); later != then {
			t.Errorf("the past changes:\n%s\nafter\n%s", later, then)
		}
		x.Press("esc")
		x.See("LIVE")
		if rows() == then {
			t.Errorf("now is as the past:\n%s", then)
		}
	})
}
