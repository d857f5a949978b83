package timeline

import (
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/widget"
)

// watched returns a log that was watched for a minute, with a request every second.
func watched(t *testing.T) (*model.Watched, limiter.Instant) {
	t.Helper()
	var b model.Board
	limit := limiter.Limit{Count: 10, Window: 10 * time.Second}
	at, since, state := limiter.Instant(1_700_000_000_000_000), limiter.Instant(0), limiter.State{Algorithm: limiter.SlidingLog}
	for range 60 {
		at = at.Add(time.Second)
		state.Take(at-1000, limit, limiter.Convention{}, 1)
		b.Apply(model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Live}, Sweep: model.Sweep{Passes: 1},
			Readings: []model.Reading{{
				Key: "k", Type: "zset", At: at, Since: since, ExactKnown: true, PreviousKnown: true, State: state,
				Arrivals: []model.Arrival{{At: at - 1000, N: 1}},
				Target:   model.Target{Algorithm: limiter.SlidingLog, Window: limit.Window, LimitKnown: true, Limit: limit},
			}}})
		since = at
	}
	return b.Key("k"), at
}

// TestPaintingChangesNothing: what the mouse points at, how far back the picture ends and where the cursor is follow
// from Arrange alone, whatever is painted, of whichever size.
func TestPaintingChangesNothing(t *testing.T) {
	k, now := watched(t)
	var c widget.Canvas
	c.Buffer.Resize(140, 42)
	c.SetTheme(themes.BuiltIn().Default(true), false)
	area, m := cell.Rect{X: 3, Y: 4, W: 100, H: 20}, Moment{Now: now, Live: true}
	var v View
	v.back = 4 * time.Second
	v.Arrange(area, k, m, false)
	if v.back != 4*time.Second || !v.Holds(60, 12) || v.Holds(2, 12) {
		t.Fatalf("the picture that was arranged ends %v back at %+v", v.back, v.area)
	}
	v.Point(60)
	was := v.Hand
	for _, r := range []cell.Rect{area, {W: 20, H: 5}, {W: 140, H: 42}, {W: 9, H: 2}} {
		c.Begin()
		v.Paint(&c, r, k, m, true)
		v.Paint(&c, r, k, m, false)
		v.Tile(&c, r, k, m)
	}
	if v.Hand != was {
		t.Errorf("painting changed %+v into %+v", was, v.Hand)
	}
	if v.Show(now.Add(-time.Hour), now, k); v.back == time.Hour || v.back < 40*time.Second {
		t.Errorf("the picture ends %v before now, and the timeline reaches a minute", v.back)
	}
	v.cursor = now.Add(-time.Hour)
	if v.Arrange(area, k, m, false); v.Pointing() {
		t.Error("the cursor is at an instant that is not shown")
	}
	if v.Forget(); v.Holds(60, 12) || v.Step() != 0 {
		t.Error("a picture that was forgotten can be pointed at")
	}
}

// TestADragHeldAtTheLeftEdge ends there, though the column under the mouse has gone out of the picture.
func TestADragHeldAtTheLeftEdge(t *testing.T) {
	k, now := watched(t)
	area := cell.Rect{X: 3, Y: 4, W: 100, H: 20}
	var v View
	v.Arrange(area, k, Moment{Now: now, Live: true}, false)
	v.Point(60)
	v.Drag(v.area.X)
	v.Arrange(area, k, Moment{Now: now.Add(2 * v.s.column), Live: true}, false)
	if from, to, ok := v.Drop(); !ok || from != v.at(v.area.X) || to <= from {
		t.Errorf("the drag is from %d to %d, %v; the picture begins at %d", from, to, ok, v.at(v.area.X))
	}
}

func TestPerColumnIsTheFinestThatFits(t *testing.T) {
	for columns := -3; columns < 300; columns++ {
		per := columnWidths[fitting(model.BinsPerWindow, columns)]
		if model.BinsPerWindow%per != 0 {
			t.Fatalf("%d columns: %d bins do not divide a window", columns, per)
		}
		if n := model.BinsPerWindow / per; n > columns && n > 1 {
			t.Fatalf("%d columns: %d bins a column make %d", columns, per, n)
		}
		for finer := 1; finer < per; finer++ {
			if model.BinsPerWindow%finer == 0 && model.BinsPerWindow/finer <= columns {
				t.Fatalf("%d columns: %d bins a column, but %d would fit", columns, per, finer)
			}
		}
	}
}

func TestOpensWindow(t *testing.T) {
	for per := 1; per <= 3*model.BinsPerWindow; per++ {
		for c := int64(-90); c <= 90; c++ {
			want := false
			for i := c * int64(per); i < (c+1)*int64(per); i++ {
				want = want || i%model.BinsPerWindow == 0
			}
			if got := opensWindow(c, per); got != want {
				t.Fatalf("column %d of %d bins: %v, want %v", c, per, got, want)
			}
		}
	}
}

// TestNothingIsSaidOfAFutureThatIsNotKnown: the axis right of now says neither that a request is denied nor that it is admitted.
func TestNothingIsSaidOfAFutureThatIsNotKnown(t *testing.T) {
	k, now := watched(t)
	said := func() (n int) {
		var c widget.Canvas
		c.Buffer.Resize(140, 42)
		c.SetTheme(themes.BuiltIn().Default(true), false)
		c.Begin()
		var v View
		area, m := cell.Rect{W: 100, H: 20}, Moment{Now: now, Live: true}
		v.Arrange(area, k, m, false)
		v.Paint(&c, area, k, m, false)
		for y := range area.H {
			for x := v.ahead.X; x < area.W; x++ {
				if at := c.Buffer.At(x, y); at.S.Fg == c.Look.Good.Fg && at.R == c.Look.Axis || at.R == c.Look.Cross {
					n++
				}
			}
		}
		return n
	}
	if said() == 0 {
		t.Error("nothing is said of a future that is known")
	}
	k.Reading.Partial = true
	if k.Reading.Gauge(now).NextKnown {
		t.Fatal("the next request is known")
	}
	if n := said(); n > 0 {
		t.Errorf("%d columns say what becomes of a request", n)
	}
}
