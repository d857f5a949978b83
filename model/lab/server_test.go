package lab_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/scenario"
	"ratescope/model/lab"
)

// TestLessonsVerifyOnRedis: what lessons say holds on a server too.
func TestLessonsVerifyOnRedis(t *testing.T) {
	client := servertest.Client(t)
	for _, l := range lessons(t) {
		r, err := scenario.Run(context.Background(), l.Scenario, client)
		if err != nil || r.Status != scenario.Pass {
			t.Errorf("%s: %+v %v", l.ID, r, err)
		}
	}
}

// TestCopiedScriptsRun: what the inspector copies, pasted into a shell behind redis-cli,
// decides on a server as it did here, request by request.
func TestCopiedScriptsRun(t *testing.T) {
	address := servertest.Start(t).Addr()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	shell := func(text string) string {
		answer, err := exec.Command("sh", "-c", "redis-cli -p "+port+" "+text).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s in\n%s", err, answer, text)
		}
		return strings.TrimSpace(string(answer))
	}
	for _, a := range limiter.Algorithms() {
		s := budget.Clone()
		s.Candidates = []lab.Candidate{{Algorithm: a}}
		shell("FLUSHDB")
		src, err := lab.Traffic{Model: lab.Poisson, PerSecond: 2}.Source(s, 3)
		if err != nil {
			t.Fatal(err)
		}
		run := lab.NewRun(s, lab.NewWorkload(src))
		denied := 0
		for range 30 {
			m, ok := run.Inspect(0, run.Decided())
			if !ok {
				t.Fatal("the traffic ended")
			}
			text, err := m.Script()
			if err != nil {
				t.Fatal(err)
			}
			verdict, want := "0", int64(m.Arrival.At)
			if m.Decision.Allowed {
				verdict = "1"
			} else {
				denied++
			}
			// Its answer begins with the verdict and the instant.
			if answer := shell(text); !strings.HasPrefix(answer, fmt.Sprintf("%s %d ", verdict, want)) {
				t.Fatalf("%s, request %d: the server answers %q, the lab %+v", a, m.Number, answer, m.Decision)
			}
			run.Step()
		}
		if denied == 0 {
			t.Errorf("%s denied nothing, so little was compared", a)
		}
	}
}
