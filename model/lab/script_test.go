package lab_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/lab"
)

// lock is a subject that admits the first requests, as many as the limit, and fails at one of them.
type lock struct {
	limit        limiter.Limit
	count        int64
	failsAt      int64 // the number of a request; 0 is none
	sent, resets int
}

func (l *lock) Reset(limit limiter.Limit, _ limiter.Instant) error {
	l.limit, l.count = limit, 0
	l.resets++
	return nil
}

func (l *lock) Admit(limiter.Instant, int64) (bool, []lab.Command, error) {
	l.sent++
	if l.count++; l.count == l.failsAt {
		return false, nil, errors.New("no \x1b[31mnumber")
	}
	return l.count <= l.limit.Count, []lab.Command{{Text: "get lock", Answer: "\x1b"}, {Text: "INCR lock", Answer: "1"}}, nil
}

// scripted returns a run of a script and a log under a request a second.
func scripted(t *testing.T, l *lock, seconds int) (*lab.Run, lab.Setup) {
	t.Helper()
	s := lab.Setup{Candidates: []lab.Candidate{{Script: lab.NewUserScript("lock.lua", l)}, {Algorithm: limiter.SlidingLog}},
		Limit: limiter.Limit{Count: 3, Window: 10 * time.Second}, Zero: 2_000_000_000_000_000}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	var list []lab.Arrival
	for i := range seconds {
		list = append(list, lab.Arrival{At: s.Zero.Add(time.Duration(i+1) * time.Second), Cost: 1})
	}
	return lab.NewRun(s, lab.NewWorkload(lab.Given(list))), s
}

// TestScriptLane: a script decides for itself, beside an algorithm; going back sends nothing again, and a request that is
// fired in between makes it begin anew.
func TestScriptLane(t *testing.T) {
	l := &lock{}
	run, s := scripted(t, l, 30)
	run.AdvanceTo(s.Zero.Add(30 * time.Second))
	if own, log := run.Counts(0), run.Counts(1); own.Admitted != 3 || own.Denied != 27 || log.Admitted != 9 || own.WronglyDenied == 0 {
		t.Errorf("counts %+v and %+v", own, log)
	}
	run.Ask(0, 1)
	run.Levels(0, s.Zero, time.Second, 30)
	run.Future(0, run.Now(), time.Second, 10, 1)
	run.SeekTo(s.Zero.Add(5 * time.Second))
	if own := run.Counts(0); own.Admitted != 3 || own.Denied != 2 {
		t.Errorf("5 seconds in, counts %+v", own)
	}
	run.SeekTo(s.Zero.Add(30 * time.Second))
	if l.sent != 30 || l.resets != 1 {
		t.Errorf("30 requests were sent %d times, after %d resets", l.sent, l.resets)
	}
	run.SeekTo(s.Zero.Add(time.Second))
	run.Fire(1)
	run.SeekTo(s.Zero.Add(3 * time.Second))
	if _, v := run.Arrival(3); v.Allowed(0) || !v.Sent(0) || run.Counts(0).Admitted != 3 || l.resets != 2 {
		t.Errorf("after a request was fired: %+v, %d resets", run.Counts(0), l.resets)
	}
}

// TestScriptExplained: a moment of a script lists what it read and wrote, free of control sequences.
func TestScriptExplained(t *testing.T) {
	run, s := scripted(t, &lock{}, 5)
	if m := run.Ask(0, 1); !m.Open() || !strings.Contains(m.Explain().Verdict, "unknown") {
		t.Errorf("before any request: %+v", m)
	}
	run.AdvanceTo(s.Zero.Add(5 * time.Second))
	for number, verdict := range map[int]string{2: "admitted", 3: "denied"} {
		m, ok := run.Inspect(0, number)
		if w := m.Explain(); !ok || m.Open() || w.Verdict != verdict || !strings.Contains(w.Sum(), "2 commands, 1 wrote") {
			t.Errorf("request %d: %+v", number, w)
		}
		if got := m.CommandLines(nil); !slices.Equal(got, []string{`read   get lock  → \x1b`, "wrote  INCR lock  → 1"}) {
			t.Errorf("request %d ran %q", number, got)
		}
	}
	if m := run.Ask(0, 1); m.Number != 4 || !m.Decided || m.Decision.Allowed {
		t.Errorf("asked now, the last decision is %+v", m)
	}
}

// TestScriptFails: a script that fails gets no more requests, says why, and the other lanes go on.
func TestScriptFails(t *testing.T) {
	l := &lock{failsAt: 3}
	run, s := scripted(t, l, 30)
	run.AdvanceTo(s.Zero.Add(2 * time.Second))
	if err := run.Failed(0); err != nil {
		t.Error(err)
	}
	run.AdvanceTo(s.Zero.Add(30 * time.Second))
	err := run.Failed(0)
	if err == nil || !strings.Contains(err.Error(), "request 3") || strings.Contains(err.Error(), "\x1b") || run.Failed(1) != nil {
		t.Errorf("failed: %v", err)
	}
	if own, log := run.Counts(0), run.Counts(1); own.Admitted != 2 || own.Denied != 0 || log.Admitted != 9 || l.sent != 3 {
		t.Errorf("counts %+v and %+v after %d requests", own, log, l.sent)
	}
	if _, v := run.Arrival(2); v.Sent(0) || !v.Sent(1) {
		t.Errorf("the request that failed has a verdict: %+v", v)
	}
	if m, ok := run.Inspect(0, 9); !ok || !m.Open() {
		t.Errorf("a request after the failure: %+v", m)
	}
	run.SeekTo(s.Zero.Add(time.Second))
	if run.Failed(0) != nil || run.Counts(0).Admitted != 1 {
		t.Error("before the failure the script has failed")
	}
}

// TestScriptStaysHere: what leaves the lab speaks of its algorithms alone, and a script has a lesson of its own.
func TestScriptStaysHere(t *testing.T) {
	own := lab.NewUserScript("lock.lua", &lock{})
	lesson, err := lab.ScriptLesson(own, limiter.Limit{Count: 3, Window: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := lesson.Setup()
	if len(s.Candidates) != 4 || !s.Candidates[0].Scripted() {
		t.Fatalf("candidates %v", s.Candidates)
	}
	arrivals, err := lesson.Workload(s, lesson.Traffic, 1)
	if err != nil {
		t.Fatal(err)
	}
	run := lab.NewRun(s, arrivals)
	run.AdvanceTo(s.Zero.Add(40 * time.Second))
	content, err := lab.ScenarioFile("own", run)
	if err != nil || strings.Contains(string(content), "lock.lua") {
		t.Fatalf("%v: %s", err, content)
	}
	again, err := lab.Load(content)
	if err != nil || len(again[0].Into) != 3 || again[0].Algorithm != limiter.SlidingLog {
		t.Errorf("%v: %v", err, again)
	}
	for _, l := range []lab.Lesson{again[0], {Into: make([]lab.Candidate, lab.MaxCandidates)}} {
		if with := l.With(own); with.Into[len(with.Into)-1].Script != own || len(with.Into) > lab.MaxCandidates {
			t.Errorf("%d lanes became %v", len(l.Into), with.Into)
		}
	}
}

// TestLogsOfAssemblies: the lanes of nodes have one routing, from the first node on, and what each log was charged is known.
func TestLogsOfAssemblies(t *testing.T) {
	for _, c := range []struct {
		lesson   string
		lane     int
		used     []int64
		admitted int64
	}{
		{"node-shares", 0, []int64{2, 2, 2, 0}, 6},
		{"node-shares", 1, []int64{8, 8, 8, 0}, 24},
		{"two-limits", 0, []int64{5, 2}, 5},
		{"two-limits", 1, []int64{10, 0}, 3},
	} {
		run := solved(t, lessons(t)[slices.IndexFunc(lessons(t), func(l lab.Lesson) bool { return l.ID == c.lesson })])
		var used []int64
		for _, l := range run.Logs(c.lane) {
			used = append(used, l.Used)
		}
		if got := run.Counts(c.lane).Admitted; !slices.Equal(used, c.used) || got != c.admitted {
			t.Errorf("%s, lane %d: admitted %d, want %d; used %v, want %v", c.lesson, c.lane, got, c.admitted, used, c.used)
		}
		for i, want := range []int{1, 2, 3, 4, 1} {
			at := run.Setup().Zero.Add(time.Duration(i) * run.Setup().Limit.Window / 2)
			if got := run.Setup().Node(c.lane, at); c.lesson == "node-shares" && got != want || c.lesson != "node-shares" && got != 0 {
				t.Errorf("%s, lane %d: node %d after %d half windows", c.lesson, c.lane, got, i)
			}
		}
		if len(run.Logs(2)) > 0 {
			t.Errorf("%s: an algorithm has logs", c.lesson)
		}
	}
}
