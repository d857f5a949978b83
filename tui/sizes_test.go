package tui_test

import (
	"fmt"
	"math/rand/v2"
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

func TestEverySizeIsFilledExactly(t *testing.T) {
	s := tuitest.NewStage(t, 0, 0, tui.Options{})
	check(s, "before anything came")
	s.Run(4 * time.Second)
	for w := 0; w <= 80; w++ {
		for h := 0; h <= 30; h++ {
			s.Size(w, h)
			check(s, "dashboard")
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		s.Size(r.IntN(221), r.IntN(61))
		check(s, "dashboard")
	}
}

func TestEverySceneAtManySizes(t *testing.T) {
	s := tuitest.NewStage(t, 0, 0, tui.Options{Session: session.Options{Inject: firing.Options{Injector: &feedInjector{}}}})
	s.Run(6 * time.Second)
	s.App.Update(firing.FiredMsg(outcomes(s.Session.Selection.Selected)...))
	sizes := [][2]int{{0, 0}, {1, 1}, {59, 20}, {60, 19}, {60, 20}, {61, 21}, {64, 24}, {79, 23}, {80, 24}, {80, 60}, {99, 27}, {100, 28},
		{109, 30}, {110, 29}, {110, 30}, {111, 31}, {140, 42}, {160, 20}, {200, 55}, {220, 60}, {400, 100}}
	for _, scene := range scenes {
		for _, size := range sizes {
			s.Size(size[0], size[1])
			s.Press(scene.to...)
			check(s, scene.name)
			s.Run(tuitest.Refresh)
			check(s, scene.name)
			s.Press(scene.back...)
		}
	}
	r := rand.New(rand.NewPCG(2, 2))
	for _, scene := range scenes {
		for range 4 {
			s.Size(60+r.IntN(160), 20+r.IntN(40))
			s.Press(scene.to...)
			check(s, scene.name)
			s.Press(scene.back...)
		}
	}
}

func outcomes(key string) []model.Fired {
	at := limiter.InstantOf(tuitest.Dawn)
	return []model.Fired{
		{Order: 1, Key: key, Cost: 1, At: at, Outcome: model.Admitted, Latency: time.Millisecond},
		{Order: 1, Key: key, Cost: 1, At: at, Outcome: model.Denied, Decision: limiter.Decision{RetryAfter: time.Second}},
		{Order: 1, Key: key, Cost: 1, At: at, Outcome: model.Failed, Err: "The server said \x1b[31mno\x1b[0m."},
		{Order: 1, Key: key, Cost: 1, At: at, Outcome: model.Unanswered, Err: "No answer came."},
	}
}

// evil are names that a server may hold.
var evil = []string{
	"\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "\x1bP1$r\x1b\\", "\u009b31m", "\x9b31m", "tab\tnewline\nreturn\rbell\a",
	"\u202erevo thgir\u202c", "\u2066isolated\u2069", "مرحبا:بالعالم",
	"🦊:🏳️‍🌈:👩‍👩‍👧‍👦:🇩🇪", "日本語のとても長い名前のキー", "a\u0301\u0301\u0301\u0301",
	"\u200b\u200d\u2060",
	"\xff\xfe\xfd", "broken\xc3", "\x00nul\x00", strings.Repeat("x", 4096), strings.Repeat("漢", 1365), strings.Repeat("\x1b", 4096), "",
	" ", "\\x1b", "%s%n{{.}}", "\U000e0001tag", "ㅤhangul filler",
}

// TestHostileNamesStayText shows every kind of name, and every other string that comes
// from a server, on every screen.
func TestHostileNamesStayText(t *testing.T) {
	for n, o := range []tui.Options{{}, {Look: shell.Options{ASCII: true}}, {Session: session.Options{Mask: true}}} {
		var people []tuitest.Personality
		for i, name := range evil {
			p := tuitest.Cast()[i%4]
			p.Name = name
			people = append(people, p)
		}
		o.Session.Inject.Injector = &feedInjector{refuse: fmt.Errorf("%s is opened read-only", evil[0])}
		s := tuitest.NewStage(t, 140, 42, o, people...)
		turn := 0
		s.Edit = func(b *model.Batch) {
			turn++
			bad := evil[turn%len(evil)]
			b.Server.Target, b.Server.Version, b.Server.Role = bad, bad, bad
			b.Sweep.Patterns, b.Server.Lacks = []string{bad}, []string{bad}
			b.Health = &model.Health{
				At: b.At, Policy: bad, Missing: []string{bad}, Commands: []model.CommandStat{{Name: bad, Calls: 3, Scripts: true},
					{Name: evil[0]}},
				Errors: []model.ErrorStat{{Name: bad, Rate: 1, Total: 4}}, Slow: []model.SlowCommand{{ID: 1, At: b.At, Command: bad},
					{ID: 2, Command: evil[17]}},
			}
			for i := range b.Readings {
				switch i % 7 {
				case 3:
					b.Readings[i].Err = "is odd: " + bad
				case 4:
					b.Readings[i].Type, b.Readings[i].Notes = bad, []model.Note{model.Note(bad)}
				}
			}
			if turn%6 == 0 {
				b.Server.Link, b.Server.Err = model.Down, bad
			}
			if turn%6 == 1 && turn > 6 {
				b.Gone = []string{evil[turn%len(evil)]}
			}
		}
		for _, size := range [][2]int{{140, 42}, {60, 20}}[:2-n/2] {
			s.Size(size[0], size[1])
			for j, scene := range scenes {
				for i := range evil {
					if j > 0 && (i+j)%6 != 0 { // the dashboard shows every name, the others some
						s.Press("down")
						continue
					}
					if i%5 == 0 {
						s.Run(tuitest.Refresh)
					}
					s.App.Update(firing.FiredMsg(model.Fired{Order: int64(i), Key: evil[i], Outcome: model.Outcome(i % 4), Err: evil[i]}))
					s.Press(scene.to...)
					check(s, fmt.Sprintf("%s with %q", scene.name, s.Session.Selection.Selected[:min(20, len(s.Session.Selection.Selected))]))
					s.Press(scene.back...)
					s.Press("down")
				}
				s.Press("home")
			}
		}
		s.Press("/")
		for _, name := range evil[:16] { // the filter is what a person types or pastes
			for _, r := range name {
				if r < ' ' {
					continue
				}
				s.Press(string(r))
			}
			check(s, "filter")
			s.Press("esc", "/")
		}
	}
}

// TestAHighScreenHasGraphs: below the table of a high screen stand what became of all requests and
// how fast the server answers; a lower one leaves the room to the keys.
func TestAHighScreenHasGraphs(t *testing.T) {
	for _, c := range []struct {
		w, h   int
		graphs bool
	}{{200, 55, true}, {140, 42, false}, {80, 24, false}} {
		s := tuitest.NewStage(t, c.w, c.h, tui.Options{})
		s.Run(12 * time.Second)
		if text := s.Text(); strings.Contains(text, "╭ requests") != c.graphs || strings.Contains(text, "╭ latency") != c.graphs {
			t.Errorf("at %d by %d:\n%s", c.w, c.h, text)
		}
	}
}

// TestLongNamesStayTellable: keys whose names differ in the middle of a long name can be told apart
// in the table and on the heat map, on a small screen too.
func TestLongNamesStayTellable(t *testing.T) {
	var people []tuitest.Personality
	for i := range 12 {
		p := tuitest.Overrun()[0]
		p.Name = fmt.Sprintf("rl:tenant-%03d:a-very-long-name-of-a-resource/v2/orders:日本語", i)
		people = append(people, p)
	}
	for _, size := range [][2]int{{60, 20}, {80, 24}, {140, 42}} {
		s := tuitest.NewStage(t, size[0], size[1], tui.Options{}, people...)
		s.Run(5 * time.Second)
		for _, key := range []string{"1", "6"} {
			s.Press(key)
			if size[0] == 140 && key == "1" { // the title says what follows
				s.See(" 001 ", " 002 ")
				continue
			}
			s.See("001:", "002:")
		}
	}
}

// TestTheFirstSearchShowsHowFarItIs: while no key is found yet, every screen of keys says how much
// of a large server was searched.
func TestTheFirstSearchShowsHowFarItIs(t *testing.T) {
	for _, size := range [][2]int{{60, 20}, {80, 24}, {140, 42}} {
		s := tuitest.NewStage(t, size[0], size[1], tui.Options{})
		at := limiter.InstantOf(s.Now)
		s.App.Update(session.BatchMsg(model.Batch{At: at, Local: s.Now, Server: model.Server{Link: model.Live},
			Sweep: model.Sweep{Scanned: 340_000, Total: 1_000_000, Keys: 1_000_000}}))
		for _, key := range []string{"1", "2", "6"} {
			s.Press(key)
			if !strings.Contains(s.Text(), "34% of 1.0M keys searched") {
				t.Errorf("at %v on screen %s:\n%s", size, key, s.Text())
			}
		}
	}
}
