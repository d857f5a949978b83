package bench_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/bench"
)

// outside plays the traffic for applications against a limiter that decides some milliseconds after the request
// was sent.
func outside(t *testing.T, a limiter.Algorithm, terms limiter.Convention, told, kept limiter.Limit) bench.Report {
	t.Helper()
	m := &memory{algorithm: a, terms: terms, limit: kept}
	if err := m.Reset(); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	at := bench.Zero(told.Window).Add(bench.OutsideBegins(told.Window))
	var seen []bench.Observed
	for _, s := range bench.Outside(told) {
		sent := at.Add(s.At)
		for range s.N {
			sent = sent.Add(2 * time.Millisecond)
			late := time.Duration(random.Int64N(int64(2 * time.Millisecond)))
			seen = append(seen, bench.Observed{At: sent, Admitted: m.Admit(sent.Add(late), 1).Admitted})
		}
	}
	return bench.Judge(bench.Options{Limit: told}, seen)
}

// TestOutside: algorithms are told apart by what an application answers in real time.
func TestOutside(t *testing.T) {
	l := limiter.Limit{Count: 10, Window: 10 * time.Second}
	for _, c := range []struct {
		algorithm limiter.Algorithm
		terms     limiter.Convention
		want      limiter.Algorithm
	}{
		{limiter.FixedWindow, limiter.Convention{}, limiter.FixedWindow},
		{limiter.FixedWindow, limiter.Convention{Alignment: convention.FirstRequest}, limiter.FixedWindow},
		{limiter.SlidingLog, limiter.Convention{}, limiter.SlidingLog},
		{limiter.SlidingWindow, limiter.Convention{}, limiter.SlidingWindow},
		{limiter.GCRA, limiter.Convention{}, limiter.GCRA},
		{limiter.LeakyBucket, limiter.Convention{}, limiter.GCRA}, // the same from outside
	} {
		t.Run(fmt.Sprint(c.algorithm, c.terms.Alignment), func(t *testing.T) {
			r := outside(t, c.algorithm, c.terms, l, l)
			if r.Identity.Algorithm != c.want {
				t.Errorf("named %s, alike %v, %+v", r.Name(), r.Alike, r.Identity)
			}
			if !r.OK() {
				t.Errorf("%+v", r.Findings)
			}
			t.Logf("%s %v, alike %v, %d of %d", r.Name(), r.Limit, r.Alike, r.Identity.Agrees, r.Identity.Asked)
		})
	}
	less := outside(t, limiter.SlidingLog, limiter.Convention{}, l, limiter.Limit{Count: 8, Window: l.Window})
	if less.OK() || less.Findings[0].ID != bench.UnderAdmits {
		t.Errorf("a limit of 8 for 10: %+v", less.Findings)
	}
	if less.Lies(false, "no header"); less.Findings[len(less.Findings)-1].Fault {
		t.Error("a header that is not there is a fault")
	}
	more := outside(t, limiter.SlidingLog, limiter.Convention{}, l, limiter.Limit{Count: 40, Window: l.Window})
	if more.OK() || more.Findings[0].ID != bench.OverAdmits {
		t.Errorf("a limit of 40 for 10: %+v", more.Findings)
	}
}

// TestOutsideNeverNamesAnother: whatever the limit, what the application is stands among what its answers leave; where
// they leave several, none of them is named.
func TestOutsideNeverNamesAnother(t *testing.T) {
	for _, l := range []limiter.Limit{{Count: 5, Window: 2 * time.Second}, {Count: 10, Window: 4 * time.Second}, {Count: 3, Window: time.Second},
		{Count: 60, Window: time.Minute}} {
		for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingLog, limiter.SlidingWindow, limiter.GCRA} {
			for _, terms := range []limiter.Convention{{}, {Denied: convention.Charged}} {
				r := outside(t, a, terms, l, l)
				if !slices.Contains(r.Alike, a) || len(r.Alike) > 1 && r.Identity.Algorithm != limiter.Unknown {
					t.Errorf("%v: a %s is named %s, of %v", l, a, r.Name(), r.Alike)
				}
			}
		}
	}
}
