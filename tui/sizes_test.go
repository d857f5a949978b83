package tui_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/themes"
	"ratescope/tui"
	"ratescope/tui/cell"
	"ratescope/tui/firing"
	"ratescope/tui/health"
	"ratescope/tui/session"
	"ratescope/tui/shell"
	"ratescope/tui/timeline"
	"ratescope/tui/tuitest"
	"ratescope/tui/widget"
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
	t.Parallel()
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
	t.Parallel()
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

// sized are the sizes that people have, the smallest first.
var sized = [...][2]int{{60, 20}, {80, 24}, {100, 30}, {110, 30}, {140, 42}, {200, 55}}

// TestAFigureIsNeverCut shows a key far over a limit of five digits.
func TestAFigureIsNeverCut(t *testing.T) {
	for _, size := range sized {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			s := tuitest.NewStage(t, size[0], size[1], tui.Options{},
				tuitest.Personality{Name: "busy", How: limiter.SlidingWindow, Limit: limiter.Limit{Count: 20_000, Window: 10 * time.Second}})
			s.Edit = func(b *model.Batch) {
				r := &b.Readings[0]
				r.State = limiter.State{Algorithm: limiter.SlidingWindow, Start: r.At.Floor(10 * time.Second), Current: 33_300}
				r.Denied = model.Count{Known: true, N: 123_456}
			}
			s.Run(5 * time.Second)
			for line := range strings.Lines(s.Text()) {
				if at := strings.Index(line, "/20"); at >= 0 && !strings.HasPrefix(line[at:], "/20k ") {
					t.Errorf("the limit of 20000 is written as %q", strings.Fields(line[at:])[0])
				}
			}
			s.See("33k/20k")
			if size[1] >= 24 {
				s.See(" used")
			}
			if strings.Contains(s.Text(), "0used") || strings.Contains(s.Text(), "2used") {
				t.Errorf("two labels stand on each other:\n%s", s.Text())
			}
		})
	}
}

func TestAnIntervalKeepsItsUnit(t *testing.T) {
	for _, size := range sized {
		for _, used := range []int{1, 20, 150} {
			s := tuitest.NewStage(t, size[0], size[1], tui.Options{},
				tuitest.Personality{Name: "gcra", How: limiter.GCRA, Limit: limiter.Limit{Count: 100, Window: time.Minute}})
			s.Edit = func(b *model.Batch) {
				r := &b.Readings[0]
				r.State.TAT = r.At.Add(time.Duration(used) * 600 * time.Millisecond)
			}
			s.Run(2 * time.Second)
			for line := range strings.Lines(s.Text()) {
				if at := strings.Index(line, "one each"); at >= 0 && !strings.HasPrefix(line[at:], "one each 600ms") &&
					!strings.HasPrefix(line[at:], "one each…") {
					t.Errorf("at %dx%d with %d used: %q", size[0], size[1], used, line[at:])
				}
			}
		}
	}
}

// TestARateCanBeSeenOnEveryScreen fires at a rate and goes through all screens.
func TestARateCanBeSeenOnEveryScreen(t *testing.T) {
	for _, size := range sized {
		told(t, size[0], size[1], tui.Options{}, func(x *terminal, _ *tuitest.Feed, _ *feedInjector) {
			x.Press("r")
			x.See("firing 5.0/s at ")
			x.See("x stops")
			for _, screen := range []string{"enter", "tab", "tab", "esc", "2", "4", "5", "p", "?"} {
				x.Press(screen)
				x.Wait(time.Second)
				first, _, _ := strings.Cut(x.Screen(), "\n")
				if !strings.Contains(first, "firing 5.0/s") || !strings.Contains(first, "x stops") {
					t.Errorf("at %v after %q the first line is %q", size, screen, first)
				}
			}
			x.Press("esc", "p", "3")
			x.See("firing 5.0/s")
			x.Press("1")
			x.Resize(30, 8)
			x.See("firing 5.0/s")
			x.Resize(size[0], size[1])
			x.Press("1", "x")
			x.Gone("firing")
		})
	}
}

// testWidget is a part of the screen that draws itself into a rectangle.
type testWidget struct {
	name  string
	paint func(p *widget.Canvas, r cell.Rect)
}

// TestWidgetsStayInTheirRoom draws every testWidget into every rectangle from 0×0 on, in the
// middle of a larger sheet, and looks at what stands around it.
func TestWidgetsStayInTheirRoom(t *testing.T) {
	t.Parallel()
	const margin = 3
	r := rand.New(rand.NewPCG(3, 3))
	look := themes.BuiltIn().Default(true)
	for _, w := range widgets(t) {
		t.Run(w.name, func(t *testing.T) {
			for width := range 61 {
				for height := range 26 {
					if r.IntN(2) > 0 || width > 8 && height > 4 && r.IntN(30) > 0 { // some of what is not tiny
						continue
					}
					drawInside(t, w, look, cell.Rect{X: margin, Y: margin, W: width, H: height}, margin, (width+height)%2 == 0, height%3 == 0)
				}
			}
			for range 4 {
				drawInside(t, w, look, cell.Rect{X: margin, Y: margin, W: r.IntN(240), H: r.IntN(70)}, margin, r.IntN(2) == 0, r.IntN(4) == 0)
			}
		})
	}
}

func drawInside(t *testing.T, w testWidget, look *themes.Theme, r cell.Rect, margin int, framed, ascii bool) {
	t.Helper()
	const outside = '~'
	p := &widget.Canvas{Framed: framed}
	p.SetTheme(look, ascii)
	p.Buffer.Resize(r.W+2*margin, r.H+2*margin)
	for y := range p.Buffer.H {
		p.Buffer.Fill(0, y, p.Buffer.W, outside, themes.Style{})
	}
	p.Buffer.Clear(r)
	w.paint(p, r)
	for y := range p.Buffer.H {
		for x := range p.Buffer.W {
			if at := p.Buffer.At(x, y); !r.Holds(x, y) && at != (cell.Cell{R: outside}) {
				t.Fatalf("%s in %dx%d (framed %v, ascii %v) writes %q at %d,%d:\n%s", w.name,
					r.W, r.H, framed, ascii, at.R, x-r.X, y-r.Y, p.Buffer.Plain())
			}
		}
	}
	if i := strings.IndexFunc(p.Buffer.Plain(), obeyed); i >= 0 {
		t.Fatalf("%s in %dx%d writes %q", w.name, r.W, r.H, p.Buffer.Plain()[i:])
	}
}

// widgets are all of them, with keys of every kind and with names that a terminal must not
// be shown as they are.
func widgets(t *testing.T) []testWidget {
	people := tuitest.Every()
	for i := range people {
		people[i].Name = evil[i%len(evil)] + people[i].Name
	}
	feed := tuitest.NewFeed(tuitest.Dawn, people...)
	var board model.Board
	now := tuitest.Dawn
	for range 150 {
		now = now.Add(tuitest.Refresh)
		b := feed.Advance(now)
		if b.Health != nil {
			b.Health.Policy, b.Health.Missing = evil[2], []string{evil[5]}
			b.Health.Evicted = model.Measure{Known: true, V: 12}
			b.Health.Errors = append(b.Health.Errors, model.ErrorStat{Name: evil[0], Rate: 2, Total: 9})
		}
		board.Apply(b)
	}
	at := limiter.InstantOf(now)
	board.Refresh(at)
	var list []testWidget
	add := func(name string, paint func(*widget.Canvas, cell.Rect)) { list = append(list, testWidget{name, paint}) }
	for _, k := range board.Select(model.View{}) {
		what := k.Reading.Target.Algorithm.String()
		if slices.ContainsFunc(list, func(w testWidget) bool { return strings.HasPrefix(w.name, "window of "+what) }) {
			continue
		}
		for _, old := range []bool{false, true} {
			add(fmt.Sprintf("window of %s, old %v", what, old), func(p *widget.Canvas, r cell.Rect) { timeline.PaintWindow(p, r, k, at, old) })
		}
		for _, m := range []timeline.Moment{{Now: at, Live: true}, {Now: at.Add(3 * time.Second)}, {Now: at, Stopped: true, Still: true}} {
			add(fmt.Sprintf("scope of %s at %+v", what, m), func(p *widget.Canvas, r cell.Rect) {
				var c timeline.View
				c.Paint(p, r, k, m, true)
				if r.W > 0 && c.Holds(r.X+r.W/2, r.Y+r.H/2) {
					c.Point(r.X + r.W/2)
					c.Drag(r.X + r.W/3)
					c.Paint(p, r, k, m, true)
				}
			})
			add("tile of "+what, func(p *widget.Canvas, r cell.Rect) { new(timeline.View).Tile(p, r, k, m) })
		}
	}
	for _, link := range []model.Link{model.Live, model.Down, model.Connecting} {
		s := board.Server
		s.Link, s.Lacks = link, []string{evil[3]}
		add(fmt.Sprintf("health, link %d", link), func(p *widget.Canvas, r cell.Rect) {
			v := health.View{
				Canvas: p, Health: &board.Health, Past: board.HealthSamples(), Link: s, Server: s,
				Cost: model.Cost{Commands: 9, Server: time.Millisecond, Over: time.Second},
				Hot:  &model.HotKeys{At: at, Sources: []string{evil[1]}}, Hottest: []model.Hottest{{HotKey: model.HotKey{Key: "hot"}}},
				Name: func(key string, _ int) string { return key },
			}
			v.Paint(r)
		})
	}
	add("health of nothing", func(p *widget.Canvas, r cell.Rect) {
		v := health.View{Canvas: p, Health: &model.Health{}, Hot: &model.HotKeys{}}
		v.Paint(r)
	})
	add("section", func(p *widget.Canvas, r cell.Rect) {
		p.Section(r, true, widget.Styled("a title that is rather long", p.Look.Title))
		p.Aside(r, 27, widget.Styled("aside", p.Look.Text), widget.Styled(" more", p.Look.Text))
	})
	if len(list) < 20 {
		t.Fatalf("only %d widgets", len(list))
	}
	return list
}
