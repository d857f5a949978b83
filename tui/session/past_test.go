package session_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
	"ratescope/tui"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/state"
	"ratescope/tui/tuitest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // times of day on screen are this machine's
	os.Exit(m.Run())
}

// TestThePastThatComesLaterIsDrawn: a replay shows where everything stood before it has read what
// came before, and the lines over the lane are then those of the board that knows more.
func TestThePastThatComesLaterIsDrawn(t *testing.T) {
	feed := tuitest.NewFeed(tuitest.Dawn)
	var little, all model.Board
	now := tuitest.Dawn
	for range 300 {
		now = now.Add(tuitest.Refresh)
		b := feed.Advance(now)
		all.Apply(b)
		little = model.Board{}
		little.Apply(b)
	}
	show := func(boards ...*model.Board) string {
		s := tuitest.NewStage(t, 140, 42, tui.Options{})
		for _, b := range boards {
			s.App.Update(session.BatchMsg(b.Anew(b.At)))
			s.App.Update(shell.TickAt(now))
			s.Press("/", "m", "e", "t", "r", "i", "c", "s", "enter", "esc") // the cursor stays there
		}
		return s.Text()
	}
	if got, want := show(&little, &all), show(&all); got != want {
		t.Errorf("drawn:\n%s\nwant:\n%s", got, want)
	}
}

// TestLeftGoesBackWithoutATimeline: where the rows are too few for a timeline, ← goes back in time all the same, at once, and
// esc leads to now.
func TestLeftGoesBackWithoutATimeline(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {60, 20}} {
		s := tuitest.NewStage(t, size[0], size[1], tui.Options{})
		s.Run(20 * time.Second)
		s.Press("left", "left", "left")
		s.See("PAUSED, ", " back")
		if back := s.Session.Shown.Back(); back < time.Second {
			t.Errorf("at %dx%d three presses of ← go %v back", size[0], size[1], back)
		}
		s.Press("esc")
		s.See(" LIVE ")
	}
}

// waysBack lead from now to a moment of the past.
var waysBack = []struct {
	name string
	lead func(s *tuitest.Stage)
	ago  time.Duration // about
}{
	{"arrows", func(s *tuitest.Stage) { s.Press("left", "left", "left") }, 7500 * time.Millisecond},
	{"g", func(s *tuitest.Stage) { goBack(s, "30s ago") }, 30 * time.Second},
	{"g, scrolled back far", func(s *tuitest.Stage) { goBack(s, "60s ago"); goBack(s, "30s") }, 30 * time.Second},
	{"g, twice", func(s *tuitest.Stage) { goBack(s, "60s ago"); goBack(s, s.Now.Add(-7*time.Second).Format("15:04:05")) }, 7 * time.Second},
	{"arrows on the screen of the server", func(s *tuitest.Stage) { s.Press("4", "left", "left", "left", "1") }, 7500 * time.Millisecond},
	{"an event", func(s *tuitest.Stage) { s.Press("5", "down", "down", "down", "enter") }, 0},
	{"the heat map", func(s *tuitest.Stage) { s.Press("6", "left", "left", "left", "enter") }, 0},
	{"arrows after a click", func(s *tuitest.Stage) { point(s, 30, 30); s.Press("left") }, 0},
	{"a click after a pause", func(s *tuitest.Stage) { s.Press("p"); point(s, 30, 30) }, 0},
	{"a drag", func(s *tuitest.Stage) { point(s, 20, 30) }, 0},
	{"g, another key", func(s *tuitest.Stage) { goBack(s, "30s ago"); s.Press("down", "down") }, 30 * time.Second},
	{"a click, zoomed", func(s *tuitest.Stage) { s.Press("p"); point(s, 30, 30); s.Press("[", "]", "]", "]") }, 0},
}

// goBack types a time of the past.
func goBack(s *tuitest.Stage, text string) {
	s.Press("g")
	for _, r := range text {
		s.App.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	s.Press("enter")
}

// point presses the left button on one column of the timeline and releases it on another.
func point(s *tuitest.Stage, from, to int) {
	row := s.H - 17
	if s.H < 30 { // the timeline has room where it has the focus
		s.Press("tab")
		row = s.H - 12
	}
	s.App.Update(tea.MouseClickMsg{X: from, Y: row, Button: tea.MouseLeft})
	if to != from {
		s.App.Update(tea.MouseMotionMsg{X: to, Y: row, Button: tea.MouseLeft})
	}
	s.App.Update(tea.MouseReleaseMsg{X: to, Y: row, Button: tea.MouseLeft})
	s.App.View()
}

// TestThePastIsOneMoment: whichever way leads to the past, every pane shows one moment of it, the arrows go on from there, and one
// esc leads to now.
func TestThePastIsOneMoment(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{140, 42}, {80, 24}} {
		for _, way := range waysBack {
			s := tuitest.NewStage(t, size[0], size[1], tui.Options{}, tuitest.Overrun()...)
			s.Size(0, 0) // there is no room to paint anything, which takes most of the time
			s.Run(95 * time.Second)
			s.Size(size[0], size[1])
			s.Run(5 * time.Second)
			way.lead(s)
			what := fmt.Sprintf("%dx%d: %s", size[0], size[1], way.name)
			s.See("PAUSED, ", " back")
			at := s.Session.Shown.At()
			if ago := limiter.InstantOf(s.Now).Sub(at); way.ago > 0 && (ago < way.ago*3/4 || ago > way.ago*5/4) {
				t.Errorf("%s: it is the moment %v ago, want %v", what, ago, way.ago)
			}
			first := s.Text()
			s.Size(s.W, s.H)
			if again := s.Text(); again != first {
				t.Errorf("%s: drawn again it is another picture:\n%s\nafter\n%s", what, again, first)
			}
			s.Press("left")
			if s.Session.Shown.At() >= at {
				t.Errorf("%s: ← leads from %v to %v", what, at.Time(), s.Session.Shown.At().Time())
			}
			s.Press("right")
			if got := s.Session.Shown.At(); got != at {
				t.Errorf("%s: ← and → lead from %v to %v", what, at.Time(), got.Time())
			}
			s.Press("esc")
			if !strings.Contains(s.Text(), " LIVE ") {
				t.Errorf("%s: one esc does not lead to now:\n%s", what, s.Text())
			}
		}
	}
}

// TestWhatIsDrawnIsSaid: soon after the start, a moment of which a window is not known shows the level that its timeline draws, and does
// not say of what is drawn that it is not recorded.
func TestWhatIsDrawnIsSaid(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{})
	s.Run(6 * time.Second)
	s.Press("left")
	at, young := s.Session.Shown.At(), 0
	for _, k := range s.Session.Rows.Rows {
		bin := k.Timeline.Between(at, at.Add(time.Microsecond))
		if bin.UsedKnown != k.Gauge.Used.Known {
			t.Errorf("%s: the timeline draws the level %d (%v), and the row shows %+v", k.Reading.Key, bin.Used, bin.UsedKnown,
				k.Gauge.Used)
		}
		if k.Gauge.DeniedInW.Known || !k.Reading.Denied.Known {
			continue
		}
		young++
		s.Press("/")
		s.Session.Selection.SetFilter(k.Reading.Key)
		s.Press("enter")
		s.See("denied: not known")
	}
	if young == 0 {
		t.Error("there is no key whose denials are not known, and the test is of none")
	}
}

// TestLongPathsEndReadably: where a path is wider than the screen, the sentence about a file keeps the end of it.
func TestLongPathsEndReadably(t *testing.T) {
	path := "/var/lib/" + strings.Repeat("a-long-folder/", 12) + "out.json"
	s := tuitest.NewStage(t, 80, 24, tui.Options{Session: session.Options{Saving: state.FileOptions{Export: func(model.Batch) (string,
		error) {
		return path, nil
	}}}})
	s.Run(time.Second)
	_, cmd := s.App.Update(tuitest.Key("e"))
	for _, msg := range messages(cmd) {
		s.App.Update(msg)
	}
	s.See("Exported", "a-long-folder/out.json")
}

// TestRowsAreOfTheBoardOnScreen: at every picture, live, without what was injected, paused and in the past, while keys go and come
// again, the rows are those of the board that the header and the panes show.
func TestRowsAreOfTheBoardOnScreen(t *testing.T) {
	t.Parallel()
	people := tuitest.Overrun()
	for i := range people {
		people[i].Limit.Window = 2 * time.Second
	}
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, people...)
	round := 0
	same := func(when string) {
		for _, k := range s.Session.Rows.Rows {
			if s.Session.Shown.Board().Key(k.Reading.Key) != k {
				t.Fatalf("%s, round %d: the row of %s is another than the key on the board", when, round, k.Reading.Key)
			}
		}
	}
	s.Edit = func(b *model.Batch) {
		if round%40 < 30 { // two of them are away for a while, and one after the other
			gone := b.Readings[round/40%2]
			b.Readings = slices.DeleteFunc(b.Readings, func(r model.Reading) bool { return r.Key == gone.Key })
			b.Gone = append(b.Gone, gone.Key)
		}
	}
	keys := []string{`\`, "p", "left", "left", `\`, "right", "down", "s", "esc", "S", "5", "1", "/", "esc"}
	for round = range 600 {
		s.Run(tuitest.Refresh)
		same("after a batch")
		if round%7 == 0 {
			s.Press(keys[round/7%len(keys)])
			same("after " + keys[round/7%len(keys)])
		}
	}
}

// TestTheHeaderOfThePast counts at a moment of the past what it counted when that moment was now, and it says so on the screen.
func TestTheHeaderOfThePast(t *testing.T) {
	t.Parallel()
	tail := record.NewTail(record.Header{By: "test"}, 10*time.Minute, 64<<20)
	s := tuitest.NewStage(t, 140, 30, tui.Options{Session: session.Options{Saving: state.FileOptions{
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
	verdict := func() string { return strings.TrimSpace(strings.Split(s.Text(), "\n")[1]) }
	s.Run(40 * time.Second)
	was, at := verdict(), s.Now
	for _, later := range []time.Duration{10 * time.Second, 50 * time.Second} {
		s.Run(later)
		goBack(s, at.Format("15:04:05"))
		_, recall := s.App.Update(shell.TickAt(s.Now))
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
			s.App.Update(msg)
		}
		if is := verdict(); is != was {
			t.Errorf("%v later the header says\n%s\nof what was\n%s\n%s", later, is, was, s.Text())
		}
		s.Press("esc")
		s.See(" LIVE ")
	}
}

// TestAnEventIsOfItsMoment: the key of an event stands beside the log as it was read then, with an expiry that no timeline knows.
func TestAnEventIsOfItsMoment(t *testing.T) {
	tail, asked := record.NewTail(record.Header{By: "test"}, 10*time.Minute, 64<<20), limiter.Instant(0)
	s := tuitest.NewStage(t, 140, 42, tui.Options{Session: session.Options{Saving: state.FileOptions{
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
	s.Run(40 * time.Second)
	for _, key := range []string{"5", "end"} {
		_, ask := s.App.Update(tuitest.Key(key))
		s.See("reading what was seen")
		for todo := []tea.Cmd{ask}; len(todo) > 0; todo = todo[1:] {
			if todo[0] == nil {
				continue
			}
			switch msg := todo[0]().(type) {
			case tea.BatchMsg:
				todo = append(todo, msg...)
			default:
				s.App.Update(msg)
			}
		}
	}
	if asked == 0 || strings.Contains(s.Text(), "reading what was seen") {
		t.Fatalf("it asked for %v:\n%s", asked, s.Text())
	}
	if _, then, _ := strings.Cut(s.Text(), " · at "+asked.Time().UTC().Format("15:04:05")); !strings.Contains(then, "expires in 10s") {
		t.Errorf("the key stands without what was read:\n%s", s.Text())
	}
}

// TestThePastIsAwaited: until it is known how keys were read at a moment, the header counts none of them.
func TestThePastIsAwaited(t *testing.T) {
	s := tuitest.NewStage(t, 140, 30,
		tui.Options{Session: session.Options{Saving: state.FileOptions{Past: func(limiter.Instant) *model.Board { return nil }}}})
	verdict := func() string { return strings.TrimSpace(strings.Split(s.Text(), "\n")[1]) }
	s.Run(10 * time.Second)
	for range 2 { // also where the moment is looked at again
		goBack(s, s.Now.Add(-2*time.Second).Format("15:04:05"))
		if got := verdict(); !strings.HasPrefix(got, "reading what was seen at ") {
			t.Errorf("before it is known the header says %q", got)
		}
		_, recall := s.App.Update(shell.TickAt(s.Now))
		for todo := []tea.Cmd{recall}; len(todo) > 0; todo = todo[1:] {
			if todo[0] == nil {
				continue
			}
			switch msg := todo[0]().(type) {
			case tea.BatchMsg:
				todo = append(todo, msg...)
			default:
				s.App.Update(msg)
			}
		}
		if got := verdict(); !strings.Contains(got, "throttled") {
			t.Errorf("then the header says %q", got)
		}
		s.Press("p")
		s.Run(time.Second)
	}
}

// TestAScrolledPauseShowsThatMoment pauses, scrolls back, and compares what the board says
// of every key with what it said then.
func TestAScrolledPauseShowsThatMoment(t *testing.T) {
	people := tuitest.Every()
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, people...)
	s.Run(30 * time.Second)
	used := map[limiter.Instant]map[string]int64{}
	for range 100 {
		s.Run(tuitest.Refresh)
		now := map[string]int64{}
		for _, k := range s.Session.Rows.Rows {
			now[k.Reading.Key] = k.Gauge.Used.N
		}
		used[limiter.InstantOf(s.Now)] = now
	}
	s.Press("p")
	for range 6 {
		s.Press("left")
		at := s.Session.Shown.At()
		if at >= limiter.InstantOf(s.Now) {
			t.Fatal("the picture is not of the past")
		}
		var then map[string]int64
		nearest := time.Hour
		for when, levels := range used {
			if d := when.Sub(at); d.Abs() < nearest {
				nearest, then = d.Abs(), levels
			}
		}
		for _, k := range s.Session.Rows.Rows {
			g, name := &k.Gauge, k.Reading.Key
			if !g.Used.Known {
				t.Errorf("%s: nothing is known %v ago", name, limiter.InstantOf(s.Now).Sub(at))
				continue
			}
			// A bin is a 240th of the window, and a burst of 13 comes at once.
			if d := g.Used.N - then[name]; (d > 13 || d < -13) || nearest < 50*time.Millisecond && (d > 2 || d < -2) &&
				!strings.Contains(name, "window") {
				t.Errorf("%s: %d were used at that moment, %d are shown", name, then[name], g.Used.N)
			}
		}
	}
	text := s.Text()
	s.Press("p")
	s.Run(time.Second)
	if s.Session.Shown.At() < limiter.InstantOf(s.Now).Add(-2*time.Second) {
		t.Errorf("after the pause the picture stays in the past:\n%s", text)
	}
}
