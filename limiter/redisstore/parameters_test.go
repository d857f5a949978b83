package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
)

// TestReachableScripts makes a store for every combination of settings, and lists for which actions, in
// which sizes and with how much care there are scripts of each file.
func TestReachableScripts(t *testing.T) {
	t.Parallel()
	for _, a := range limiter.Algorithms() {
		for _, l := range []layout.Layout{{}, {Unit: time.Second}, {Unit: time.Millisecond}, {Suffixed: true}, {NoTotals: true}, {PerUnit: true}} {
			for bits := range 64 {
				is := func(bit int) bool { return bits&(1<<bit) != 0 }
				c := limiter.Convention{}
				if is(0) {
					c.Edge, c.Rule = convention.Closed, convention.Below
				}
				if is(1) {
					c.Denied = convention.Charged
				}
				if is(2) {
					c.Block = time.Hour
				}
				if is(3) {
					c.Refill, c.Alignment = convention.Interval, convention.FirstRequest
				}
				opts := []Option{WithLayout(l), WithConvention(c)}
				if is(4) {
					opts = append(opts, WithDenials())
				}
				if is(5) {
					opts = append(opts, WithClock(func() limiter.Instant { return 0 }))
				}
				s, err := newStore(nil, a, opts)
				if err != nil {
					continue
				}
				for _, w := range []time.Duration{time.Minute, 7 * time.Second} {
					s.plan.prepare(limiter.Limit{Count: 7, Window: w})
				}
			}
		}
	}
	found := make(map[string]bool)
	acts := map[action]string{charges: "charges", looks: "looks", refunds: "refunds", chargesAll: "charges several", resets: "resets"}
	sizes := map[size]string{whole: "", lean: " lean", slim: " slim"}
	compiled.Range(func(name, _ any) bool {
		n := name.(scriptName)
		careful := ""
		if n.Careful {
			careful = " carefully"
		}
		if n.Together {
			careful += " together"
		}
		found[strings.TrimSuffix(n.file, ".lua")+": "+acts[n.Act]+sizes[n.size]+careful] = true
		return true
	})
	usual := []string{"charges", "charges carefully", "charges lean", "charges lean together", "looks carefully", "refunds carefully", "resets"}
	several := []string{"charges several", "charges several carefully"}
	foreign := []string{"looks", "refunds"} // layouts in which what is ours cannot be told
	want := make(map[string]bool)
	for file, all := range map[string][][]string{
		"fixed":            {usual, several, foreign},
		"fixed_first":      {usual, several, foreign},
		"sliding":          {usual, several, foreign},
		"log":              {usual, several, foreign},
		"stream":           {usual, several, foreign},
		"stream_units":     {usual},
		"stream_no_totals": {{"charges", "looks", "resets"}},
		"gcra":             {usual, several, foreign, {"charges slim", "charges slim together"}},
		"bucket":           {usual, several, foreign},
	} {
		for _, does := range slices.Concat(all...) {
			want[file+": "+does] = true
		}
	}
	got, listed := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(want))
	if !slices.Equal(got, listed) {
		t.Errorf("reached, and not listed or the other way round:\n%s", difference(got, listed))
	}
}

// difference returns what only one of two lists holds.
func difference(a, b []string) string {
	var out strings.Builder
	for _, one := range a {
		if !slices.Contains(b, one) {
			fmt.Fprintln(&out, "reached", one)
		}
	}
	for _, one := range b {
		if !slices.Contains(a, one) {
			fmt.Fprintln(&out, "listed", one)
		}
	}
	return out.String()
}
