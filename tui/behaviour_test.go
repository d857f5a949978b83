package tui_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

func TestTheClockOnScreenIsTheServers(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	offset := 90 * time.Minute
	s.Edit = func(b *model.Batch) { // the server's clock is elsewhere
		shift := limiter.Instant(offset / time.Microsecond)
		b.At += shift
		b.Server.Offset = offset
		for i := range b.Readings {
			r := &b.Readings[i]
			r.At, r.Since = r.At+shift, r.Since+shift
			for j := range r.Arrivals {
				r.Arrivals[j].At += shift
			}
			for j := range r.State.Log {
				r.State.Log[j].At += shift
			}
			r.State.Start += shift
		}
	}
	s.Run(5 * time.Second)
	s.See("10:30:05", "+1h30m")
	offset = -time.Hour // the clock was set back
	s.Run(5 * time.Second)
	s.See("08:00:10", "-1h00m")
	if header, _, _ := strings.Cut(s.Text(), "keys"); strings.Contains(header, "10:30") { // the alerts keep theirs
		t.Errorf("the time before the clock was set back is still on screen:\n%s", s.Text())
	}
}

func TestBetweenTwoBatchesTheNumbersMove(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Run(12 * time.Second)
	s.Press("s", "s", "s", "s", "s", "home")
	seen := map[string]bool{}
	for i := range 10 {
		s.App.Update(shell.TickAt(s.Now.Add(time.Duration(i) * 100 * time.Millisecond)))
		for line := range strings.Lines(s.Text()) {
			if i := strings.Index(line, "next window in"); i >= 0 {
				seen[line[i:i+22]] = true
			}
		}
	}
	if len(seen) < 8 {
		t.Errorf("in a second without a batch the window's end was shown at %d distances: %v", len(seen), seen)
	}
}

func TestTheSelectionStaysOnItsKey(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, tuitest.Crowd(80)...)
	s.Run(5 * time.Second)
	s.Press("down", "down", "down", "down", "down")
	key := s.Session.Selection.Selected
	for range 30 {
		s.Run(time.Second)
		if got := s.Session.Selection.Selected; got != key {
			t.Fatalf("%q was selected, and now %q is", key, got)
		}
	}
	for _, press := range []string{"s", "S", "s", "s", "P", "2", "1", "p", "p"} {
		s.Press(press)
		s.App.View()
		if got := s.Session.Selection.Selected; got != key {
			t.Fatalf("after %s %q is selected, and %q was", press, got, key)
		}
	}
	for _, press := range []string{"end", "home", "pgdown", "pgdown", "pgup", "down", "G", "home"} {
		s.Press(press)
		visible := false
		for line := range strings.Lines(s.Text()) {
			visible = visible || strings.HasPrefix(line, "│ ▌")
		}
		if !visible {
			t.Errorf("after %s the selected row cannot be seen:\n%s", press, s.Text())
		}
	}
}

// TestTheWorstKeyIsSelectedFirst: what is read first need not be what is worst, and nothing
// moves after a key press.
func TestTheWorstKeyIsSelectedFirst(t *testing.T) {
	for _, touched := range []bool{false, true} {
		s := tuitest.NewStage(t, 140, 42, tui.Options{})
		calm, worst := s.Feed.People[7].Name, s.Feed.People[2].Name
		hidden := true
		s.Edit = func(b *model.Batch) {
			if hidden {
				b.Readings = slices.DeleteFunc(b.Readings, func(r model.Reading) bool { return r.Key != calm })
			}
		}
		s.Run(400 * time.Millisecond)
		if got := s.Session.Selection.Selected; got != calm {
			t.Fatalf("%q is selected, and only %q is known", got, calm)
		}
		if touched {
			s.Press("]")
		}
		s.Edit = func(b *model.Batch) {
			for i := range b.Readings {
				if r := &b.Readings[i]; r.Key == worst {
					r.State.Log = []limiter.Entry{{At: b.At.Add(-time.Second), Count: 5}}
				}
			}
		}
		s.Run(3 * time.Second)
		want := worst
		if touched {
			want = calm
		}
		if got := s.Session.Selection.Selected; got != want {
			t.Errorf("touched %v: %q is selected, want %q:\n%s", touched, got, want, s.Text())
		}
		s.Edit = nil
		settled := s.Session.Selection.Selected
		for range 20 {
			if s.Run(time.Second); s.Session.Selection.Selected != settled {
				t.Fatalf("touched %v: the selection went from %q to %q", touched, settled, s.Session.Selection.Selected)
			}
		}
	}
}

// TestLookingIsNoChoice: who looks at other screens has chosen no key, and the selection goes on to follow the first row.
func TestLookingIsNoChoice(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, tuitest.Mixed()...)
	s.Run(5 * time.Second)
	s.Press("2", "4", "5", "6", "1", "esc")
	was, moves := s.Session.Selection.Selected, 0
	for range 60 {
		s.Run(time.Second)
		if s.Session.Selection.Selected != s.Session.Rows.Rows[0].Reading.Key {
			t.Fatalf("%q is selected, and %q is first", s.Session.Selection.Selected, s.Session.Rows.Rows[0].Reading.Key)
		}
		if s.Session.Selection.Selected != was {
			was, moves = s.Session.Selection.Selected, moves+1
		}
	}
	if moves == 0 {
		t.Error("the first row never changed: the traffic proves nothing")
	}
}

// TestNothingIsFiredAtAKeyThatWasNotChosen: the selected key goes away, and the
// next press was meant for it.
func TestNothingIsFiredAtAKeyThatWasNotChosen(t *testing.T) {
	injector := &feedInjector{}
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}})
	injector.feed = s.Feed
	fire := func() {
		if _, cmd := s.App.Update(tuitest.Key("space")); cmd != nil {
			cmd()
		}
	}
	s.Run(3 * time.Second)
	fire()
	lost := s.Session.Selection.Selected
	s.Edit = func(b *model.Batch) {
		b.Readings = slices.DeleteFunc(b.Readings, func(r model.Reading) bool { return r.Key == lost })
		b.LeftOut = []string{lost}
	}
	s.Run(time.Second)
	other := s.Session.Selection.Selected
	if other == lost {
		t.Fatalf("%q left the board and is selected", lost)
	}
	fire()
	if orders := injector.Orders(); len(orders) != 1 || orders[0].Key != lost {
		t.Errorf("fired %+v; the second press was meant for %q", orders, lost)
	}
	s.See(lost+" is gone", "press again")
	fire()
	if orders := injector.Orders(); len(orders) != 2 || orders[1].Key != other {
		t.Errorf("after the word of it, fired %+v", orders)
	}
}

func TestTheSourceIsToldWhatCanBeSeen(t *testing.T) {
	var focused []string
	people := tuitest.Crowd(200)
	for i := range people {
		people[i].Name = fmt.Sprintf("key%03d", i) // short enough to stand in full everywhere
	}
	s := tuitest.NewStage(t, 140, 42,
		tui.Options{Session: session.Options{Source: session.Source{Focus: func(keys []string) { focused = slices.Clone(keys) }}}},
		people...)
	for _, press := range []string{"home", "end", "pgup", "down", "2", "pgdown", "down", "1", "home"} {
		s.Press(press)
		s.Run(2 * time.Second)
		if len(focused) == 0 || focused[0] != s.Session.Selection.Selected {
			t.Fatalf("after %q the source was told of %d keys, and the first is not the selected %q", press, len(focused),
				s.Session.Selection.Selected)
		}
		if len(focused) > 80 {
			t.Errorf("after %q the source was told of %d keys: more than fit", press, len(focused))
		}
		for _, name := range regexp.MustCompile("key[0-9]{3}").FindAllString(listed(s.Text()), -1) {
			if !slices.Contains(focused, name) {
				t.Errorf("after %q %s is on screen and the source was not told: %v", press, name, focused)
				break
			}
		}
	}
}

// listed is the part of the screen that lists keys: below the header, without the alerts.
func listed(text string) string {
	text, _, _ = strings.Cut(strings.SplitN(text, "\n", 5)[4], "alerts · newest first")
	return text
}

func TestMaskedNamesStayHidden(t *testing.T) {
	secret := "session:9f8e7d6c5b4a39281706:requests"
	p := tuitest.Cast()[0]
	p.Name = secret
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Mask: true, Inject: firing.Options{Injector: &feedInjector{}}}}, p)
	s.Run(15 * time.Second)
	s.App.Update(firing.FiredMsg(outcomes(secret)...))
	for _, scene := range scenes {
		s.Press(scene.to...)
		if strings.Contains(s.Text()+s.App.View().WindowTitle, "7d6c5b4a3928") {
			t.Errorf("%s shows the middle of the name:\n%s", scene.name, s.Text())
		}
		s.Press(scene.back...)
	}
	s.Press("y")
	if strings.Contains(s.Text(), "7d6c5b4a3928") {
		t.Errorf("what was copied shows the middle of the name:\n%s", s.Text())
	}
}

func TestAKeyThatLeavesIsNotCountedAsThrottled(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, tuitest.Overrun()[:3]...)
	s.Run(15 * time.Second)
	s.See("3 throttled")
	names := []string{}
	for _, p := range tuitest.Overrun()[:3] {
		names = append(names, p.Name)
	}
	s.Edit = func(b *model.Batch) { b.Readings, b.Gone = nil, names }
	s.Run(2 * time.Second)
	if strings.Contains(s.Text(), "3 throttled") {
		t.Errorf("keys that are not on the server any more count as throttled:\n%s", s.Text())
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []tui.Options{{Look: shell.Options{FPS: -1}}, {Look: shell.Options{FPS: 1000}},
		{Look: shell.Options{Theme: "no such theme"}}} {
		if err := tui.Run(t.Context(), []tui.Options{o}); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// BenchmarkPaintLongNames compares a frame of names of 4 KB with one of short
// names.
func BenchmarkPaintLongNames(b *testing.B) {
	for _, length := range []int{20, 4096} {
		b.Run(fmt.Sprintf("bytes=%d", length), func(b *testing.B) {
			people := tuitest.Crowd(60)
			for i := range people {
				people[i].Name = fmt.Sprintf("%03d", i) + strings.Repeat("é\x1b", length/3)
			}
			s := tuitest.NewStage(b, 160, 48, tui.Options{}, people...)
			s.Run(10 * time.Second)
			b.ReportAllocs()
			for b.Loop() {
				s.Now = s.Now.Add(time.Millisecond)
				s.App.Update(shell.TickAt(s.Now))
				s.App.View()
			}
		})
	}
}

func TestAnEmptyScreenSaysWhatToDo(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Feed.Break(s.Now, "nothing listens at redis://x:1: start the server or correct the address")
	s.Edit = func(b *model.Batch) { b.Readings = nil }
	s.Run(2 * time.Second)
	s.See("Check the address, the port")
	s.Feed.Mend()
	s.Run(5 * time.Second)
	s.See("sixty limiter libraries", "Does yours write a form of its own?")
}
