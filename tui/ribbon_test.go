package tui_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/tuitest"
)

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
