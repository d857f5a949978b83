package format_test

import (
	"math"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/format"
	"ratescope/model/safetext"
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
			fits("Short", format.Short(n), 5)
			fits("Brief", format.Brief(n), 4)
			fits("PerSecond", format.PerSecond(float64(n)), 7)
			fits("PerSecond", format.PerSecond(float64(n)/1e4), 7)
			fits("Latency", format.Latency(time.Duration(n)), 7)
			fits("SpanIn 5", format.SpanIn(time.Duration(n), 5), 5)
			fits("SpanIn 6", format.SpanIn(time.Duration(n), 6), 6)
		}
	}
	fits("PerSecond", format.PerSecond(1e300), 7)
	fits("Brief", format.Brief(math.MaxInt64), 4)
	fits("SpanIn", format.SpanIn(limiter.Never, 5), 5)
}

func TestShorterForms(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{format.Brief(9_999), "9999"}, {format.Brief(20_000), "20k"}, {format.Brief(33_333), "33k"}, {format.Brief(999_400), "999k"},
		{format.Brief(3_210_000), "3.2M"}, {format.Brief(32_100_000), "32M"}, {format.Short(2_500_000_000), "2.5G"}, {format.Short(7_100_000_000_000), "7.1T"},
		{format.SpanIn(59*time.Minute+59*time.Second, 6), "59m59s"}, {format.SpanIn(59*time.Minute+59*time.Second, 5), "60m"},
		{format.SpanIn(12*time.Hour+time.Minute, 5), "13h"}, {format.SpanIn(3*time.Minute+20*time.Second, 5), "3m20s"},
		{format.First(4, "12345", "123"), "123"}, {format.First(2, "12345", "123"), ""},
	} {
		if tc.got != tc.want {
			t.Errorf("%q, want %q", tc.got, tc.want)
		}
	}
}
