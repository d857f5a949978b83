package health

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// server returns what there is to draw of a server of its own that tells much, after half a minute.
func server(c *widget.Canvas) *View {
	at := limiter.Instant(1_700_000_000_000_000)
	known := func(v float64) model.Measure { return model.Measure{Known: true, V: v} }
	h := &model.Health{At: at, Ops: known(15_000), MemoryUsed: known(3 << 20), MemoryMax: known(4 << 20), Keys: known(120), Clients: known(9),
		Policy: "allkeys-lru", Commands: []model.CommandStat{{Name: "evalsha", Calls: 900, Mean: 40 * time.Microsecond, Scripts: true}},
		Errors: []model.ErrorStat{{Name: "NOSCRIPT", Total: 7}},
		Slow:   []model.SlowCommand{{At: at.Add(-time.Hour), Took: 12 * time.Millisecond, Command: "zremrangebyscore", Keys: []string{"rl:\x1b[31mslow"}, Rest: 2}}}
	v := &View{Canvas: c, Health: h, Hot: &model.HotKeys{}, Name: func(key string, _ int) string { return strings.ToUpper(key[:2]) + "…" },
		Link:   model.Server{Link: model.Live, Role: "master", RTT: time.Millisecond},
		Server: model.Server{Link: model.Live, Role: "master", RTT: time.Millisecond}}
	for i := range 30 {
		v.Past = append(v.Past, model.HealthSample{At: at.Add(time.Duration(i-29) * time.Second), RTT: time.Millisecond, Ops: known(15_000),
			Memory: known(3 << 20), Admitted: known(10), Denied: known(2)})
	}
	return v
}

func drawn(w, h int, edit func(*View)) string {
	c := &widget.Canvas{Framed: w >= 110}
	c.SetTheme(themes.BuiltIn().Default(true), false)
	c.Buffer.Resize(w, h)
	c.Begin()
	v := server(c)
	if edit != nil {
		edit(v)
	}
	v.Paint(cell.Rect{W: w, H: h})
	return c.Buffer.Plain()
}

// TestWhatAServerTells is on screen at the sizes that people have, and no escape sequence of a key's name is.
func TestWhatAServerTells(t *testing.T) {
	for _, size := range [][2]int{{80, 22}, {140, 38}, {200, 52}} {
		text := drawn(size[0], size[1], nil)
		for _, want := range []string{"commands", "15.0k/s", "memory", "evalsha", "state", "master"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: %q is not on screen:\n%s", size, want, text)
			}
		}
		if strings.ContainsRune(text, 0x1b) {
			t.Errorf("%v: a key's name reaches the terminal", size)
		}
	}
	text := drawn(140, 64, nil)
	for _, want := range []string{"NOSCRIPT", "zremrangebyscore RL… and 2 arguments", "allkeys-lru", "not told"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on screen:\n%s", want, text)
		}
	}
}

// TestAServerThatIsAwayIsNotCalledWell, and one that was not looked at yet is not either.
func TestAServerThatIsAwayIsNotCalledWell(t *testing.T) {
	const well = "shows no trouble"
	calm := func(v *View) { v.Health.Errors, v.Health.MemoryUsed = nil, model.Measure{Known: true, V: 1 << 20} }
	for what, c := range map[string]struct {
		edit func(*View)
		want string
	}{
		"live":       {calm, well},
		"connecting": {func(v *View) { calm(v); v.Link.Link = model.Connecting }, "connecting…"},
		"down":       {func(v *View) { calm(v); v.Link.Link, v.Link.Down = model.Down, 9*time.Second }, "as last known"},
		"no INFO": {func(v *View) {
			calm(v)
			v.Health.Missing = []string{"INFO may not be asked by this user: allow it"}
		}, "cannot tell: INFO is not permitted"},
		"a part of INFO": {func(v *View) { calm(v); v.Health.MemoryUsed = model.Measure{} }, "cannot tell: INFO gives only a part"},
		"no slow log": {func(v *View) {
			calm(v)
			v.Health.Missing = []string{"LATENCY is not known", "SLOWLOG is not known"}
		}, "no trouble in INFO, and cannot tell more: no LATENCY, no SLOWLOG"},
		"embedded": {func(v *View) { calm(v); v.Link.Embedded = true }, "keeps no figures"},
		"embedded, with keys": {func(v *View) {
			calm(v)
			v.Link.Embedded, v.Health.Commands = true, nil
			v.Hottest = []model.Hottest{{HotKey: model.HotKey{Key: "rl:a"}, Watched: true, Rate: model.Measure{Known: true, V: 2},
				Utilization: model.Measure{Known: true, V: 0.5}, Share: 1}}
		}, "2.0/s    50.0%   100.0% ████████████"},
		"new": {func(v *View) { calm(v); v.Health.At, v.Health.Slow = 0, nil }, "not looked at yet"},
	} {
		text := drawn(140, 38, c.edit)
		if !strings.Contains(text, c.want) || c.want != well && strings.Contains(text, well) {
			t.Errorf("%s: want %q:\n%s", what, c.want, text)
		}
	}
}

// TestWhatIsNotKnownIsNotZero: a figure that the server does not tell has no graph, and its name stands among those
// that are not told.
func TestWhatIsNotKnownIsNotZero(t *testing.T) {
	text := drawn(140, 64, func(v *View) {
		v.Health.Ops = model.Measure{}
		for i := range v.Past {
			v.Past[i].Ops = model.Measure{}
		}
	})
	_, not, _ := strings.Cut(text, "not told")
	if !strings.Contains(not, "commands") || strings.Contains(text, "╭ commands ─") {
		t.Errorf("the rate of commands is not known, and the screen says\n%s", text)
	}
}

// TestDeniedRequestsAreDrawnInASCII, where there are no lines.
func TestDeniedRequestsAreDrawnInASCII(t *testing.T) {
	c := &widget.Canvas{Framed: true}
	c.SetTheme(themes.BuiltIn().Default(true), true)
	c.Buffer.ASCII = true
	c.Buffer.Resize(140, 38)
	c.Begin()
	server(c).Paint(cell.Rect{W: 140, H: 38})
	if !strings.Contains(c.Buffer.Plain(), "xxxxxxxx") {
		t.Errorf("no denied request is drawn:\n%s", c.Buffer.Plain())
	}
}

// TestBothOfAPairAreNamed in any width of a graph.
func TestBothOfAPairAreNamed(t *testing.T) {
	for _, width := range []int{80, 120, 140, 200} {
		text := drawn(width, 38, nil)
		if !strings.Contains(text, "✓ admitted  ✖ denied") && !strings.Contains(text, "✓  ✖") {
			t.Errorf("%d columns name one of the two figures:\n%s", width, text)
		}
	}
}
