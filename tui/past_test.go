package tui_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/tui"
	"ratescope/tui/session"
	"ratescope/tui/state"
	"ratescope/tui/tuitest"
)

// TestThePastThatComesLaterIsDrawn: a replay shows where everything stood before it has read what
// came before, and the lines over the lane are then those of the board that knows more.
func TestThePastThatComesLaterIsDrawn(t *testing.T) {
	feed := tuitest.NewFeed(dawn)
	var little, all model.Board
	now := dawn
	for range 300 {
		now = now.Add(tuitest.Refresh)
		b := feed.Advance(now)
		all.Apply(b)
		little = model.Board{}
		little.Apply(b)
	}
	show := func(boards ...*model.Board) string {
		s := newStage(t, 140, 42, tui.Options{})
		for _, b := range boards {
			s.app.Update(tui.BatchMsg(b.Anew(b.At)))
			s.app.Update(tui.TickMsg(now))
			s.press("/", "m", "e", "t", "r", "i", "c", "s", "enter", "esc") // the cursor stays there
		}
		return s.text()
	}
	if got, want := show(&little, &all), show(&all); got != want {
		t.Errorf("drawn:\n%s\nwant:\n%s", got, want)
	}
}

// TestLeftGoesBackWithoutATimeline: where the rows are too few for a timeline, ← goes back in time all the same, at once, and
// esc leads to now.
func TestLeftGoesBackWithoutATimeline(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {60, 20}} {
		s := newStage(t, size[0], size[1], tui.Options{})
		s.run(20 * time.Second)
		s.press("left", "left", "left")
		s.see("PAUSED, ", " back")
		if back := s.app.Back(); back < time.Second {
			t.Errorf("at %dx%d three presses of ← go %v back", size[0], size[1], back)
		}
		s.press("esc")
		s.see(" LIVE ")
	}
}

// waysBack lead from now to a moment of the past.
var waysBack = []struct {
	name string
	lead func(s *stage)
	ago  time.Duration // about
}{
	{"arrows", func(s *stage) { s.press("left", "left", "left") }, 7500 * time.Millisecond},
	{"g", func(s *stage) { s.goBack("30s ago") }, 30 * time.Second},
	{"g, scrolled back far", func(s *stage) { s.goBack("60s ago"); s.goBack("30s") }, 30 * time.Second},
	{"g, twice", func(s *stage) { s.goBack("60s ago"); s.goBack(s.now.Add(-7 * time.Second).Format("15:04:05")) }, 7 * time.Second},
	{"arrows on the screen of the server", func(s *stage) { s.press("4", "left", "left", "left", "1") }, 7500 * time.Millisecond},
	{"an event", func(s *stage) { s.press("5", "down", "down", "down", "enter") }, 0},
	{"the heat map", func(s *stage) { s.press("6", "left", "left", "left", "enter") }, 0},
	{"arrows after a click", func(s *stage) { s.point(30, 30); s.press("left") }, 0},
	{"a click after a pause", func(s *stage) { s.press("p"); s.point(30, 30) }, 0},
	{"a drag", func(s *stage) { s.point(20, 30) }, 0},
	{"g, another key", func(s *stage) { s.goBack("30s ago"); s.press("down", "down") }, 30 * time.Second},
	{"a click, zoomed", func(s *stage) { s.press("p"); s.point(30, 30); s.press("[", "]", "]", "]") }, 0},
}

// goBack types a time of the past.
func (s *stage) goBack(text string) {
	s.press("g")
	for _, r := range text {
		s.app.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	s.press("enter")
}

// point presses the left button on one column of the timeline and releases it on another.
func (s *stage) point(from, to int) {
	row := s.h - 17
	if s.h < 30 { // the timeline has room where it has the focus
		s.press("tab")
		row = s.h - 12
	}
	s.app.Update(tea.MouseClickMsg{X: from, Y: row, Button: tea.MouseLeft})
	if to != from {
		s.app.Update(tea.MouseMotionMsg{X: to, Y: row, Button: tea.MouseLeft})
	}
	s.app.Update(tea.MouseReleaseMsg{X: to, Y: row, Button: tea.MouseLeft})
	s.app.View()
}

// TestThePastIsOneMoment: whichever way leads to the past, every pane shows one moment of it, the arrows go on from there, and one
// esc leads to now.
func TestThePastIsOneMoment(t *testing.T) {
	for _, size := range [][2]int{{140, 42}, {80, 24}} {
		for _, way := range waysBack {
			s := newStage(t, size[0], size[1], tui.Options{}, tuitest.Overrun()...)
			s.pass(95 * time.Second)
			s.run(5 * time.Second)
			way.lead(s)
			what := fmt.Sprintf("%dx%d: %s", size[0], size[1], way.name)
			s.see("PAUSED, ", " back")
			at := s.app.At()
			if ago := limiter.InstantOf(s.now).Sub(at); way.ago > 0 && (ago < way.ago*3/4 || ago > way.ago*5/4) {
				t.Errorf("%s: it is the moment %v ago, want %v", what, ago, way.ago)
			}
			first := s.text()
			s.size(s.w, s.h)
			if again := s.text(); again != first {
				t.Errorf("%s: drawn again it is another picture:\n%s\nafter\n%s", what, again, first)
			}
			s.press("left")
			if s.app.At() >= at {
				t.Errorf("%s: ← leads from %v to %v", what, at.Time(), s.app.At().Time())
			}
			s.press("right")
			if got := s.app.At(); got != at {
				t.Errorf("%s: ← and → lead from %v to %v", what, at.Time(), got.Time())
			}
			s.press("esc")
			if !strings.Contains(s.text(), " LIVE ") {
				t.Errorf("%s: one esc does not lead to now:\n%s", what, s.text())
			}
		}
	}
}

// TestWhatIsDrawnIsSaid: soon after the start, a moment of which a window is not known shows the level that its timeline draws, and does
// not say of what is drawn that it is not recorded.
func TestWhatIsDrawnIsSaid(t *testing.T) {
	s := newStage(t, 140, 42, tui.Options{})
	s.run(6 * time.Second)
	s.press("left")
	at, young := s.app.At(), 0
	for _, k := range s.app.Listed() {
		bin := k.Timeline.Between(at, at.Add(time.Microsecond))
		if bin.UsedKnown != k.Gauge.Used.Known {
			t.Errorf("%s: the timeline draws the level %d (%v), and the row shows %+v", k.Reading.Key, bin.Used, bin.UsedKnown,
				k.Gauge.Used)
		}
		if k.Gauge.DeniedInW.Known || !k.Reading.Denied.Known {
			continue
		}
		young++
		s.press("/")
		s.app.SetFilter(k.Reading.Key)
		s.press("enter")
		s.see("denied: not known")
	}
	if young == 0 {
		t.Error("there is no key whose denials are not known, and the test is of none")
	}
}

// TestLongPathsEndReadably: where a path is wider than the screen, the sentence about a file keeps the end of it.
func TestLongPathsEndReadably(t *testing.T) {
	path := "/var/lib/" + strings.Repeat("a-long-folder/", 12) + "out.json"
	s := newStage(t, 80, 24, tui.Options{Session: session.Options{Saving: state.FileOptions{Export: func(model.Batch) (string,
		error) {
		return path, nil
	}}}})
	s.run(time.Second)
	_, cmd := s.app.Update(tuitest.Key("e"))
	for _, msg := range messages(cmd) {
		s.app.Update(msg)
	}
	s.see("Exported", "a-long-folder/out.json")
}

// TestRowsAreOfTheBoardOnScreen: at every picture, live, without what was injected, paused and in the past, while keys go and come
// again, the rows are those of the board that the header and the panes show.
func TestRowsAreOfTheBoardOnScreen(t *testing.T) {
	people := tuitest.Overrun()
	for i := range people {
		people[i].Limit.Window = 2 * time.Second
	}
	s := newStage(t, 140, 42, tui.Options{}, people...)
	round := 0
	same := func(when string) {
		for _, k := range s.app.Listed() {
			if s.app.Shown(k.Reading.Key) != k {
				t.Fatalf("%s, round %d: the row of %s is another than the key on the board", when, round, k.Reading.Key)
			}
		}
	}
	s.edit = func(b *model.Batch) {
		if round%40 < 30 { // two of them are away for a while, and one after the other
			gone := b.Readings[round/40%2]
			b.Readings = slices.DeleteFunc(b.Readings, func(r model.Reading) bool { return r.Key == gone.Key })
			b.Gone = append(b.Gone, gone.Key)
		}
	}
	keys := []string{`\`, "p", "left", "left", `\`, "right", "down", "s", "esc", "S", "5", "1", "/", "esc"}
	for round = range 600 {
		s.run(tuitest.Refresh)
		same("after a batch")
		if round%7 == 0 {
			s.press(keys[round/7%len(keys)])
			same("after " + keys[round/7%len(keys)])
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

// TestTheHeaderOfThePast counts at a moment of the past what it counted when that moment was now, and it says so on the screen.
func TestTheHeaderOfThePast(t *testing.T) {
	tail := record.NewTail(record.Header{By: "test"}, 10*time.Minute, 64<<20)
	s := newStage(t, 140, 30, tui.Options{Session: session.Options{Saving: state.FileOptions{
		Keep: func(b model.Batch) {
			if err := tail.Write(b); err != nil {
				t.Error(err)
			}
		},
		Past: func(at limiter.Instant) *model.Board {
			r, err := tail.From(at.Add(-30 * time.Second))
			if err != nil {
				t.Fatal(err)
			}
			board, _ := r.BoardAt(at, at.Add(-30*time.Second))
			return board
		},
	}}})
	verdict := func() string { return strings.TrimSpace(strings.Split(s.text(), "\n")[1]) }
	s.run(40 * time.Second)
	was, at := verdict(), s.now
	for _, later := range []time.Duration{10 * time.Second, 50 * time.Second} {
		s.run(later)
		s.goBack(at.Format("15:04:05"))
		_, recall := s.app.Update(tui.TickMsg(s.now))
		todo := []tea.Cmd{recall}
		for len(todo) > 0 {
			do := todo[0]
			if todo = todo[1:]; do == nil {
				continue
			}
			msg := do()
			if several, ok := msg.(tea.BatchMsg); ok {
				todo = append(todo, several...)
				continue
			}
			s.app.Update(msg)
		}
		if is := verdict(); is != was {
			t.Errorf("%v later the header says\n%s\nof what was\n%s\n%s", later, is, was, s.text())
		}
		s.press("esc")
		s.see(" LIVE ")
	}
}

// TestAnEventIsOfItsMoment: the key of an event stands beside the log as it was read then, with an expiry that no timeline knows.
func TestAnEventIsOfItsMoment(t *testing.T) {
	tail, asked := record.NewTail(record.Header{By: "test"}, 10*time.Minute, 64<<20), limiter.Instant(0)
	s := newStage(t, 140, 42, tui.Options{Session: session.Options{Saving: state.FileOptions{
		Keep: func(b model.Batch) {
			if err := tail.Write(b); err != nil {
				t.Error(err)
			}
		},
		Past: func(at limiter.Instant) *model.Board {
			asked = at
			r, err := tail.From(at.Add(-30 * time.Second))
			if err != nil {
				t.Fatal(err)
			}
			board, _ := r.BoardAt(at, at.Add(-30*time.Second))
			return board
		},
	}}})
	s.run(40 * time.Second)
	for _, key := range []string{"5", "end"} {
		_, ask := s.app.Update(tuitest.Key(key))
		s.see("reading what was seen")
		for todo := []tea.Cmd{ask}; len(todo) > 0; todo = todo[1:] {
			if todo[0] == nil {
				continue
			}
			switch msg := todo[0]().(type) {
			case tea.BatchMsg:
				todo = append(todo, msg...)
			default:
				s.app.Update(msg)
			}
		}
	}
	if asked == 0 || strings.Contains(s.text(), "reading what was seen") {
		t.Fatalf("it asked for %v:\n%s", asked, s.text())
	}
	if _, then, _ := strings.Cut(s.text(), " · at "+asked.Time().UTC().Format("15:04:05")); !strings.Contains(then, "expires in 10s") {
		t.Errorf("the key stands without what was read:\n%s", s.text())
	}
}

// TestThePastIsAwaited: until it is known how keys were read at a moment, the header counts none of them.
func TestThePastIsAwaited(t *testing.T) {
	s := newStage(t, 140, 30,
		tui.Options{Session: session.Options{Saving: state.FileOptions{Past: func(limiter.Instant) *model.Board { return nil }}}})
	verdict := func() string { return strings.TrimSpace(strings.Split(s.text(), "\n")[1]) }
	s.run(10 * time.Second)
	for range 2 { // also where the moment is looked at again
		s.goBack(s.now.Add(-2 * time.Second).Format("15:04:05"))
		if got := verdict(); !strings.HasPrefix(got, "reading what was seen at ") {
			t.Errorf("before it is known the header says %q", got)
		}
		_, recall := s.app.Update(tui.TickMsg(s.now))
		for todo := []tea.Cmd{recall}; len(todo) > 0; todo = todo[1:] {
			if todo[0] == nil {
				continue
			}
			switch msg := todo[0]().(type) {
			case tea.BatchMsg:
				todo = append(todo, msg...)
			default:
				s.app.Update(msg)
			}
		}
		if got := verdict(); !strings.Contains(got, "throttled") {
			t.Errorf("then the header says %q", got)
		}
		s.press("p")
		s.run(time.Second)
	}
}
