package timeline_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/describe"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

// TestALevelHasNoWindow: GCRA and the buckets forget nothing at the end of a window.
func TestALevelHasNoWindow(t *testing.T) {
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, tuitest.Every()...)
	s.Run(25 * time.Second)
	for _, p := range tuitest.Every() {
		for s.Press("home"); s.Session.Selection.Selected != p.Name; s.Press("down") {
		}
		level := describe.KindOf(p.How) == describe.Arrival || describe.KindOf(p.How) == describe.Bucket
		if level {
			for line := range strings.Lines(s.Text()) {
				if strings.Contains(line, "─ used ─") && strings.Contains(line, "├") {
					t.Errorf("%s has edges of windows: %s", p.Name, line)
				}
			}
		}
		has := strings.Contains(s.Text(), "─ window 10s ─")
		if has == level && p.How != limiter.FixedWindow { // the current window may be too short for its label
			t.Errorf("%s has a bracket: %v", p.Name, has)
		}
	}
}

// TestTheWindowSaysWhatCounts reads the strip under the columns while a weighted window slides.
func TestTheWindowSaysWhatCounts(t *testing.T) {
	p := tuitest.Every()[2]
	s := tuitest.NewStage(t, 200, 55, tui.Options{}, p)
	s.Run(25 * time.Second)
	shares := map[string]bool{}
	for range 40 {
		s.Run(tuitest.Refresh)
		_, rest, found := strings.Cut(s.Text(), "previous, still ")
		if found {
			shares[rest[:2]] = true
		}
	}
	if len(shares) < 10 {
		t.Errorf("in eight seconds the previous window counted by %d shares: %v", len(shares), shares)
	}
	s.See("gone by", "current", "next window in")
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
	s := tuitest.NewStage(t, 140, 42, tui.Options{}, p)
	s.Run(20 * time.Second)
	burst = true
	s.Run(3 * time.Second)
	tall := 0
	for line := range strings.Lines(s.Text()) {
		if strings.Count(line, "█") > 20 {
			tall++
		}
	}
	s.See("90")
	if tall < 3 {
		t.Errorf("beside a burst the usual traffic fills %d rows:\n%s", tall, s.Text())
	}
}

// TestTheSumOfTheWindowsMoves reads the arithmetic beside the timeline.
func TestTheSumOfTheWindowsMoves(t *testing.T) {
	s := tuitest.NewStage(t, 200, 55, tui.Options{}, tuitest.Every()[2])
	s.Run(25 * time.Second)
	products := map[string]bool{}
	for range 20 {
		s.Run(tuitest.Refresh)
		for line := range strings.Lines(s.Text()) {
			if _, product, found := strings.Cut(line, " × "); found {
				products[product[:4]] = true
			}
			if _, of, found := strings.Cut(line, " + "); found && strings.Contains(line, "estimate") {
				k := s.Session.Rows.Rows[0]
				if !strings.HasPrefix(of, strconv.FormatInt(k.Gauge.Current.N, 10)+" = "+strconv.FormatInt(k.Gauge.Used.N, 10)+" of ") {
					t.Errorf("the board says %d and %d, the sum %q", k.Gauge.Current.N, k.Gauge.Used.N, line)
				}
			}
		}
	}
	if len(products) < 3 {
		t.Errorf("the sum moved through %d values", len(products))
	}
}
