package track

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// situations are those in which every library is to be shown right.
var situations = []string{"idle", "some", "near", "over", "blocked", "rolled over"}

// shownLibrary counts the answers of one library by the situation they were given in.
type shownLibrary struct {
	answers map[string]int
	allowed int // answers that the reading before them foretold
}

// add compares whether a call was admitted with what the reading before it said, and logs the
// call: the table that "go test -v -run TestFixtures ./feed/track" prints.
func (s *shownLibrary) add(t *testing.T, f *fixture, i int, before, after *model.Reading) {
	t.Helper()
	step := &f.Steps[i]
	if step.Answer.Allowed == nil {
		return
	}
	now := limiter.Instant(math.Round(step.At * 1000))
	g := after.Gauge(now)
	situation := f.situation(i, before, after, &g)
	if s.answers == nil {
		s.answers = map[string]int{}
	}
	s.answers[situation]++
	foretold, known := f.foretell(i, before, now, max(50*time.Millisecond, time.Duration(clocks[f.Library]*1e6)))
	if unit := step.Cost == nil || *step.Cost == 1; unit && known && unforetold[f.Library+"/"+f.file] == "" {
		s.allowed++
		if foretold != *step.Answer.Allowed {
			t.Errorf("step %d (%s): admitted %v, and the reading before it says %v (%s)", i, step.Call, *step.Answer.Allowed, foretold, summary(after, &g))
		}
	}
	next := "–"
	if g.NextKnown {
		next = g.Next.Round(time.Millisecond).String()
	}
	t.Logf("%-11s used %-5s remaining %-5s library's %-5s admitted %-5v next %-9s library's %s", situation,
		counted(g.Used), counted(g.Remaining), number(step.Answer.Remaining), *step.Answer.Allowed, next, number(step.Answer.Retry))
}

// unforetold are fixtures whose calls the reading before them cannot foretell, with the reason.
var unforetold = map[string]string{
	"bull/basic":              "jobs that waited go before the one that is added",
	"bull/group":              "a job of a group that waits is put back and counted anew",
	"bullmq/basic":            "jobs that waited go before the one that is added",
	"express-slow-down/basic": "it delays requests beyond its limit and denies none",
	"rack-attack/fail2ban":    "requests that count are refused one by one before they add up to a ban",
	"tyk/sentinel":            "with its sentinel one request less is admitted, which is in no key before it denies",
}

// foretell returns whether a request of one unit is admitted at an instant by the reading before a
// step. It is not known where that changes within slack of the instant.
func (f *fixture) foretell(i int, r *model.Reading, now limiter.Instant, slack time.Duration) (admitted, known bool) {
	if r == nil {
		return true, i == 0 || len(f.Steps[i-1].Keys) == 0 // nothing was there
	}
	early, late := r.Gauge(now.Add(-slack)), r.Gauge(now.Add(slack))
	return late.Next == 0, early.NextKnown && late.NextKnown && (early.Next == 0) == (late.Next == 0)
}

// turnedAway returns how many calls from one step to another the library denied; ok is false where
// one was not of one unit.
func (f *fixture) turnedAway(from, to int) (n int64, ok bool) {
	for _, s := range f.Steps[from : to+1] {
		if s.Answer.Allowed == nil {
			continue
		}
		if s.Cost == nil || *s.Cost != 1 {
			return 0, false
		}
		if !*s.Answer.Allowed {
			n++
		}
	}
	return n, true
}

// situation names what a call met.
func (f *fixture) situation(i int, before, after *model.Reading, g *model.Gauge) string {
	a := &f.Steps[i].Answer
	switch {
	case !*a.Allowed && after.State.BlockedUntil > after.At:
		return "blocked"
	case !*a.Allowed:
		return "over"
	case before == nil:
		return "idle"
	case g.Used.N <= before.Gauge(before.At).Used.N:
		return "rolled over"
	case g.Near():
		return "near"
	}
	return "some"
}

// unmet are situations that no fixture of a library has, with the reason.
var unmet = map[string]string{
	"express-brute/near":                         "how many requests are free is a setting of the program, so that no key is near",
	"bull/rolled over":                           "a waiting job takes the room as soon as it comes",
	"express-slow-down/over":                     "it delays requests and denies none",
	"nestjs-redis-throttler-storage/rolled over": "the window's end is told by the fixtures of its successor",
}

// showAll logs how many answers of each library were compared in each situation, and holds that
// every situation is among them.
func showAll(t *testing.T, shown map[string]*shownLibrary) {
	foretold := 0
	t.Logf("%-32s %s  foretold", "library", strings.Join(situations, "  "))
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		s := shown[name]
		foretold += s.allowed
		for _, situation := range [...]string{"idle", "near", "over", "rolled over"} {
			met := s.answers[situation] + map[bool]int{true: s.answers["blocked"]}[situation == "over"]
			if reason := unmet[name+"/"+situation]; len(s.answers) > 0 && (met > 0) == (reason != "") {
				t.Errorf("%s has %d answers %s, %q", name, met, situation, reason)
			}
		}
		var row strings.Builder
		for _, situation := range situations {
			fmt.Fprintf(&row, "%*d  ", len(situation), s.answers[situation])
		}
		t.Logf("%-32s %s%8d", name, row.String(), s.allowed)
	}
	if foretold < 2000 {
		t.Errorf("only %d answers were foretold", foretold)
	}
}

func counted(c model.Count) string {
	if !c.Known {
		return "–"
	}
	return fmt.Sprint(c.N)
}

func number(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprint(*v)
}
