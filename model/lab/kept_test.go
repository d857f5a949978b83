package lab_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/feed/script/sandbox"
	"ratescope/limiter"
	"ratescope/model/lab"
)

// TestKeepsWhatTheServerHolds: what a log is said to keep is what the server holds: as many entries as beside its lane,
// and nothing once the key has expired.
func TestKeepsWhatTheServerHolds(t *testing.T) {
	s := budget.Clone()
	s.Limit = limiter.Limit{Count: 1, Window: 2 * time.Second}
	s.Candidates = []lab.Candidate{
		{Algorithm: limiter.SlidingLog}, {Algorithm: limiter.StreamCounter}, {Algorithm: limiter.FixedWindow},
		{Algorithm: limiter.SlidingWindow}, {Algorithm: limiter.GCRA}, {Algorithm: limiter.TokenBucket},
	}
	run := lab.NewRun(s, lab.NewWorkload(nil))
	keeps := func(i int) (before, after string) {
		m := run.Ask(i, 1)
		return strings.Join(m.KeptBefore(), "; "), strings.Join(m.KeptAfter(), "; ")
	}
	run.Fire(1)
	run.SeekTo(s.Zero.Add(2 * time.Second))
	run.Fire(1) // the first one has left: its key is removed before the second is recorded
	if before, after := keeps(0); before != "a log of 1 entry:; 2 s" || after != before || run.Ask(0, 0).Stored.Entries(run.Now()) != 1 {
		t.Errorf("beside one entry: %q, after a denial %q", before, after)
	}
	run.SeekTo(s.Zero.Add(time.Minute))
	for i, c := range s.Candidates {
		if before, after := keeps(i); before != "nothing" || after == before || run.Bytes(i, run.Now()) != 0 ||
			run.Ask(i, 0).Stored.Entries(run.Now()) != 0 {
			t.Errorf("%s beside an expired key: %q, and %q when one more is sent", c, before, after)
		}
	}
	if text := lab.Markdown("moment", run, nil); strings.Contains(text, ":,") || !strings.Contains(text, "| gcra | 2 | 2 | 0 | - | - |") {
		t.Errorf("the moment says of lists and of what promises no window:\n%s", text)
	}
}

// TestAFaultRunsAsItDecides: the script of the window in seconds runs as the lab decides, also on requests of one instant.
func TestAFaultRunsAsItDecides(t *testing.T) {
	var on sandbox.Stage
	defer on.Close()
	s := budget.Clone()
	s.Limit = limiter.Limit{Count: 3, Window: 2 * time.Second}
	c := lab.Candidate{Algorithm: limiter.SlidingLog, Fault: lab.SecondsAsMillis}
	s.Candidates = []lab.Candidate{c}
	run := lab.NewRun(s, lab.NewWorkload(nil))
	for sent := range 4 {
		lines := run.Ask(0, 1).CommandLines(&on)
		if denied := slices.Contains(lines, "# nothing is written"); denied != (sent == 3) {
			t.Errorf("request %d: %q", sent+1, lines)
		}
		if sent < 3 {
			run.Fire(1)
		}
	}
	run.SeekTo(s.Zero.Add(3 * time.Second))
	if lines := run.Ask(0, 1).CommandLines(&on); run.Ask(0, 1).Decision.Allowed || !slices.Contains(lines, "# nothing is written") {
		t.Errorf("after its window has passed: %q", lines)
	}
	run.SeekTo(s.Zero.Add(2001 * time.Second))
	if m := run.Ask(0, 1); !m.Decision.Allowed || strings.Join(m.KeptBefore(), "") != "nothing" {
		t.Errorf("after 2001 s: %+v", m.Decision)
	}
}

// TestReadingsOfTheSameInstant: what a counter reads is known as soon as a request is fired, by the name on its lane.
func TestReadingsOfTheSameInstant(t *testing.T) {
	s := budget.Clone()
	s.Limit = limiter.Limit{Window: 5 * time.Second}
	s.Candidates = []lab.Candidate{{Algorithm: limiter.SlidingWindow}, {Algorithm: limiter.SlidingWindow, Variant: "floor"}}
	run := lab.NewRun(s, lab.NewWorkload(nil))
	goal := lab.Goal{Kind: lab.GoalReadings, Of: "sliding-window", Values: []float64{1, 2}}
	for fired, want := range []string{"it read 0 ·", "it read 1 ·", "it read 1 2 ·"} {
		if fired > 0 {
			run.Fire(1)
		}
		if p := goal.Progress(run); !strings.HasPrefix(p.Text, want) || p.Reached != (fired == 2) {
			t.Errorf("after %d: %+v", fired, p)
		}
		run.SeekTo(run.Now().Add(time.Duration(min(fired, 1)) * time.Second))
	}
	run.SeekTo(s.Zero.Add(7 * time.Second))
	if w := run.Ask(0, 1).Explain(); w.Sum() != "used = 2, for 1.2 in whole requests" {
		t.Errorf("beside an estimate of 1.2: %q", w.Sum())
	}
	s.Limit.Count = 5
	run = lab.NewRun(s, lab.NewWorkload(nil))
	disagree := lab.Goal{Kind: lab.GoalDisagree, Of: "sliding-window/floor", Other: "sliding-window", Value: 1}
	if p := disagree.Progress(run); p.Text != "0 of 1: sliding window counter, floor admitted what sliding window counter denied" {
		t.Errorf("the task names its lanes: %q", p.Text)
	}
}
