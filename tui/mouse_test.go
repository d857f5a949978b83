package tui_test

import (
	"strings"
	"testing"
	"time"

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
			x.Send(tea.MouseMotionMsg{X: column + 1, Y: line})
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
