package lab_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/lab"
	"ratescope/model/record"
)

// recorded is a trace of a key that was denied: a burst of 14 against 10 in 10 s.
func recorded() *lab.Trace {
	t := &lab.Trace{Recording: true, Keys: []lab.TraceKey{
		{Name: "rl:{user}:42\x1b[2J", Denied: true,
			Target: model.Target{Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 10, Window: 10 * time.Second}, LimitKnown: true}},
		{Name: "rl:quiet", Target: model.Target{Algorithm: limiter.GCRA}},
	}}
	zero := limiter.Instant(4_000_000_001_500_000)
	for i := range 14 {
		t.Arrivals = append(t.Arrivals, lab.Arrival{At: zero.Add(time.Duration(i) * 100 * time.Millisecond), Cost: 1})
	}
	return t
}

// TestARecordingBecomesLessons: its limiter and requests are taken over, the questions have
// answers, and the lessons are files that open again.
func TestARecordingBecomesLessons(t *testing.T) {
	list, err := lab.Incident(recorded())
	if err != nil || len(list) != 2 {
		t.Fatalf("%d lessons: %v", len(list), err)
	}
	find := list[0]
	if find.Algorithm != limiter.SlidingLog || find.Limit.Count != 10 || find.Goal.Value != 14 || strings.Contains(find.Title, "\x1b") {
		t.Errorf("the lesson: %+v, limit %v, goal %+v", find.Title, find.Limit, find.Goal)
	}
	run := play(t, find, nil)
	run.AdvanceTo(run.Setup().Zero.Add(find.Length()))
	if p := find.Goal.Progress(run); p.Reached || !strings.Contains(p.Text, "under a limit of 10: 4") {
		t.Errorf("under its own limit: %+v", p)
	}
	for limit, want := range map[int64]bool{13: false, 14: true, 15: false} {
		s := run.Setup()
		s.Limit.Count = limit
		run := under(t, find, s)
		run.AdvanceTo(s.Zero.Add(find.Length()))
		if p := find.Goal.Progress(run); p.Reached != want {
			t.Errorf("limit %d: %+v", limit, p)
		}
	}
	which := list[1]
	run = play(t, which, nil)
	if p := which.Goal.Progress(run); p.Reached {
		t.Error("reached before anything came")
	}
	run.AdvanceTo(run.Setup().Zero.Add(which.Length()))
	best := 0
	for i := range run.Setup().Candidates {
		if run.Counts(i).Largest > run.Counts(best).Largest {
			best = i
		}
	}
	run.Select(best)
	if p := which.Goal.Progress(run); !p.Reached || strings.ContainsAny(p.Then, "{}") {
		t.Errorf("with %s selected: %+v", run.Setup().Candidates[best], p)
	}
	again, err := lab.Load(find.File())
	if err != nil || len(again) != 1 || again[0].Given != find.Given || len(again[0].Steps) != len(find.Steps) {
		t.Errorf("the file of the lesson: %v\n%s", err, find.File())
	}
	for _, l := range list {
		for _, text := range append(l.Paragraphs(run), l.Task(run), l.Hint(run)) {
			if strings.ContainsAny(text, "{}\x1b") {
				t.Errorf("a name is not known in %q", text)
			}
		}
	}
}

// TestAnIncidentIsNotOverBeforeItBegins: where denials are not recorded the lesson says so, and does not open solved,
// although the recorded requests all fit under the limit that was.
func TestAnIncidentIsNotOverBeforeItBegins(t *testing.T) {
	trace := recorded()
	trace.Keys[0].Denied, trace.Arrivals = false, trace.Arrivals[:10] // those that were admitted
	list, err := lab.Incident(trace)
	if err != nil {
		t.Fatal(err)
	}
	find := list[0]
	run := play(t, find, nil)
	text := strings.Join(find.Paragraphs(run), " ")
	if !strings.Contains(text, "admitted requests alone") || !strings.Contains(text, "The limit was 10 in 10s") {
		t.Errorf("it says %q", text)
	}
	run.AdvanceTo(run.Setup().Zero.Add(find.Length()))
	if p := find.Goal.Progress(run); p.Reached {
		t.Errorf("it opens solved: %+v", p)
	}
	s := run.Setup()
	s.Limit.Count = 5
	if s.Limit.Count != find.Goal.Value {
		t.Fatalf("it asks for a limit of %d", find.Goal.Value)
	}
	run = under(t, find, s)
	if p := find.Goal.Progress(run); p.Reached {
		t.Errorf("it is solved before a request came: %+v", p)
	}
	run.AdvanceTo(s.Zero.Add(find.Length()))
	if p := find.Goal.Progress(run); !p.Reached || p.Then != "A limit of 5 in 10 s lets in 5 of these, and denies 5." {
		t.Errorf("with a limit of 5: %+v", p)
	}
}

// TestAnIncidentBeginsWithWhatCounted: of each algorithm, requests before and after the first reading of a
// recording; the lab counts at every moment behind it what the limiter did.
func TestAnIncidentBeginsWithWhatCounted(t *testing.T) {
	limit := limiter.Limit{Count: 10, Window: 10 * time.Second}
	zero := limiter.Instant(4_000_000_000_000_000)
	for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingWindow, limiter.SlidingLog, limiter.GCRA, limiter.TokenBucket, limiter.LeakyBucket} {
		t.Run(a.String(), func(t *testing.T) {
			var file bytes.Buffer
			w, err := record.NewWriter(&file, false, record.Header{At: zero})
			if err != nil {
				t.Fatal(err)
			}
			truth := limiter.State{Algorithm: a}
			take := func(at limiter.Instant) bool { return truth.Take(at, limit, limiter.Convention{}, 1).Allowed }
			for i := range 5 { // the window before, and the one in which the recording begins
				take(zero.Add(time.Duration(i) * 1700 * time.Millisecond))
				take(zero.Add(10*time.Second + time.Duration(i)*500*time.Millisecond))
			}
			reading := func(at limiter.Instant, arrivals ...model.Arrival) {
				r := model.Reading{Key: "rl:k", Type: "string", At: at, State: truth.Clone(), PreviousKnown: a == limiter.SlidingWindow, Arrivals: arrivals,
					Target: model.Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window}}
				if err := w.Write(model.Batch{At: at, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}}); err != nil {
					t.Fatal(err)
				}
			}
			first := zero.Add(13 * time.Second)
			reading(first)
			used := map[limiter.Instant]int64{}
			for i := range 30 {
				at := first.Add(time.Duration(i+1) * 700 * time.Millisecond)
				if arrived := at - 1000; i%3 == 0 && take(arrived) {
					reading(at, model.Arrival{At: arrived, N: 1})
				} else {
					reading(at)
				}
				used[at] = truth.Peek(at, limit, limiter.Convention{}, 0).Used
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			trace, err := lab.ReadTrace(&file)
			if err != nil {
				t.Fatal(err)
			}
			if stood := a != limiter.SlidingLog; trace.Keys[0].Stood != stood {
				t.Errorf("what counted at the first reading is told: %v, want %v", !stood, stood)
			}
			s := lab.Setup{Candidates: []lab.Candidate{{Algorithm: a}}, Limit: limit, Zero: zero.Add(-limit.Window)}
			run := lab.NewRun(s, lab.NewWorkload(trace.Source(s, 0)))
			shift := s.Zero - trace.Arrivals[0].At.Floor(limit.Window)
			for at := first.Add(700 * time.Millisecond); at <= first.Add(21*time.Second); at = at.Add(700 * time.Millisecond) {
				run.AdvanceTo(at + shift)
				if got := run.Ask(0, 0).Decision.Used; got != used[at] {
					t.Fatalf("%v after the first reading the lab counts %d, the limiter did %d", at.Sub(first), got, used[at])
				}
			}
		})
	}
}

// TestAWindowThatEndsWhileItIsRead: what a window admitted after its last whole reading is as much as was left before it
// denied, also where a part of that was read.
func TestAWindowThatEndsWhileItIsRead(t *testing.T) {
	limit, edge := limiter.Limit{Count: 10, Window: 10 * time.Second}, limiter.Instant(4_000_000_010_000_000)
	target := model.Target{Algorithm: limiter.FixedWindow, Limit: limit, LimitKnown: true, Window: limit.Window}
	for read := range int64(3) {
		var file bytes.Buffer
		w, err := record.NewWriter(&file, false, record.Header{At: edge})
		if err != nil {
			t.Fatal(err)
		}
		denied := model.Arrival{At: edge - 20_000, N: 1, Denied: true}
		for _, r := range []model.Reading{
			{At: edge - 200_000, State: limiter.State{Algorithm: limiter.FixedWindow, Start: edge.Add(-limit.Window), Current: 8}},
			{At: edge + 1000, Since: edge - 200_000, State: limiter.State{Algorithm: limiter.FixedWindow, Start: edge},
				Arrivals: []model.Arrival{{At: edge - 1000, N: read}, denied}},
		} {
			r.Key, r.Type, r.Target, r.Denied = "rl:k", "string", target, model.Count{Known: true}
			if err := w.Write(model.Batch{At: r.At, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		trace, err := lab.ReadTrace(&file)
		if err != nil {
			t.Fatal(err)
		}
		s := lab.Setup{Candidates: []lab.Candidate{{Algorithm: limiter.FixedWindow}}, Limit: limit, Zero: edge}
		run := lab.NewRun(s, lab.NewWorkload(trace.Source(s, 0)))
		run.AdvanceTo(s.Zero.Add(2 * limit.Window))
		if c := run.Counts(0); c.Admitted != limit.Count || c.Denied != 1 {
			t.Errorf("%d of 2 read: %d admitted and %d denied, want %d and 1", read, c.Admitted, c.Denied, limit.Count)
		}
	}
}

// under returns a run of a lesson under other terms.
func under(t *testing.T, l lab.Lesson, s lab.Setup) *lab.Run {
	t.Helper()
	workload, err := l.Workload(s, l.Traffic, l.Seed)
	if err != nil {
		t.Fatal(err)
	}
	return lab.NewRun(s, workload)
}

// TestAHotLogBeginsWithItsBins: a log that was read by counts at the first reading begins with them, and goes on with the
// requests that the next reading tells.
func TestAHotLogBeginsWithItsBins(t *testing.T) {
	var file bytes.Buffer
	zero := limiter.Instant(4_000_000_000_000_000)
	w, err := record.NewWriter(&file, false, record.Header{At: zero})
	if err != nil {
		t.Fatal(err)
	}
	target := model.Target{Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 100, Window: 10 * time.Second}, LimitKnown: true, Window: 10 * time.Second}
	log := []limiter.Entry{{At: zero.Add(time.Second), Count: 3}, {At: zero.Add(2 * time.Second), Count: 4}}
	for i, arrivals := range [][]model.Arrival{nil, {{At: zero.Add(3500 * time.Millisecond), N: 2}}} {
		at := zero.Add(time.Duration(3+i) * time.Second)
		r := model.Reading{Key: "rl:hot", Type: "zset", At: at, Approximate: true, Arrivals: arrivals, Target: target, State: limiter.State{Algorithm: limiter.SlidingLog, Log: log}}
		if i > 0 {
			r.Since = zero.Add(3 * time.Second)
			r.State.Log = append(log, limiter.Entry{At: arrivals[0].At, Count: 2})
		}
		if err := w.Write(model.Batch{At: at, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	trace, err := lab.ReadTrace(&file)
	if err != nil {
		t.Fatal(err)
	}
	came := map[time.Duration]int{}
	for _, a := range trace.Arrivals {
		came[a.At.Sub(zero)]++
	}
	if want := map[time.Duration]int{time.Second: 3, 2 * time.Second: 4, 3500 * time.Millisecond: 2}; !maps.Equal(came, want) {
		t.Errorf("it begins with %v, want %v", came, want)
	}
}

// TestADenialWithRoomIsOneRequest: what was denied where there was room for a part of it cost more than that; at a full log each
// unit may have been a request.
func TestADenialWithRoomIsOneRequest(t *testing.T) {
	var file bytes.Buffer
	zero := limiter.Instant(4_000_000_000_000_000)
	w, err := record.NewWriter(&file, false, record.Header{At: zero})
	if err != nil {
		t.Fatal(err)
	}
	target := model.Target{Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 12, Window: 10 * time.Second}, LimitKnown: true, Window: 10 * time.Second}
	var log []limiter.Entry
	for i, n := range []int64{11, 0, 1, 0} {
		at := zero.Add(time.Duration(1+i) * time.Second)
		r := model.Reading{Key: "rl:k", Type: "zset", At: at, Target: target, Since: at.Add(-time.Second)}
		if n > 0 {
			log = append(log, limiter.Entry{At: at.Add(-time.Millisecond), Count: n})
		} else {
			r.Arrivals = []model.Arrival{{At: at.Add(-time.Millisecond), N: 3, Denied: true}}
		}
		r.State = limiter.State{Algorithm: limiter.SlidingLog, Log: log}
		if err := w.Write(model.Batch{At: at, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	trace, err := lab.ReadTrace(&file)
	if err != nil {
		t.Fatal(err)
	}
	costs := map[time.Duration][]int64{}
	for _, a := range trace.Arrivals {
		costs[a.At.Sub(zero).Round(time.Second)] = append(costs[a.At.Sub(zero).Round(time.Second)], a.Cost)
	}
	if !slices.Equal(costs[2*time.Second], []int64{3}) || !slices.Equal(costs[4*time.Second], []int64{1, 1, 1}) {
		t.Errorf("with room for one it is %v, at a full log %v", costs[2*time.Second], costs[4*time.Second])
	}
}
