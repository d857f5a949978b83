package lab_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/lab"
)

// randomSetup makes a comparison of any algorithms on any terms.
func randomSetup(r *rand.Rand) lab.Setup {
	s := lab.Setup{
		Limit: limiter.Limit{Count: 1 + r.Int64N(20), Window: time.Duration(1+r.IntN(50)) * 100 * time.Millisecond},
		Convention: limiter.Convention{
			Edge: convention.Edge(r.IntN(2)), Alignment: convention.Alignment(r.IntN(2)), Rounding: convention.Rounding(r.IntN(3)),
			Rule: convention.Rule(r.IntN(2)), Denied: convention.Denied(r.IntN(2)), Refill: convention.Refill(r.IntN(2)),
		},
		Skew: time.Duration(r.IntN(2000)) * time.Millisecond,
	}
	s.Zero = limiter.Instant(4_000_000_000_000_000).Floor(s.Limit.Window)
	all := []string{"fixed-window", "sliding-log", "sliding-window", "stream", "gcra", "token-bucket", "leaky-bucket",
		"sliding-window/round", "sliding-log/charged", "sliding-log/colliding-members", "stream/seconds-as-millis",
		"fixed-window/client-clock"}
	for _, i := range r.Perm(len(all))[:1+r.IntN(lab.MaxCandidates)] {
		c, err := lab.ParseCandidate(all[i])
		if err != nil {
			panic(err)
		}
		s.Candidates = append(s.Candidates, c)
	}
	return s
}

func randomWorkload(r *rand.Rand, s lab.Setup, n int) *lab.Workload {
	spacing := float64(s.Limit.Window/time.Microsecond) / float64(s.Limit.Count)
	at := s.Zero
	var list []lab.Arrival
	for range n {
		if r.IntN(3) > 0 {
			at += limiter.Instant(r.Float64() * 2 * spacing)
		}
		list = append(list, lab.Arrival{At: at, Cost: r.Int64N(4)})
	}
	return lab.NewWorkload(lab.Given(list))
}

// shown is everything that can be seen of a run.
type shown struct {
	Now     limiter.Instant
	Decided int
	States  []limiter.State
	Totals  []int64
	Tallies []lab.Counts
	Fates   []lab.Verdicts
}

func look(r *lab.Run) shown {
	v := shown{Now: r.Now(), Decided: r.Decided()}
	for i := range r.Setup().Candidates {
		s := r.Ask(i, 0).Before
		if len(s.Log) == 0 {
			s.Log = nil
		}
		v.States = append(v.States, s)
		v.Tallies = append(v.Tallies, r.Counts(i))
		v.Totals = append(v.Totals, r.Ask(i, 1).Total)
	}
	for i := range r.Decided() {
		_, f := r.Arrival(i)
		v.Fates = append(v.Fates, f)
	}
	return v
}

func TestForwardAndBackEndWhereTheyBegan(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 1))
	for round := range 200 {
		s := randomSetup(random)
		run := lab.NewRun(s, randomWorkload(random, s, 400))
		run.SeekTo(s.Zero.Add(time.Duration(random.Int64N(int64(20 * s.Limit.Window)))))
		before := look(run)
		steps := 0
		for range random.IntN(200) {
			if run.Step() {
				steps++
			}
		}
		for range steps {
			if !run.StepBack() {
				t.Fatalf("round %d: a step could not be taken back", round)
			}
		}
		if after := look(run); !reflect.DeepEqual(before, after) {
			t.Fatalf("round %d (%+v): %d steps on and back:\nbefore %+v\nafter  %+v", round, s, steps, before, after)
		}
	}
}

// TestAnyWayLeadsToTheSame seeks, steps and fires at random, and compares with a run that
// came straight here.
func TestAnyWayLeadsToTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 2))
	for round := range 120 {
		s := randomSetup(random)
		seed := random.Uint64()
		run := lab.NewRun(s, randomWorkload(rand.New(rand.NewPCG(seed, 0)), s, 1500))
		span := int64(100 * s.Limit.Window)
		for range 60 {
			switch random.IntN(6) {
			case 0:
				run.Step()
			case 1:
				run.StepBack()
			case 2:
				run.Fire(1 + random.Int64N(3))
			case 3:
				run.AdvanceTo(run.Now().Add(time.Duration(random.Int64N(span / 20))))
			case 4:
				to := run.Now().Add(time.Duration(random.Int64N(span / 20)))
				for !run.AdvanceSome(to, 1+random.IntN(30)) {
					if run.Now() > to {
						t.Fatalf("round %d: %v is beyond %v", round, run.Now(), to)
					}
				}
				if run.Now() != to {
					t.Fatalf("round %d: arrived at %v, not %v", round, run.Now(), to)
				}
			default:
				run.SeekTo(s.Zero.Add(time.Duration(random.Int64N(span))))
			}
		}
		run.SeekTo(run.Now() + 1) // a place that does not depend on how ties were stepped
		var all []lab.Arrival
		for i := range run.Decided() {
			a, _ := run.Arrival(i)
			all = append(all, a)
		}
		straight := lab.NewRun(run.Setup(), lab.NewWorkload(lab.Given(all)))
		straight.AdvanceTo(run.Now())
		if got, want := look(run), look(straight); !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d (%+v):\ngot  %+v\nwant %+v", round, run.Setup(), got, want)
		}
	}
}

func TestInspectAgreesWithTheRun(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 3))
	for range 60 {
		s := randomSetup(random)
		run := lab.NewRun(s, randomWorkload(random, s, 600))
		run.SeekTo(s.Zero.Add(15 * s.Limit.Window))
		before := look(run)
		for range 20 {
			c, i := random.IntN(len(s.Candidates)), random.IntN(run.Decided()+1)
			m, ok := run.Inspect(c, i)
			if !ok {
				continue
			}
			if m.Decided && m.Decision.Allowed != m.Verdicts.Allowed(c) {
				t.Fatalf("%s, arrival %d: inspected %v, decided %v", s.Candidates[c], i, m.Decision.Allowed, m.Verdicts.Allowed(c))
			}
		}
		if after := look(run); !reflect.DeepEqual(before, after) {
			t.Fatal("looking at a decision moved the run")
		}
	}
}

// TestLargestTrueWindow counts again, without cleverness.
func TestLargestTrueWindow(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 4))
	for range 40 {
		s := randomSetup(random)
		run := lab.NewRun(s, randomWorkload(random, s, 300))
		run.AdvanceTo(s.Zero.Add(1000 * s.Limit.Window))
		for c := range s.Candidates {
			var want int64
			for i := range run.Decided() {
				end, _ := run.Arrival(i)
				var sum int64
				for k := i; k >= 0; k-- {
					a, v := run.Arrival(k)
					if end.At.Sub(a.At) >= s.Limit.Window {
						break
					}
					if v.Allowed(c) {
						sum += a.Cost
					}
				}
				want = max(want, sum)
			}
			if got := run.Counts(c).Largest; got != want {
				t.Fatalf("%s: largest true window %d, counted %d", s.Candidates[c], got, want)
			}
		}
	}
}

// TestLogAndStreamDecideAlike: a stream counter differs from a sliding log in how a server
// keeps it alone.
func TestLogAndStreamDecideAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 5))
	for range 60 {
		s := randomSetup(random)
		s.Candidates = []lab.Candidate{{Algorithm: limiter.SlidingLog}, {Algorithm: limiter.StreamCounter}}
		run := lab.NewRun(s, randomWorkload(random, s, 300))
		run.AdvanceTo(s.Zero.Add(12 * s.Limit.Window))
		run.SeekTo(s.Zero.Add(5 * s.Limit.Window))
		run.Fire(1)
		if log, stream := run.Ask(0, 0).Before.Log, run.Ask(1, 0).Before.Log; !reflect.DeepEqual(log, stream) ||
			run.Counts(0) != run.Counts(1) {
			t.Fatalf("the log keeps\n%+v, the stream\n%+v; %+v, %+v", log, stream, run.Counts(0), run.Counts(1))
		}
	}
}

// TestWrongByItsOwnAdmissions counts again what each candidate had admitted in the true
// window before each request, and whether one more would have fitted. GCRA and the buckets promise nothing
// of a window.
func TestWrongByItsOwnAdmissions(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	seen := map[bool]int{}
	for range 60 {
		s := randomSetup(random)
		s.Convention.Rule = convention.Fits
		run := lab.NewRun(s, randomWorkload(random, s, 300))
		run.AdvanceTo(s.Zero.Add(1000 * s.Limit.Window))
		for c, candidate := range s.Candidates {
			edge := candidate.Convention(s.Convention).Edge
			var in, out int64
			for i := range run.Decided() {
				a, v := run.Arrival(i)
				var own int64
				for k := i - 1; k >= 0; k-- {
					b, w := run.Arrival(k)
					age := a.At.Sub(b.At)
					if age > s.Limit.Window || age == s.Limit.Window && edge == convention.HalfOpen {
						break
					}
					if w.Allowed(c) {
						own += b.Cost
					}
				}
				promises := !s.Candidates[c].Bursts() || s.Candidates[c].Fault != lab.NoFault
				want := promises && a.Cost > 0 && v.Allowed(c) != (own+a.Cost <= s.Limit.Count)
				if v.Wrong(c) != want {
					t.Fatalf("%s, request %d of cost %d: %d in its window, allowed %v, called wrong: %v", s.Candidates[c], i, a.Cost, own,
						v.Allowed(c), v.Wrong(c))
				}
				if want {
					seen[v.Allowed(c)]++
					if v.Allowed(c) {
						in++
					} else {
						out++
					}
				}
			}
			if got := run.Counts(c); got.WronglyAdmitted != in || got.WronglyDenied != out {
				t.Fatalf("%s: tally %+v, counted %d and %d", s.Candidates[c], got, in, out)
			}
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("little was wrong: %v", seen)
	}
}

// TestAStormForEachLane: the clients of each candidate react to what it decides, and not
// to another one.
func TestAStormForEachLane(t *testing.T) {
	s := budget.Clone()
	for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingLog, limiter.GCRA} {
		s.Candidates = append(s.Candidates, lab.Candidate{Algorithm: a})
	}
	storm := lab.Traffic{Model: lab.Retry, Clients: 30, PerSecond: 0.1, RetryMS: 500}
	src, err := storm.Source(s, 4)
	if err != nil {
		t.Fatal(err)
	}
	run := lab.NewRun(s, lab.NewWorkload(src))
	run.AdvanceTo(s.Zero.Add(60 * time.Second))
	for c := range s.Candidates {
		alone := s.Clone()
		alone.Candidates = s.Candidates[c : c+1]
		src, err := storm.Source(alone, 4)
		if err != nil {
			t.Fatal(err)
		}
		one := lab.NewRun(alone, lab.NewWorkload(src))
		one.AdvanceTo(run.Now())
		if got, want := run.Counts(c), one.Counts(0); got != want || want.Denied < 100 {
			t.Errorf("%s beside others: %+v, alone: %+v", s.Candidates[c], got, want)
		}
	}
}

// BenchmarkMillion decides about a million requests with six algorithms.
func BenchmarkMillion(b *testing.B) {
	s := lab.Setup{Limit: limiter.Limit{Count: 100, Window: time.Second}, Zero: 4_000_000_000_000_000}
	for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingLog, limiter.SlidingWindow, limiter.StreamCounter,
		limiter.GCRA, limiter.TokenBucket} {
		s.Candidates = append(s.Candidates, lab.Candidate{Algorithm: a})
	}
	random := rand.New(rand.NewPCG(1, 1))
	list := make([]lab.Arrival, 1_000_000)
	at := s.Zero
	for i := range list {
		at += limiter.Instant(random.ExpFloat64() * 9000)
		list[i] = lab.Arrival{At: at, Cost: 1}
	}
	b.ReportAllocs()
	for b.Loop() {
		run := lab.NewRun(s, lab.NewWorkload(lab.Given(list)))
		run.AdvanceTo(at)
		if run.Decided() != len(list) {
			b.Fatal(run.Decided())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/6e6, "ns/decision")
}
