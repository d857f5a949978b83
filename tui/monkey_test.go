package tui_test

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui"
	"ratescope/tui/firing"
	"ratescope/tui/session"
	"ratescope/tui/tuitest"
)

// TestMonkey spends an hour of virtual time at the keyboard and the mouse, always the same.
// RATESCOPE_MONKEY says how many hours, of which each run is another; it prints its seed, and
// RATESCOPE_MONKEY_SEED repeats it.
func TestMonkey(t *testing.T) {
	seed := uint64(1)
	if os.Getenv("RATESCOPE_MONKEY") != "" {
		seed = uint64(time.Now().UnixNano())
	}
	if v, err := strconv.ParseUint(os.Getenv("RATESCOPE_MONKEY_SEED"), 10, 64); err == nil {
		seed = v
	}
	seconds := 3600
	if hours, err := strconv.Atoi(os.Getenv("RATESCOPE_MONKEY")); err == nil {
		seconds = hours * 3600
	}
	t.Logf("RATESCOPE_MONKEY_SEED=%d", seed)
	// In a bubble, so that a command that waits, as for the moment of a plan, takes no time.
	synctest.Test(t, func(t *testing.T) { monkeyAtWork(t, seed, seconds) })
}

// monkeyAtWork lets the monkey of a seed work for so many seconds.
func monkeyAtWork(t *testing.T, seed uint64, seconds int) {
	r := rand.New(rand.NewPCG(seed, 0))
	s := tuitest.NewStage(t, 120, 36, tui.Options{Session: session.Options{Inject: firing.Options{Injector: hasty{}}}}, tuitest.Crowd(24)...)
	m := monkey{Stage: s, r: r, seen: map[string]int{"dashboard": 0, "grid": 0, "lab": 0, "health": 0, "events": 0, "heat": 0}}
	var keys []string
	for _, b := range s.App.All() {
		keys = append(keys, b.Keys()...)
	}
	m.keys = append(keys, "a", "z", "0", "backspace", "enter", "esc", "漢", "🦊", "ctrl+n", "ctrl+p", "ctrl+z", "shift")
	second := 0
	early := heapAfter(t, func() { second = m.live(second, seconds/6) })
	late := heapAfter(t, func() { second = m.live(second, seconds) })
	t.Logf("in use: %d KB after %d seconds, %d KB after %d", early>>10, seconds/6, late>>10, seconds)
	for screen, n := range m.seen {
		t.Logf("%-10s on screen for %d of %d seconds", screen, n, seconds)
		if n < seconds/100 {
			t.Errorf("%s was on screen for %d of %d seconds: too little to prove anything", screen, n, seconds)
		}
	}
	if late > early*3/2+8<<20 {
		t.Errorf("after %d seconds %d KB were in use, after %d seconds %d KB", seconds/6, early>>10, seconds, late>>10)
	}
}

func heapAfter(t *testing.T, do func()) uint64 {
	t.Helper()
	do()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

type monkey struct {
	*tuitest.Stage
	r    *rand.Rand
	keys []string
	down bool
	past []string       // the last things done, for the report
	seen map[string]int // seconds that each screen was shown
}

// live goes on until so many seconds have passed.
func (m *monkey) live(second, until int) int {
	for ; second < until; second++ {
		m.Now = m.Now.Add(time.Second)
		m.Batch()
		for range m.r.IntN(4) {
			m.act()
		}
		if m.r.IntN(300) == 0 {
			m.link()
		}
		if second%20 == 0 {
			m.visit(second / 20)
		}
		m.seen[m.App.Screen()]++
		check(m.Stage, "after "+strings.Join(m.past, " "))
	}
	return second
}

// visit goes to one screen after the other: chance alone stays where few keys lead away.
func (m *monkey) visit(n int) {
	for _, key := range []string{"esc", "esc", "q", strconv.Itoa(1 + n%len(m.seen))} {
		m.do(tuitest.Key(key))
	}
}

func (m *monkey) act() {
	x, y := m.r.IntN(m.W+3)-1, m.r.IntN(m.H+3)-1
	did := "?"
	switch n := m.r.IntN(20); {
	case n < 11:
		did = m.keys[m.r.IntN(len(m.keys))]
		m.do(tuitest.Key(did))
	case n < 15:
		did = "click"
		m.do(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	case n < 18:
		did = "wheel"
		m.App.Update(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelUp + tea.MouseButton(m.r.IntN(2))})
	case n < 19:
		did = "fired"
		m.App.Update(firing.FiredMsg(model.Fired{Order: 1, Key: m.Session.Selection.Selected, Cost: 1, At: limiter.InstantOf(m.Now),
			Outcome: model.Outcome(m.r.IntN(4)), Err: "No."}))
	default:
		did = "resize"
		m.Size(m.r.IntN(221), m.r.IntN(61))
	}
	if m.past = append(m.past, did); len(m.past) > 12 {
		m.past = m.past[1:]
	}
}

// do carries out what a message starts.
func (m *monkey) do(msg tea.Msg) {
	if _, cmd := m.App.Update(msg); cmd != nil {
		switch answer := cmd().(type) {
		case nil, tea.BatchMsg, tea.QuitMsg: // clocks that are armed, and the end, which is not for a monkey
		default:
			m.App.Update(answer)
		}
		m.App.Update(m.Session.Orders.TakeFired())
	}
	m.App.View() // as Bubble Tea does after every message
}

func (m *monkey) link() {
	if m.down = !m.down; m.down {
		m.Feed.Break(m.Now, "It is away.")
	} else {
		m.Feed.Mend()
	}
}

// hasty is an injector that decides at once and never fires for long.
type hasty struct{}

func (hasty) Armed() error { return nil }

func (hasty) Fire(_ context.Context, s model.Order, report func(model.Fired)) (model.Outcomes, error) {
	var counts model.Outcomes
	for i := range max(1, min(s.N, 5)) {
		f := model.Fired{Key: s.Key, Cost: s.Cost, At: limiter.InstantOf(tuitest.Dawn), Outcome: model.Outcome(i % 4)}
		counts.Add(f.Outcome)
		report(f)
	}
	return counts, nil
}
