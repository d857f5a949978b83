package lab_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ratescope/limiter/convention"
	"ratescope/model/lab"
)

// TestTermsStandForWhatIsCounted plays every lesson under random terms: what came in the time that a counted term of a
// rule stands for is what the formula says, request by request, and every term is a word of its rule.
func TestTermsStandForWhatIsCounted(t *testing.T) {
	lessons := lab.Lessons()
	random, counted := rand.New(rand.NewPCG(33, 1)), 0
	for _, l := range lessons {
		for round := range 2 {
			s := l.Setup()
			if round > 0 {
				s.Limit.Count = 1 + random.Int64N(12)
				s.Convention.Rule = []convention.Rule{convention.Fits, convention.Below}[random.IntN(2)]
				s.Convention.Denied = []convention.Denied{convention.Free, convention.Charged}[random.IntN(2)]
				s.Convention.Edge = []convention.Edge{0, convention.Closed}[random.IntN(2)]
			}
			run := under(t, l, s)
			for range 40 {
				for range random.IntN(4) {
					run.Fire(1 + random.Int64N(2))
				}
				run.AdvanceTo(run.Now().Add(s.Limit.Window / 27))
			}
			for c, candidate := range s.Candidates {
				terms := candidate.Convention(s.Convention)
				for i := 0; i < min(run.Decided(), 300); i++ {
					m, ok := run.Inspect(c, i)
					if !ok {
						continue
					}
					w := m.Explain()
					for _, term := range w.Terms {
						if !strings.Contains(w.Rule, term.Name) || term.Means == "" {
							t.Fatalf("%s: %+v is no term of %q", l.ID, term, w.Rule)
						}
						if term.Count < 0 || candidate.Fault != lab.NoFault {
							continue
						}
						var sum int64
						for k := range i {
							a, v := run.Arrival(k)
							if v.Sent(c) && a.At >= term.From && a.At <= term.To &&
								(v.Allowed(c) || terms.Denied == convention.Charged) {
								sum += a.Cost
							}
						}
						if counted++; sum != term.Count {
							t.Fatalf("%s, %s, request %d: %q stands for %d, the formula counts %d", l.ID, candidate, i, term.Name, sum,
								term.Count)
						}
					}
				}
			}
		}
	}
	if t.Logf("%d terms counted", counted); counted < 5000 {
		t.Errorf("only %d terms were counted", counted)
	}
}

// TestTermsBesideALesson plays every lesson's solution where it does not count as the lesson does: with requests of cost 2, and under
// a limit of 0, under which no goal about what is denied is reached. Its text says so, and its hint.
func TestTermsBesideALesson(t *testing.T) {
	lessons := lab.Lessons()
	for _, l := range lessons {
		for _, cost := range []int64{1, 2} {
			s := l.Setup()
			if s.Cost = cost; cost == 1 {
				s.Limit.Count = 0
			}
			run := under(t, l, s)
			for _, step := range l.Solution() {
				run.SeekTo(s.Zero.Add(step.At))
				for range step.Repeat * int(min(step.Cost, 1)) {
					run.Fire(cost)
				}
			}
			p, said := l.Progress(run), l.Paragraphs(run)
			own := s.Limit == l.Limit && cost == 1
			if told := strings.HasPrefix(said[len(said)-1], "You have changed how it counts"); told == own {
				t.Errorf("%s, limit %d, cost %d: the text ends with %q", l.ID, s.Limit.Count, cost, said[len(said)-1])
			}
			if told := strings.HasPrefix(l.Hint(run), "As the lesson counts"); told == own {
				t.Errorf("%s, limit %d, cost %d: the hint is %q", l.ID, s.Limit.Count, cost, l.Hint(run))
			}
			if told := strings.HasPrefix(p.Then, "Under your own terms: "); p.Reached && told == own {
				t.Errorf("%s, limit %d, cost %d: it shows %q", l.ID, s.Limit.Count, cost, p.Then)
			}
			if p.Reached && s.Limit.Count == 0 && l.Goal.Kind != lab.GoalReadings {
				t.Errorf("%s is reached under a limit of 0: %s", l.ID, p.Then)
			}
		}
	}
}

// TestGoalsThatNeedALargerLimit: a goal that no requests reach under a small limit says so, and is reached under the next one.
func TestGoalsThatNeedALargerLimit(t *testing.T) {
	lessons := lab.Lessons()
	least := 0
	for _, l := range lessons {
		if l.Goal.Least == 0 {
			continue
		}
		least++
		for limit := l.Goal.Least - 1; limit <= l.Goal.Least; limit++ {
			s := l.Setup()
			s.Limit.Count = limit
			run := under(t, l, s)
			for range 4 {
				for range 4 {
					run.Fire(1)
				}
				run.AdvanceTo(run.Now().Add(time.Second))
				run.Fire(1)
				run.AdvanceTo(run.Now().Add(s.Limit.Window))
			}
			p := l.Progress(run)
			if told := strings.HasPrefix(p.Text, "the goal cannot be reached"); told != (limit < l.Goal.Least) || p.Reached == told {
				t.Errorf("%s under a limit of %d: %+v", l.ID, limit, p)
			}
		}
	}
	if least != 2 {
		t.Errorf("%d goals need a larger limit than one", least)
	}
}

// TestEquationsAddUp under terms by which the two counts do not stand beside each other, and by which a bucket comes back at once.
func TestEquationsAddUp(t *testing.T) {
	into, err := lab.ParseCandidates([]string{"sliding-window", "leaky-bucket", "token-bucket"})
	if err != nil {
		t.Fatal(err)
	}
	lessons := lab.Lessons()
	s := lessons[0].Setup()
	s.Candidates, s.Convention.Alignment, s.Convention.Refill = into, convention.FirstRequest, convention.Interval
	run := lab.NewRun(s, lab.NewWorkload(nil))
	for range 4 {
		run.Fire(1)
	}
	run.AdvanceTo(s.Zero.Add(12 * time.Second))
	run.Fire(1)
	run.AdvanceTo(s.Zero.Add(15500 * time.Millisecond))
	for i, want := range []string{
		"weight = 1 - 5.5 s/10 s = 0.45", // of the window before, which ended at 10 s
		"level = 0",                      // it drains all the time
		"tokens = 9",                     // and this one comes back at 22 s
	} {
		w := run.Ask(i, 1).Explain()
		if text := strings.Join(w.Numbers, "\n"); !strings.Contains(text, want) {
			t.Errorf("%s: %q is not in\n%s", into[i], want, text)
		}
	}
	run.Fire(1)
	run.AdvanceTo(s.Zero.Add(15600 * time.Millisecond))
	if w := run.Ask(1, 1).Explain(); w.Numbers[1] != "level = 0.9" {
		t.Errorf("a leaky bucket that drains all the time has %q", w.Numbers[1])
	}
}
