package lab_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/lab"
)

// rounds is how often something is tried at random.
func rounds(n int) int {
	if underRace {
		return max(n/10, 4)
	}
	return n
}

// randomSetup makes a comparison of any algorithms on any terms.
func randomSetup(r *rand.Rand) lab.Setup {
	s := lab.Setup{
		Limit: limiter.Limit{Count: 1 + r.Int64N(20), Window: time.Duration(1+r.IntN(50)) * 100 * time.Millisecond},
		Convention: limiter.Convention{
			Edge: limiter.Edge(r.IntN(2)), Alignment: limiter.Alignment(r.IntN(2)), Rounding: limiter.Rounding(r.IntN(3)),
			Rule: limiter.Rule(r.IntN(2)), Denied: limiter.Denied(r.IntN(2)), Refill: limiter.Refill(r.IntN(2)),
		},
		Skew: time.Duration(r.IntN(2000)) * time.Millisecond,
	}
	s.Zero = limiter.Instant(4_000_000_000_000_000).Floor(s.Limit.Window)
	all := []string{"fixed-window", "sliding-log", "sliding-window", "stream", "gcra", "token-bucket", "leaky-bucket",
		"sliding-window/round", "sliding-log/charged", "sliding-log/colliding-members", "stream/seconds-as-millis", "fixed-window/client-clock"}
	for _, i := range r.Perm(len(all))[:1+r.IntN(lab.MaxContenders)] {
		c, err := lab.ParseContender(all[i])
		if err != nil {
			panic(err)
		}
		s.Contenders = append(s.Contenders, c)
	}
	return s
}

func randomTape(r *rand.Rand, s lab.Setup, n int) *lab.Tape {
	spacing := float64(s.Limit.Window/time.Microsecond) / float64(s.Limit.Count)
	at := s.Zero
	var list []lab.Arrival
	for range n {
		if r.IntN(3) > 0 {
			at += limiter.Instant(r.Float64() * 2 * spacing)
		}
		list = append(list, lab.Arrival{At: at, Cost: r.Int64N(4)})
	}
	return lab.NewTape(lab.Given(list))
}

// shown is everything that can be seen of a run.
type shown struct {
	Now     limiter.Instant
	Decided int
	States  []limiter.State
	Totals  []int64
	Tallies []lab.Tally
	Fates   []lab.Verdicts
}

func look(r *lab.Run) shown {
	v := shown{Now: r.Now(), Decided: r.Decided()}
	for i := range r.Setup().Contenders {
		s := r.State(i)
		if len(s.Log) == 0 {
			s.Log = nil
		}
		v.States = append(v.States, s)
		v.Tallies = append(v.Tallies, r.Tally(i))
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
	for round := range rounds(200) {
		s := randomSetup(random)
		run := lab.NewRun(s, randomTape(random, s, 400))
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
	for round := range rounds(120) {
		s := randomSetup(random)
		seed := random.Uint64()
		run := lab.NewRun(s, randomTape(rand.New(rand.NewPCG(seed, 0)), s, 1500))
		span := int64(100 * s.Limit.Window)
		for range 60 {
			switch random.IntN(7) {
			case 0:
				run.Step()
			case 1:
				run.StepBack()
			case 2:
				run.Fire(1 + random.Int64N(3))
			case 3:
				run.AdvanceTo(run.Now().Add(time.Duration(random.Int64N(span / 20))))
			case 4:
				c := run.Setup()
				c.Limit.Count = 1 + random.Int64N(20)
				c.Convention.Denied = limiter.Denied(random.IntN(2))
				run.Change(c)
			case 5:
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
		straight := lab.NewRun(run.Setup(), lab.NewTape(lab.Given(all)))
		straight.AdvanceTo(run.Now())
		if got, want := look(run), look(straight); !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d (%+v):\ngot  %+v\nwant %+v", round, run.Setup(), got, want)
		}
	}
}

func TestInspectAgreesWithTheRun(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 3))
	for range rounds(60) {
		s := randomSetup(random)
		run := lab.NewRun(s, randomTape(random, s, 600))
		run.SeekTo(s.Zero.Add(15 * s.Limit.Window))
		before := look(run)
		for range 20 {
			c, i := random.IntN(len(s.Contenders)), random.IntN(run.Decided()+1)
			m, ok := run.Inspect(c, i)
			if !ok {
				continue
			}
			if m.Decided && m.Decision.Allowed != m.Verdicts.Allowed(c) {
				t.Fatalf("%s, arrival %d: inspected %v, decided %v", s.Contenders[c], i, m.Decision.Allowed, m.Verdicts.Allowed(c))
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
	for range rounds(40) {
		s := randomSetup(random)
		run := lab.NewRun(s, randomTape(random, s, 300))
		run.AdvanceTo(s.Zero.Add(1000 * s.Limit.Window))
		for c := range s.Contenders {
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
			if got := run.Tally(c).Largest; got != want {
				t.Fatalf("%s: largest true window %d, counted %d", s.Contenders[c], got, want)
			}
		}
	}
}

// TestTwinsDecideAlike: beside a sliding log a stream counter is not asked again, and ends
// as it does alone.
func TestTwinsDecideAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 5))
	log, stream := lab.Contender{Algorithm: limiter.SlidingLog}, lab.Contender{Algorithm: limiter.StreamCounter}
	for range rounds(60) {
		s := randomSetup(random)
		seed := random.Uint64()
		var runs []*lab.Run
		for _, into := range [][]lab.Contender{{log, stream}, {stream}} {
			one := s.Clone()
			one.Contenders = into
			run := lab.NewRun(one, randomTape(rand.New(rand.NewPCG(seed, 1)), s, 300))
			run.AdvanceTo(s.Zero.Add(12 * s.Limit.Window))
			run.SeekTo(s.Zero.Add(5 * s.Limit.Window))
			run.Fire(1)
			runs = append(runs, run)
		}
		both, alone := look(runs[0]), look(runs[1])
		if !reflect.DeepEqual(both.States[1], alone.States[0]) {
			t.Fatalf("the twin keeps\n%+v, alone\n%+v", both.States[1], alone.States[0])
		}
		if a, b := both.Tallies[1], alone.Tallies[0]; s.Convention.Denied == limiter.Free && a != b {
			t.Fatalf("the twin's tally %+v, alone %+v", a, b)
		}
	}
}

// BenchmarkMillion decides about a million requests with six algorithms.
func BenchmarkMillion(b *testing.B) {
	s := lab.Setup{Limit: limiter.Limit{Count: 100, Window: time.Second}, Zero: 4_000_000_000_000_000}
	for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingLog, limiter.SlidingWindow, limiter.StreamCounter, limiter.GCRA, limiter.TokenBucket} {
		s.Contenders = append(s.Contenders, lab.Contender{Algorithm: a})
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
		run := lab.NewRun(s, lab.NewTape(lab.Given(list)))
		run.AdvanceTo(at)
		if run.Decided() != len(list) {
			b.Fatal(run.Decided())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/6e6, "ns/decision")
}
