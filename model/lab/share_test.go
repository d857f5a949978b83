package lab_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ratescope/model/lab"
)

// TestAMomentComesBackFromItsLine shares lessons in the middle and opens them again.
func TestAMomentComesBackFromItsLine(t *testing.T) {
	for _, l := range lessons(t) {
		run := play(t, l, l.Solution())
		m := lab.Shared{Lesson: l, Setup: run.Setup(), Traffic: l.Traffic, Seed: l.Seed, Now: run.Now(), View: "decision"}
		m.Selected = min(1, len(l.Into)-1)
		for i := range run.Decided() {
			if a, _ := run.Arrival(i); a.Fired {
				m.Fired = append(m.Fired, a)
			}
		}
		line, err := m.Line()
		if err != nil {
			t.Fatal(err)
		}
		if len(line) > 400 || strings.ContainsAny(line, " \n'\"") || !lab.IsShared(line) {
			t.Errorf("%s: a line of %d: %q", l.ID, len(line), line)
		}
		back, err := lab.ReadShared(line)
		if err != nil {
			t.Fatalf("%s: %v", l.ID, err)
		}
		if len(m.Traffic) == 0 {
			m.Traffic, back.Traffic = nil, nil
		}
		if s := unscripted(&m); s != unscripted(&back) {
			t.Errorf("%s: opened with %s, want %s", l.ID, unscripted(&back), s)
		}
		if !reflect.DeepEqual(back, m) {
			t.Errorf("%s: shared\n%+v, opened\n%+v", l.ID, m, back)
		}
	}
}

// unscripted takes the assemblies out of a moment, which hold what was sent to them, and returns the names of all candidates.
func unscripted(m *lab.Shared) (names string) {
	for _, list := range []*[]lab.Candidate{&m.Setup.Candidates, &m.Lesson.Into} {
		names += fmt.Sprintln(*list)
		*list = slices.DeleteFunc(slices.Clone(*list), lab.Candidate.Scripted)
	}
	return names
}

// TestAMomentBetweenRequestsOfOneInstant: where a story stands between requests that come at one
// instant, or one was fired between them, it is opened there, and not behind them.
func TestAMomentBetweenRequestsOfOneInstant(t *testing.T) {
	for _, l := range lessons(t) {
		for seed := range uint64(4) {
			arrivals, err := l.Workload(l.Setup(), l.Traffic, l.Seed)
			if err != nil {
				t.Fatal(err)
			}
			run, draw := lab.NewRun(l.Setup(), arrivals), rand.New(rand.NewPCG(seed, 3))
			for range 30 {
				if draw.IntN(3) == 0 {
					run.Fire(1)
				} else if draw.IntN(9) == 0 {
					run.StepBack()
				} else {
					run.Step()
				}
			}
			m := lab.MomentOf(run)
			m.Lesson, m.Traffic, m.Seed = l, l.Traffic, l.Seed
			line, err := m.Line()
			if err != nil {
				t.Fatal(err)
			}
			if m, err = lab.ReadShared(line); err != nil {
				t.Fatal(err)
			}
			if arrivals, err = l.Workload(m.Setup, m.Traffic, m.Seed); err != nil {
				t.Fatal(err)
			}
			back := lab.NewRun(m.Setup, arrivals)
			if m.Play(back); back.Decided() != run.Decided() || back.Now() != run.Now() {
				t.Fatalf("%s: %d requests at %v come back as %d at %v", l.ID, run.Decided(), run.Elapsed(), back.Decided(), back.Elapsed())
			}
			for i := range run.Setup().Candidates {
				if back.Counts(i) != run.Counts(i) {
					t.Errorf("%s: %+v comes back as %+v", l.ID, run.Counts(i), back.Counts(i))
				}
			}
		}
	}
}

// TestLinesFromStrangers: whatever a line holds, it is opened within bounds or refused in a
// sentence.
func TestLinesFromStrangers(t *testing.T) {
	l := lessons(t)[0]
	line, err := lab.Shared{Lesson: l, Setup: l.Setup(), Now: l.Setup().Zero}.Line()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "s:", "s:!!!", "x:" + line, line[:len(line)/2], "s:" + strings.Repeat("A", 100_000)} {
		if _, err := lab.ReadShared(bad); err == nil {
			t.Errorf("%.40q is opened", bad)
		}
	}
	crowd := slices.Repeat([]lab.Traffic{{Model: lab.Cron, EveryMS: 1, Burst: 1_000_000}}, 1000)
	long, err := lab.Shared{Lesson: l, Setup: l.Setup(), Now: l.Setup().Zero, Traffic: crowd}.Line()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.ReadShared(long); err == nil || !strings.Contains(err.Error(), "1000 streams") {
		t.Errorf("%d letters for 1000 streams: %v", len(long), err)
	}
	random := rand.New(rand.NewPCG(8, 8))
	for range 2000 {
		broken := []byte(line)
		for range 1 + random.IntN(4) {
			broken[2+random.IntN(len(broken)-2)] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[random.IntN(64)]
		}
		m, err := lab.ReadShared(string(broken))
		if err == nil && m.Setup.Validate() != nil {
			t.Fatalf("%q is opened: %+v", broken, m)
		}
	}
}

// FuzzShared opens a line from a stranger: what is opened can be shared again.
func FuzzShared(f *testing.F) {
	f.Add("s:")
	all := lab.Lessons()
	for _, l := range all[:3] {
		line, err := lab.Shared{Lesson: l, Setup: l.Setup()}.Line()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		m, err := lab.ReadShared(line)
		if err != nil {
			return
		}
		if _, err := m.Line(); err != nil {
			t.Errorf("%q is opened and cannot be shared: %v", line, err)
		}
	})
}
