package timeline_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
	"ratescope/themes"
	"ratescope/tui/cell"
	"ratescope/tui/timeline"
	"ratescope/tui/widget"
)

var (
	printedProduct = regexp.MustCompile(`× ([0-9.]+) = ([0-9.]+)(?: → ([0-9.]+))?`)
	printedSum     = regexp.MustCompile(`([0-9.]+) \+ ([0-9]+) = ([0-9.]+) of`)
)

// TestTheSumAddsUpAsPrinted reads the arithmetic of weighted counters of every rounding, at instants all through a
// window, off the bars.
func TestTheSumAddsUpAsPrinted(t *testing.T) {
	number := func(text string) float64 {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	const window = 10 * time.Second
	limit := limiter.Limit{Count: 100, Window: window}
	draw := rand.New(rand.NewPCG(7, 7))
	c := &widget.Canvas{}
	c.SetTheme(themes.BuiltIn().Default(true), false)
	c.Buffer.Resize(120, 30)
	products, sums := 0, 0
	for _, rounding := range []convention.Rounding{convention.Floor, convention.Nearest, convention.Exact} {
		for range 150 {
			var b model.Board
			start := limiter.Instant(1_700_000_000_000_000)
			now := start.Add(time.Duration(draw.Int64N(int64(window))))
			state := limiter.State{Algorithm: limiter.SlidingWindow, Start: start, Previous: draw.Int64N(120), Current: draw.Int64N(90)}
			target := model.Target{Algorithm: limiter.SlidingWindow, Window: window, LimitKnown: true, Limit: limit}
			target.Convention.Rounding = rounding
			b.Apply(model.Batch{At: now, Local: now.Time(), Server: model.Server{Link: model.Live}, Sweep: model.Sweep{Passes: 1},
				Readings: []model.Reading{{Key: "k", Type: "hash", At: now, PreviousKnown: true, State: state, Target: target}}})
			b.Refresh(now)
			k := b.Key("k")
			c.Begin()
			timeline.PaintWindow(c, cell.Rect{W: 120, H: 8}, k, now, false)
			text := c.Buffer.Plain()
			for _, m := range printedProduct.FindAllStringSubmatch(text, -1) {
				products++
				if got := float64(state.Previous) * number(m[1]); math.Floor(got*10+1e-6)/10 != number(m[2]) {
					t.Errorf("%d %q is %v:\n%s", state.Previous, m[0], got, text)
				}
			}
			for _, m := range printedSum.FindAllStringSubmatch(text, -1) {
				sums++
				if math.Abs(number(m[1])+number(m[2])-number(m[3])) > 1e-9 {
					t.Errorf("%q does not add up:\n%s", m[0], text)
				}
				if p := printedProduct.FindStringSubmatch(text); p != nil && number(cmp.Or(p[3], p[2])) != number(m[1]) {
					t.Errorf("%q becomes %q with no word:\n%s", p[0], m[0], text)
				}
			}
		}
	}
	if products < 400 || sums < 400 {
		t.Errorf("%d products and %d sums were printed, want both in most of 450 pictures", products, sums)
	}
}

// TestWhatHasNoWeightsShowsNone: a level or the entries of a log, and never a previous window.
func TestWhatHasNoWeightsShowsNone(t *testing.T) {
	for algorithm, want := range map[limiter.Algorithm]string{
		limiter.SlidingLog: "counts", limiter.StreamCounter: "counts", limiter.FixedWindow: "current",
		limiter.GCRA: "TAT", limiter.TokenBucket: "tokens", limiter.LeakyBucket: "level",
	} {
		now := limiter.Instant(1_700_000_000_000_000)
		k := &model.Watched{Reading: model.Reading{Key: "k", At: now, ExactKnown: true, Target: model.Target{
			Algorithm: algorithm, Window: time.Minute, LimitKnown: true, Limit: limiter.Limit{Count: 10, Window: time.Minute}}}}
		k.Reading.State = limiter.State{Algorithm: algorithm, Start: now.Floor(time.Minute), Previous: 4, Current: 3, TAT: now.Add(time.Second),
			Level: 2, Filled: now, Log: []limiter.Entry{{At: now - 1, Count: 2}}}
		k.Gauge = k.Reading.Gauge(now)
		c := &widget.Canvas{}
		c.SetTheme(themes.BuiltIn().Default(true), false)
		c.Buffer.Resize(100, 12)
		c.Begin()
		timeline.PaintWindow(c, cell.Rect{W: 100, H: 12}, k, now, false)
		text := c.Buffer.Plain()
		if !regexp.MustCompile(want).MatchString(text) || regexp.MustCompile(`previous|weight|×`).MatchString(text) {
			t.Errorf("%v is explained by\n%s", algorithm, text)
		}
	}
}
