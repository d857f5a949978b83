package tui_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"ratescope/tui"
	"ratescope/tui/chart"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/tuitest"
)

func TestTheMouseSelectsScrollsAndPresses(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		byName(x)
		column, line, found := x.Find("mail:outbound")
		if !found {
			t.Fatal("the key is not listed")
		}
		x.Click(column+1, line)
		if got := selected(t, x); !strings.Contains(got, "mail:outbound") {
			t.Errorf("a click on mail:outbound selects %q", got)
		}
		was := selected(t, x)
		x.Send(tea.MouseWheelMsg{X: column, Y: line, Button: tea.MouseWheelUp})
		x.Wait(200 * time.Millisecond)
		if selected(t, x) == was {
			t.Error("the wheel over the keys moves nothing")
		}
		x.Click(2, 41) // the first hint of the footer is help
		x.See("key closes")
		x.Click(2, 20) // beside it
		x.Gone("key closes")
		column, line, _ = x.Find(" fire 1")
		x.Click(column+1, line)
		x.See("fired 1:")
		x.Press("m", "m")
		x.See("Mouse off")
		x.Press("m", "m")
		x.See("Mouse on")
	})
}

func TestAClickOnAnEventLeadsToItsKey(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		byName(x)
		x.Press("5")
		x.See("events")
		column, line, found := x.Find("checkout:cart:7f3a")
		if !found {
			t.Fatalf("checkout:cart:7f3a is in no event:\n%s", x.Screen())
		}
		x.Click(column+1, line)
		x.See("used/limit")
		if got := selected(t, x); !strings.Contains(got, "checkout:cart:7f3a") {
			t.Errorf("a click on its event selects %q", got)
		}
	})
}

func TestTheWheelMovesInAMenuAndNotBehindIt(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		byName(x)
		x.Press("end")
		x.Press("t")
		x.See("high-contrast")
		column, line, _ := x.Find("high-contrast")
		x.Send(tea.MouseWheelMsg{X: column, Y: line, Button: tea.MouseWheelDown})
		x.Wait(200 * time.Millisecond)
		if got := row(t, x, chart.Unicode.SelMark+" paper"); !strings.Contains(got, "light") {
			t.Errorf("the wheel selects %q", got)
		}
		x.Press("esc")
		if got := selected(t, x); !strings.Contains(got, "webhook:github") {
			t.Errorf("behind the menu webhook:github was selected, and now %q", got)
		}
	})
}

func TestTheWheelScrollsTimeWhilePaused(t *testing.T) {
	story(t, 140, 42, tui.Options{}, func(x *terminal) {
		byName(x)
		x.Press("home")
		x.Wait(5 * time.Second)
		x.Press("p")
		still := x.Screen()
		column, line, _ := x.Find(" window 1")
		x.Send(tea.MouseWheelMsg{X: column, Y: line + 3, Button: tea.MouseWheelUp})
		x.Wait(200 * time.Millisecond)
		if x.Screen() == still {
			t.Error("the wheel over the timeline does not scroll in time")
		}
		x.Send(tea.MouseWheelMsg{X: column, Y: line + 3, Button: tea.MouseWheelDown})
		x.Wait(200 * time.Millisecond)
		if x.Screen() != still {
			t.Error("scrolled back and forth it is another picture")
		}
	})
}

// TestTheMouseAsks rests on parts of the screen: each says what it is made of, over what
// stands there, and nothing else moves.
func TestTheMouseAsks(t *testing.T) {
	told(t, 140, 42, tui.Options{}, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
		byName(x)
		for _, c := range []struct{ on, says string }{
			{"used/limit", "What counts now against what the limit admits."},
			{"metrics:ingest", "sliding window counter, 200 in 5s"},
			{"/200", "current = "},
			{"oldest ", "leave the window next"},
			{"denied in the window", "Notes: what was denied in the"},
		} {
			if c.on == "oldest " {
				x.Press("2", "1")
			}
			column, line, found := x.Find(c.on)
			if !found {
				t.Fatalf("%q is not on screen:\n%s", c.on, x.Screen())
			}
			x.Send(tea.MouseMotionMsg{X: column, Y: line})
			x.See(c.says)
			x.Send(tea.MouseMotionMsg{X: 0, Y: 41})
			x.Gone(c.says)
		}
		column, line, found := x.Find("─ window ")
		if !found {
			t.Fatalf("there is no bracket:\n%s", x.Screen())
		}
		x.Send(tea.MouseMotionMsg{X: column, Y: line + 3})
		x.See("and the 833ms after it")
		x.Press("j")
		x.Gone("and the 833ms after it")
	})
}

// TestARightClickOffersTheRowsActions: what fires is the last, and asks.
func TestARightClickOffersTheRowsActions(t *testing.T) {
	injector := &feedInjector{}
	told(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}}, func(x *terminal, _ *tuitest.Feed,
		injector *feedInjector) {
		byName(x)
		open := func() {
			x.Press("home") // else its name stands above its timeline first
			column, line, found := x.Find("mail:outbound")
			if !found {
				t.Fatalf("the key is not listed:\n%s", x.Screen())
			}
			x.Send(tea.MouseClickMsg{X: column + 1, Y: line, Button: tea.MouseRight})
			x.See("selects the key, and closes")
		}
		open()
		if got := selected(t, x); !strings.Contains(got, "mail:outbound") {
			t.Errorf("a right click on mail:outbound selects %q", got)
		}
		for _, name := range []string{"look ahead", "what if", "pin", "copy", "same prefix", "fire", "burst"} {
			if _, _, found := x.Find(name + " "); !found {
				t.Errorf("the menu does not offer %q:\n%s", name, x.Screen())
			}
		}
		x.Press("enter")
		x.Gone("selects the key, and closes")
		open()
		x.Press("f", "i", "r", "enter")
		x.Wait(time.Second)
		if n := len(injector.Orders()); n != 0 {
			t.Fatalf("a part of its name fired %d times", n)
		}
		x.Press("esc", "esc")
		open()
		x.Press("s", "a", "m", "e", "enter")
		x.See("/mail:")
	})
}

// future returns a cell right of now on the axis of the timeline.
func future(t *testing.T, x *terminal, columns int) (column, line int) {
	t.Helper()
	lines := strings.Split(x.Screen(), "\n")
	for line, text := range slices.Backward(lines) { // the lanes above have an axis too
		if at := strings.Index(text, " now "); at > 0 && strings.Contains(text, "+") && strings.Contains(text, "-") {
			return utf8.RuneCountInString(text[:at]) + 3 + columns, line - 3
		}
	}
	t.Fatalf("there is no axis of time with a future:\n%s", x.Screen())
	return 0, 0
}

// TestAClickOnTheFutureFiresThen: one request, at the moment of the column and not before.
func TestAClickOnTheFutureFiresThen(t *testing.T) {
	told(t, 140, 42, tui.Options{}, func(x *terminal, _ *tuitest.Feed, injector *feedInjector) {
		x.Wait(3 * time.Second)
		column, line := future(t, x, 8)
		x.Click(column, line)
		x.See("One request is fired in")
		if n := len(injector.Orders()); n != 0 {
			t.Fatalf("%d orders were fired at once", n)
		}
		begun := time.Now()
		for len(injector.Orders()) == 0 && time.Since(begun) < time.Minute {
			x.Wait(100 * time.Millisecond)
		}
		took := time.Since(begun)
		t.Logf("it was fired after %v", took)
		x.Wait(took) // and not once more
		orders := injector.Orders()
		if len(orders) != 1 || orders[0].N != 1 {
			t.Fatalf("%+v was fired, want one request", orders)
		}
		x.Click(column, line)
		x.See("One request is fired in")
		x.Press("x")
		x.Wait(2 * took)
		if n := len(injector.Orders()); n != 1 {
			t.Errorf("a request that was taken back was fired: %d orders", n)
		}
	})
}

// TestAClickOnTheFutureSaysWhyNot where nothing may be fired.
func TestAClickOnTheFutureSaysWhyNot(t *testing.T) {
	injector := &feedInjector{refuse: errors.New("Read-only here: start with --allow-inject.")}
	story(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}}, func(x *terminal) {
		x.Wait(3 * time.Second)
		column, line := future(t, x, 8)
		x.Click(column, line)
		x.See("start with --allow-inject")
		x.Wait(15 * time.Second) // the moment of that column is six seconds away
		if n := len(injector.Orders()); n != 0 {
			t.Errorf("%d orders were fired", n)
		}
	})
}

// Dragging over a part of the timeline pauses on that part, drawn larger.
func TestDraggingZooms(t *testing.T) {
	told(t, 140, 42, tui.Options{}, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
		x.Press("j")
		column, line, found := x.Find("window 1")
		if !found {
			t.Fatalf("there is no bracket:\n%s", x.Screen())
		}
		line += 3
		x.Send(tea.MouseClickMsg{X: column, Y: line, Button: tea.MouseLeft})
		x.Send(tea.MouseMotionMsg{X: column + 8, Y: line, Button: tea.MouseLeft})
		x.See("denied, used") // the column under the cursor is read out
		x.Send(tea.MouseReleaseMsg{X: column + 8, Y: line, Button: tea.MouseLeft})
		x.See("PAUSED")
		axis := ""
		for line := range strings.Lines(x.Screen()) {
			if strings.Contains(line, "s ") && strings.Count(line, " -") > 1 && !strings.Contains(line, "used/limit") {
				axis = line // that of the timeline is the last
			}
		}
		if labels := regexp.MustCompile(`-[0-9.]+m?s`).FindAllString(axis, -1); len(labels) < 2 || strings.Contains(axis, "-20s") ||
			regexp.MustCompile(`-[0-9]+m[^s]`).MatchString(axis) {
			t.Errorf("eight columns were dragged over, and the axis is %q:\n%s", axis, x.Screen())
		}
		x.Press("esc")
		x.See("LIVE")
	})
}
