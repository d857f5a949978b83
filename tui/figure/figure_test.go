package figure_test

import (
	"math"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/safetext"
	"ratescope/tui/figure"
)

// TestFiguresKeepToTheirColumns holds every figure to the width that tables are made for:
// one that is wider would be cut, and read as another.
func TestFiguresKeepToTheirColumns(t *testing.T) {
	fits := func(what string, text string, columns int) {
		t.Helper()
		if w := safetext.Width(text); w > columns || w == 0 {
			t.Errorf("%s is %q, and has %d columns", what, text, columns)
		}
	}
	for scale := int64(1); scale > 0 && scale < math.MaxInt64/10; scale *= 10 {
		for _, n := range []int64{scale - 1, scale, scale * 10 / 3, scale*5 - 1, scale/2*19 + scale/4, scale*10 - scale/200, scale*10 - 1} {
			fits("Short", figure.Short(n), 5)
			fits("Brief", figure.Brief(n), 4)
			fits("PerSecond", figure.PerSecond(float64(n)), 7)
			fits("PerSecond", figure.PerSecond(float64(n)/1e4), 7)
			fits("Latency", figure.Latency(time.Duration(n)), 7)
			fits("SpanIn 5", figure.SpanIn(time.Duration(n), 5), 5)
			fits("SpanIn 6", figure.SpanIn(time.Duration(n), 6), 6)
		}
	}
	fits("PerSecond", figure.PerSecond(1e300), 7)
	fits("Brief", figure.Brief(math.MaxInt64), 4)
	fits("SpanIn", figure.SpanIn(limiter.Never, 5), 5)
}

func TestShorterForms(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{figure.Brief(9_999), "9999"}, {figure.Brief(20_000), "20k"}, {figure.Brief(33_333), "33k"}, {figure.Brief(999_400), "999k"},
		{figure.Brief(3_210_000), "3.2M"}, {figure.Brief(32_100_000), "32M"}, {figure.Short(2_500_000_000), "2.5G"}, {figure.Short(7_100_000_000_000), "7.1T"},
		{figure.SpanIn(59*time.Minute+59*time.Second, 6), "59m59s"}, {figure.SpanIn(59*time.Minute+59*time.Second, 5), "60m"},
		{figure.SpanIn(12*time.Hour+time.Minute, 5), "13h"}, {figure.SpanIn(3*time.Minute+20*time.Second, 5), "3m20s"},
		{figure.First(4, "12345", "123"), "123"}, {figure.First(2, "12345", "123"), ""},
	} {
		if tc.got != tc.want {
			t.Errorf("%q, want %q", tc.got, tc.want)
		}
	}
}
