package tui_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/state"
	"ratescope/tui/tuitest"
)

// TestAScrolledPauseShowsThatMoment pauses, scrolls back, and compares what the board says
// of every key with what it said then.
func TestAScrolledPauseShowsThatMoment(t *testing.T) {
	people := tuitest.Every()
	s := newStage(t, 140, 42, tui.Options{}, people...)
	s.run(30 * time.Second)
	used := map[limiter.Instant]map[string]int64{}
	for range 100 {
		s.run(tuitest.Refresh)
		now := map[string]int64{}
		for _, k := range s.app.Listed() {
			now[k.Reading.Key] = k.Gauge.Used.N
		}
		used[limiter.InstantOf(s.now)] = now
	}
	s.press("p")
	for range 6 {
		s.press("left")
		at := s.app.At()
		if at >= limiter.InstantOf(s.now) {
			t.Fatal("the picture is not of the past")
		}
		var then map[string]int64
		nearest := time.Hour
		for when, levels := range used {
			if d := when.Sub(at); d.Abs() < nearest {
				nearest, then = d.Abs(), levels
			}
		}
		for _, k := range s.app.Listed() {
			g, name := &k.Gauge, k.Reading.Key
			if !g.Used.Known {
				t.Errorf("%s: nothing is known %v ago", name, limiter.InstantOf(s.now).Sub(at))
				continue
			}
			// A bin is a 240th of the window, and a burst of 13 comes at once.
			if d := g.Used.N - then[name]; (d > 13 || d < -13) || nearest < 50*time.Millisecond && (d > 2 || d < -2) &&
				!strings.Contains(name, "window") {
				t.Errorf("%s: %d were used at that moment, %d are shown", name, then[name], g.Used.N)
			}
		}
	}
	text := s.text()
	s.press("p")
	s.run(time.Second)
	if s.app.At() < limiter.InstantOf(s.now).Add(-2*time.Second) {
		t.Errorf("after the pause the picture stays in the past:\n%s", text)
	}
}

// TestALevelHasNoWindow: GCRA and the buckets forget nothing at the end of a window.
func TestALevelHasNoWindow(t *testing.T) {
	s := newStage(t, 140, 42, tui.Options{}, tuitest.Every()...)
	s.run(25 * time.Second)
	for _, p := range tuitest.Every() {
		for s.press("home"); s.app.Selected() != p.Name; s.press("down") {
		}
		if level := p.How == limiter.GCRA || p.How == limiter.TokenBucket || p.How == limiter.LeakyBucket; level {
			for line := range strings.Lines(s.text()) {
				if strings.Contains(line, "─ used ─") && strings.Contains(line, "├") {
					t.Errorf("%s has edges of windows: %s", p.Name, line)
				}
			}
		}
		has := strings.Contains(s.text(), "─ window 10s ─")
		want := p.How != limiter.GCRA && p.How != limiter.TokenBucket && p.How != limiter.LeakyBucket
		if has != want && p.How != limiter.FixedWindow { // the current window may be too short for its label
			t.Errorf("%s has a bracket: %v", p.Name, has)
		}
	}
}

// TestTheWindowSaysWhatCounts reads the strip under the columns while a weighted window slides.
func TestTheWindowSaysWhatCounts(t *testing.T) {
	p := tuitest.Every()[2]
	s := newStage(t, 200, 55, tui.Options{}, p)
	s.run(25 * time.Second)
	shares := map[string]bool{}
	for range 40 {
		s.run(tuitest.Refresh)
		_, rest, found := strings.Cut(s.text(), "previous, still ")
		if found {
			shares[rest[:2]] = true
		}
	}
	if len(shares) < 10 {
		t.Errorf("in eight seconds the previous window counted by %d shares: %v", len(shares), shares)
	}
	s.see("gone by", "current", "next window in")
}

// TestPanesKeepTheirSize pauses and lets keys come and go: no border moves.
func TestPanesKeepTheirSize(t *testing.T) {
	injector := &feedInjector{}
	s := newStage(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}}, crowd(40)...)
	injector.feed = s.feed
	few := true
	s.edit = func(b *model.Batch) {
		if few {
			b.Readings = b.Readings[:min(len(b.Readings), 33)]
		}
	}
	s.run(2 * time.Second)
	corners := func() (list []int) {
		for i, line := range strings.Split(s.text(), "\n") {
			if strings.HasPrefix(line, "╭") || strings.HasPrefix(line, "╰") {
				list = append(list, i)
			}
		}
		return list
	}
	before := corners()
	few = false
	s.run(2 * time.Second)
	s.press("p")
	if after := corners(); !slices.Equal(before, after) || len(before) < 6 {
		t.Errorf("the borders were in the rows %v and are in %v", before, after)
	}
}

// TestOneBurstLeavesTheRestReadable: a burst a hundred times as high as all else is cut and
// its count written on it.
func TestOneBurstLeavesTheRestReadable(t *testing.T) {
	p := tuitest.Personality{Name: "bursty", How: limiter.SlidingLog, Limit: limiter.Limit{Count: 5000, Window: 10 * time.Second}}
	burst := false
	p.Rate = func(float64, *rand.Rand) int {
		if burst {
			burst = false
			return 900
		}
		return 2
	}
	s := newStage(t, 140, 42, tui.Options{}, p)
	s.run(20 * time.Second)
	burst = true
	s.run(3 * time.Second)
	tall := 0
	for line := range strings.Lines(s.text()) {
		if strings.Count(line, "█") > 20 {
			tall++
		}
	}
	s.see("90")
	if tall < 3 {
		t.Errorf("beside a burst the usual traffic fills %d rows:\n%s", tall, s.text())
	}
}

// TestAToastCoversNoPane: a sentence of one row lies over the footer alone.
func TestAToastCoversNoPane(t *testing.T) {
	s := newStage(t, 80, 24, tui.Options{})
	s.run(time.Second)
	before := strings.Split(s.text(), "\n")
	s.app.Say("This is now.")
	s.app.Update(nil)
	after := strings.Split(s.text(), "\n")
	if last := len(after) - 1; !strings.Contains(after[last], "This is now.") || !slices.Equal(before[2:last], after[2:last]) {
		t.Errorf("a toast covers more than the footer:\n%s", s.text())
	}
}

// TestDiskWaitsOutsideUpdate: an export that takes long holds no key up.
func TestDiskWaitsOutsideUpdate(t *testing.T) {
	began := make(chan struct{})
	o := tui.Options{Session: session.Options{Saving: state.FileOptions{Export: func(model.Batch) (string,
		error) {
		close(began)
		return "", context.Canceled
	}}}}
	s := newStage(t, 80, 24, o)
	s.run(time.Second)
	_, cmd := s.app.Update(tea.KeyPressMsg{Code: 'e', Text: "e"})
	select {
	case <-began:
		t.Error("the file is written inside Update")
	default:
	}
	if cmd == nil {
		t.Fatal("nothing writes the file")
	}
}

// TestWhatIf types other terms: their outcome stands beside the real one, and nothing fires.
func TestWhatIf(t *testing.T) {
	injector := &feedInjector{}
	s := newStage(t, 140, 42, tui.Options{Session: session.Options{Inject: firing.Options{Injector: injector}}}, tuitest.Overrun()...)
	s.run(20 * time.Second)
	s.press("home", "w")
	s.see("what if", "admitted ", "begin empty", "nothing is written")
	s.press("ctrl+u")
	for _, r := range "sliding-log 9999/1m" {
		s.press(strings.ReplaceAll(string(r), " ", "space"))
	}
	s.run(time.Second)
	s.press("x")
	s.see("not understood: as in gcra 100/1m", "what counts now")
	if strings.Contains(s.text(), "begin empty") {
		t.Error("an answer stays on screen beside a question that is not understood")
	}
	s.press("enter")
	s.see("sliding-log 9999/1mx", "not understood")
	s.press("backspace", "enter")
	s.see("sliding-log 9999/1m", ": admits more")
	if strings.Contains(s.text(), "not understood") {
		t.Error("what is understood again is complained about")
	}
	s.press("w", "x", "2")
	s.see("sliding-log 19998/1m", "begin empty")
	s.press("x", "esc")
	s.see("what counts now")
	if len(injector.Orders()) > 0 {
		t.Error("it fired")
	}
}

// TestWhatIfWithoutALimit: where the limit of a key is not known, the prompt asks for one; where its requests are not known
// without it either, that is said with what to do, and no rate is shown.
func TestWhatIfWithoutALimit(t *testing.T) {
	s := newStage(t, 140, 42, tui.Options{}, tuitest.Overrun()...)
	algorithm := limiter.SlidingLog
	s.edit = func(b *model.Batch) {
		for i := range b.Readings {
			r := &b.Readings[i]
			if r.Target.Limit, r.Target.LimitKnown = (limiter.Limit{}), false; algorithm == limiter.GCRA {
				r.Target.Window, r.Target.Algorithm, r.State = 0, algorithm, limiter.State{Algorithm: algorithm, TAT: r.At}
				r.Denied = model.Count{}
			}
		}
	}
	s.run(20 * time.Second)
	s.press("home", "w")
	s.see("what if sliding-window ", "its limit is not known: type one, as in sliding-window 100/1m")
	s.press("5", "/", "1", "m")
	s.see("what if · sliding-window 5/1m", "begin empty")
	s.press("esc", "esc")

	algorithm = limiter.GCRA
	s.run(5 * time.Second)
	s.press("home", "w")
	s.see("The requests of a gcra key are not known without its limit: give it with --limit 100/1m or in a rule.")
	if strings.Contains(s.text(), "begin empty") {
		t.Errorf("there is an answer about requests that are not known:\n%s", s.text())
	}
	for line := range strings.Lines(s.text()) {
		if strings.Contains(line, " gcra  ") && strings.Contains(line, "/s") {
			t.Errorf("a rate is told that is not known: %s", line)
		}
	}
	s.press("6", "w")
	s.see("The requests of a gcra key are not known")
}
