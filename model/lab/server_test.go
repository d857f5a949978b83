package lab_test

import (
	"context"
	"strings"
	"testing"

	"ratescope/limiter"
	"ratescope/limiter/limitertest"
	"ratescope/limiter/scenario"
	"ratescope/model/lab"
)

// TestLessonsVerifyOnRedis: what lessons say holds on a server too.
func TestLessonsVerifyOnRedis(t *testing.T) {
	client := limitertest.Client(t)
	for _, l := range lessons(t) {
		r, err := scenario.Run(context.Background(), l.Scenario, scenario.Redis(client))
		if err != nil || r.Status != scenario.Pass {
			t.Errorf("%s: %+v %v", l.ID, r, err)
		}
	}
}

// TestCopiedScriptsRun: what the inspector copies decides on a server as it did here,
// request by request.
func TestCopiedScriptsRun(t *testing.T) {
	client := limitertest.Client(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		s := budget.Clone()
		s.Contenders = []lab.Contender{{Algorithm: a}}
		if err := client.FlushDB(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		src, err := lab.Traffic{Model: lab.Poisson, PerSecond: 2}.Source(s, 3)
		if err != nil {
			t.Fatal(err)
		}
		run := lab.NewRun(s, lab.NewTape(src))
		denied := 0
		for range 60 {
			m, ok := run.Inspect(0, run.Decided())
			if !ok {
				t.Fatal("the traffic ended")
			}
			text, err := lab.Script(s.Contenders[0], m, s)
			if err != nil {
				t.Fatal(err)
			}
			script, rest, _ := strings.Cut(strings.TrimPrefix(text, "EVAL '"), "' ")
			args := []any{"EVAL", script}
			for _, word := range strings.Fields(rest) {
				args = append(args, word)
			}
			answer, err := client.Do(ctx, args...).Int64Slice()
			if err != nil {
				t.Fatalf("%s: %v in\n%s", a, err, text)
			}
			if (answer[0] == 1) != m.Decision.Allowed {
				t.Fatalf("%s, request %d: the server answers %v, the lab %+v", a, m.Number, answer, m.Decision)
			}
			if !m.Decision.Allowed {
				denied++
			}
			run.Step()
		}
		if denied == 0 {
			t.Errorf("%s denied nothing, so little was compared", a)
		}
	}
}
