package lab_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/feed/script/sandbox"
	"ratescope/limiter"
	"ratescope/limiter/scenario"
	"ratescope/model/lab"
)

// TestExplainedAsDecided: the line that decides says what was decided, for every
// algorithm on any terms.
func TestExplainedAsDecided(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 9))
	var on sandbox.Stage
	defer on.Close()
	for range 80 {
		s := randomSetup(random)
		run := lab.NewRun(s, randomWorkload(random, s, 200))
		for range 40 {
			run.SeekTo(s.Zero.Add(time.Duration(random.Int64N(int64(20 * s.Limit.Window)))))
			for i, c := range s.Candidates {
				m := run.Ask(i, 1+random.Int64N(3))
				w := m.Explain()
				word := "admitted"
				if !m.Decision.Allowed {
					word = "denied"
				}
				if w.Rule == "" || len(w.Numbers) == 0 || !strings.HasPrefix(w.Verdict, word) || slices.Contains(w.Numbers, "") {
					t.Fatalf("%s: %+v for %+v", c, w, m.Decision)
				}
				text := strings.Join(m.CommandLines(&on), "\n")
				kept := c.Fault == lab.NoFault && c.Algorithm != limiter.FixedWindow && !strings.HasPrefix(text, "# ")
				if writes := !strings.Contains(text, "nothing is written"); kept && writes == reflect.DeepEqual(m.Before, m.After) {
					t.Fatalf("%s on %+v, allowed %v: commands\n%s", c, s, m.Decision.Allowed, text)
				}
				if len(m.KeptBefore()) == 0 {
					t.Fatalf("%s keeps nothing, not even nothing", c)
				}
			}
		}
	}
}

func TestScriptIsTheLimitersOwn(t *testing.T) {
	s := budget.Clone()
	s.Candidates = []lab.Candidate{{Algorithm: limiter.GCRA}, {Algorithm: limiter.SlidingLog, Fault: lab.CollidingMembers}}
	run := lab.NewRun(s, lab.NewWorkload(nil))
	text, err := run.Ask(0, 2).Script()
	if err != nil || !strings.HasPrefix(text, "EVAL '") || !strings.Contains(text, "redis.call") ||
		!strings.Contains(text, "1 rl:lab 2 10 10000000 4000000000000000") {
		t.Errorf("%v: %.80s … %s", err, text, text[max(0, len(text)-80):])
	}
	if _, err := run.Ask(1, 1).Script(); err == nil {
		t.Error("a fault has a script")
	}
}

// TestExportedMomentsVerify: what is exported passes where it is verified.
func TestExportedMomentsVerify(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 10))
	for range 60 {
		s := randomSetup(random)
		run := lab.NewRun(s, randomWorkload(random, s, 120))
		run.AdvanceTo(s.Zero.Add(6 * s.Limit.Window))
		run.Fire(1)
		if text := lab.Markdown("a moment", run, nil); !strings.Contains(text, s.Candidates[0].String()) ||
			strings.Count(text, "```")%2 != 0 {
			t.Errorf("markdown:\n%s", text)
		}
		file, err := lab.ScenarioFile("exported", run)
		if err != nil {
			if slices.ContainsFunc(s.Candidates, func(c lab.Candidate) bool { return c.Fault == lab.NoFault }) {
				t.Fatal(err)
			}
			continue
		}
		list, err := scenario.Load(strings.NewReader(string(file)))
		if err != nil {
			t.Fatalf("%v:\n%s", err, file)
		}
		r, err := scenario.Run(context.Background(), list[0], nil)
		if err != nil || r.Status != scenario.Pass {
			t.Fatalf("%+v %v\n%s", r, err, file)
		}
		if _, err := lab.Load(file); err != nil {
			t.Fatal(err)
		}
	}
}

// TestQuizAboutGivenTraffic: the quiz asks about the requests that it is given, and begins
// again when they are over.
func TestQuizAboutGivenTraffic(t *testing.T) {
	s := budget.Clone()
	s.Limit.Count = 2
	list := []lab.Arrival{{At: s.Zero + 1, Cost: 1}, {At: s.Zero + 2, Cost: 1}, {At: s.Zero + 3, Cost: 3},
		{At: s.Zero + 20_000_000, Cost: 2}, {At: s.Zero + 20_000_001, Cost: 1}}
	begun := 0
	q, err := lab.NewQuiz(s, func() (*lab.Workload, error) {
		begun++
		return lab.NewWorkload(lab.Given(list)), nil
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		if a := q.Question.Moment.Arrival; !slices.Contains(list, a) {
			t.Fatalf("the quiz asks about %+v, which does not come", a)
		}
		q.Next()
	}
	if begun < 5 {
		t.Errorf("begun %d times", begun)
	}
	if _, err := lab.NewQuiz(s, func() (*lab.Workload, error) { return lab.NewWorkload(nil), nil }, 1); err == nil {
		t.Error("a quiz about nothing")
	}
}

func TestQuizAsksBothWays(t *testing.T) {
	s := budget.Clone()
	for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingWindow, limiter.GCRA} {
		s.Candidates = append(s.Candidates, lab.Candidate{Algorithm: a})
	}
	q, err := lab.NewQuiz(s, nil, 5)
	if err != nil {
		t.Fatal(err)
	}
	denied, asked := 0, map[int]int{}
	for range 200 {
		c := q.Question
		if c.Moment.Decided || c.Moment.Number != q.Run.Decided() {
			t.Fatal("the quiz asks about what has been decided")
		}
		if !c.Moment.Decision.Allowed {
			denied++
			if len(c.Slots) < 2 || c.Slots[c.Slot] != c.Moment.Decision.RetryAfter {
				t.Fatalf("slots %v, right is %v", c.Slots, c.Moment.Decision.RetryAfter)
			}
		}
		asked[c.Candidate]++
		q.Next()
	}
	if denied < 60 || denied > 140 || asked[2] == 0 {
		t.Errorf("%d of 200 were denied, asked about each: %v", denied, asked)
	}
}
