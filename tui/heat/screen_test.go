package heat_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ratescope/themes"
	"ratescope/tui"
	"ratescope/tui/heat"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// alone is the map as the only screen of a program, on a clock of the test.
type alone struct {
	testing.TB
	app  *shell.App
	feed *tuitest.Feed
	now  time.Time
}

// newAlone returns the map of a feed after some seconds.
func newAlone(t testing.TB, w, h int, d time.Duration, people ...tuitest.Personality) *alone {
	t.Helper()
	app, err := shell.New(t.Context(), shell.Options{Shelf: themes.BuiltIn()})
	if err != nil {
		t.Fatal(err)
	}
	app.Register("heat", "shows every key over time", heat.New(session.New(app, session.Options{})))
	a := &alone{t, app, nil, time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	a.feed = tuitest.NewFeed(a.now, people...)
	app.Update(tea.WindowSizeMsg{Width: w, Height: h})
	a.run(d)
	return a
}

// run lets time pass.
func (a *alone) run(d time.Duration) {
	for end := a.now.Add(d); a.now.Before(end); {
		a.now = a.now.Add(tuitest.Refresh)
		a.app.Update(session.BatchMsg(a.feed.Advance(a.now)))
		a.app.View()
		a.app.Update(shell.TickAt(a.now))
	}
}

func (a *alone) press(names ...string) {
	for _, name := range names {
		a.app.Update(tuitest.Key(name))
		a.app.View()
	}
}

func (a *alone) text() string { return ansi.Strip(a.app.View().Content) }

func (a *alone) see(wants ...string) {
	a.Helper()
	text := a.text()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			a.Errorf("%q is not on the map:\n%s", want, text)
		}
	}
}

// TestHeatFoldsKeysIntoPrefixes folds, opens a prefix, and asks what other terms would have done
// to all of its keys.
func TestHeatFoldsKeysIntoPrefixes(t *testing.T) {
	var people []tuitest.Personality
	for i := range 12 {
		p := tuitest.Overrun()[i%len(tuitest.Overrun())]
		p.Name = fmt.Sprintf("%s:%02d", []string{"api:search", "api:list", "mail"}[i%3], i)
		people = append(people, p)
	}
	a := newAlone(t, 140, 42, 12*time.Second, people...)
	a.press("f")
	a.see("api:… ×8", "mail:… ×4")
	for range 2 {
		if strings.Contains(a.text(), "api:… ×8 at ") {
			break
		}
		a.press("down")
	}
	a.press("enter")
	a.see("api:search:… ×4", "api:list:… ×4")
	a.press("w")
	a.press("ctrl+u")
	for _, r := range "sliding-log 1/10s" {
		a.press(string(r))
	}
	a.press("enter")
	a.see(":… ×4 what if sliding-log 1/10s", " admitted ", " → ", "as it was", " a column")
	a.press("esc")
	if strings.Contains(a.text(), "what if sliding-log") {
		t.Error("esc does not end what if")
	}
	a.press("esc")
	a.see("mail:… ×4")
	a.press("f")
	a.see("mail:02")
}

// TestTheMapShowsTheTimeToCome of a key that is throttled: it denies up to the slot that is next. A row of several
// keys, the others of which are at ease, shows the same.
func TestTheMapShowsTheTimeToCome(t *testing.T) {
	people := slices.DeleteFunc(tuitest.Overrun(), func(p tuitest.Personality) bool { return p.Limit.Window < 30*time.Second })[:1]
	people[0].Name = "over:1"
	a := newAlone(t, 140, 42, 12*time.Second, people...)
	a.see("now", "+7s", "per ")
	wait := func(what string) {
		t.Helper()
		for range 100 {
			for line := range strings.Lines(a.text()) {
				if _, coming, _ := strings.Cut(line, "│"); strings.Contains(line, what) && strings.Contains(coming, "⣿") {
					return
				}
			}
			a.run(tuitest.Refresh)
		}
		t.Errorf("ten seconds show no time in which it will deny:\n%s", a.text())
	}
	wait("over:1")
	calm := tuitest.Calm()[0]
	for i := range 3 {
		calm.Name = fmt.Sprintf("over:%d", i+2)
		people = append(people, calm)
	}
	other := calm
	other.Name = "mail:1"
	a = newAlone(t, 140, 42, 12*time.Second, append(people, other)...)
	a.press("f")
	wait("over:… ×4")
}

// TestTheRowsFillTheMap at every size, as far as four lines a row go.
func TestTheRowsFillTheMap(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {140, 42}, {160, 48}, {200, 55}} {
		a := newAlone(t, size[0], size[1], 20*time.Second, tuitest.Overrun()...)
		lines := strings.Split(a.text(), "\n")
		rows := len(tuitest.Overrun())
		last := 0
		for y, line := range lines[:len(lines)-2] {
			if past, _, found := strings.Cut(line, "│"); found && strings.TrimSpace(past) != "" {
				last = y
			}
		}
		if room := len(lines) - 3 - last; room >= rows && 4*rows > last {
			t.Errorf("%v: %d lines below %d rows are empty:\n%s", size, room, rows, a.text())
		}
	}
}

// BenchmarkView is a picture of a thousand keys whose readings do not change.
func BenchmarkView(b *testing.B) {
	var people []tuitest.Personality
	for i := range 1000 {
		p := tuitest.Cast()[i%8]
		p.Name = fmt.Sprintf("tenant:%04d", i)
		people = append(people, p)
	}
	a := newAlone(b, 160, 48, 5*time.Second, people...)
	b.ReportAllocs()
	for b.Loop() {
		a.now = a.now.Add(100 * time.Millisecond)
		a.app.Update(shell.TickAt(a.now))
		a.app.View()
	}
}

// TestHeatShowsThousandsOfKeys puts 10,000 keys on one screen, opens rows until there is one
// key, and that key at the moment under the cursor.
func TestHeatShowsThousandsOfKeys(t *testing.T) {
	var people []tuitest.Personality
	for i := range 10_000 {
		p := tuitest.Cast()[i%8]
		p.Name = fmt.Sprintf("tenant:%05d", i)
		people = append(people, p)
	}
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, people...)
	s.Run(3 * time.Second)
	s.Press("6")
	s.See("10000 keys", " and 285 more at ")
	before := s.Session.Shown.At()
	s.Press("down", "down", "left", "enter")
	if s.App.Screen() != "heat" {
		t.Fatal("a row of many keys leads away from the map")
	}
	if strings.Contains(s.Text(), "10000 keys") {
		t.Errorf("enter does not open the row:\n%s", s.Text())
	}
	s.Press("esc")
	s.See("10000 keys")
	for range 6 {
		s.Press("enter")
		if s.App.Screen() != "heat" {
			break
		}
	}
	if s.App.Screen() != "dashboard" || s.Session.Selection.Selected == "" {
		t.Fatalf("the rows do not lead to a key: %s", s.App.Screen())
	}
	s.See("PAUSED", "admitted")
	if at := s.Session.Shown.At(); at > before || before.Sub(at) > 5*time.Second {
		t.Errorf("the dashboard shows %v, the cursor was about at %v", at.Time(), before.Time())
	}
}
