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
	"ratescope/tui/cell"
	"ratescope/tui/health"
	"ratescope/tui/timeline"
	"ratescope/tui/tuitest"
	"ratescope/tui/widget"
)

// testWidget is a part of the screen that draws itself into a rectangle.
type testWidget struct {
	name  string
	paint func(p *widget.Canvas, r cell.Rect)
}

// TestWidgetsStayInTheirRoom draws every testWidget into every rectangle from 0×0 on, in the
// middle of a larger sheet, and looks at what stands around it.
func TestWidgetsStayInTheirRoom(t *testing.T) {
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
				t.Fatalf("%s in %dx%d (framed %v, ascii %v) writes %q at %d,%d:\n%s", w.name, r.W, r.H, framed, ascii, at.R, x-r.X, y-r.Y, p.Buffer.Plain())
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
				Canvas: p, Health: &board.Health, Past: board.HealthSamples(), Link: s, Server: s, Cost: model.Cost{Commands: 9, Server: time.Millisecond, Over: time.Second},
				Hot: &model.HotKeys{At: at, Sources: []string{evil[1]}}, Hottest: []model.Hottest{{HotKey: model.HotKey{Key: "hot"}}}, Name: func(key string, _ int) string { return key },
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
