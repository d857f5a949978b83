package lab_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/lab"
)

// stormSetup is three limiters, and a storm before them that tries again after 500 ms.
func stormSetup() (lab.Setup, []lab.Traffic) {
	s := budget.Clone()
	s.Candidates = nil
	for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingLog, limiter.GCRA} {
		s.Candidates = append(s.Candidates, lab.Candidate{Algorithm: a})
	}
	return s, []lab.Traffic{
		{Model: lab.Retry, Clients: 30, PerSecond: 0.1, RetryMS: 500},
		{Model: lab.Steady, EveryMS: 1700, FromMS: 100},
	}
}

func runOf(t *testing.T, s lab.Setup, traffic []lab.Traffic) *lab.Run {
	t.Helper()
	src, err := lab.Mix(traffic, s, 4)
	if err != nil {
		t.Fatal(err)
	}
	return lab.NewRun(s, lab.NewWorkload(src))
}

// sent is an arrival with what became of it.
type sent struct {
	arrival  lab.Arrival
	verdicts lab.Verdicts
}

func allOf(r *lab.Run) []sent {
	var list []sent
	for i := range r.Decided() {
		a, v := r.Arrival(i)
		list = append(list, sent{a, v})
	}
	return list
}

// TestAStormHearsWhatIsFired: a client that is denied, and no other one, tries again half a second
// later, whether the clients of the storm, other traffic or requests fired by hand used the limit up.
func TestAStormHearsWhatIsFired(t *testing.T) {
	s, traffic := stormSetup()
	run := runOf(t, s, traffic)
	random := rand.New(rand.NewPCG(3, 3))
	end := s.Zero.Add(60 * time.Second)
	for at := s.Zero; at < end; at = at.Add(time.Duration(1+random.IntN(4)) * time.Second) {
		run.AdvanceTo(at)
		run.Future(1, at, time.Second, 20, 1) // a screen looks ahead
		for range random.IntN(8) {
			run.Fire(1)
		}
	}
	run.AdvanceTo(end)
	for c, candidate := range s.Candidates {
		due, denied, came := map[limiter.Instant]int{}, 0, 0
		for _, x := range allOf(run) {
			if int(x.arrival.Only) != c+1 {
				continue
			}
			if due[x.arrival.At] > 0 {
				due[x.arrival.At]--
				came++
			}
			if !x.verdicts.Allowed(c) {
				denied++
				due[x.arrival.At.Add(500*time.Millisecond)]++
			}
		}
		for at, n := range due {
			if n > 0 && at <= end {
				t.Errorf("%s: %d clients denied at %v do not try again half a second later", candidate, n, at.Sub(s.Zero))
			}
		}
		if denied < 500 || came < denied-60 {
			t.Errorf("%s: %d denied, %d came again", candidate, denied, came)
		}
	}
}

// TestAStormIsTheSameByEveryWay: what was fired when makes the picture, and not where the
// screen looked, in which order a person fired, or whether the clock went back between.
func TestAStormIsTheSameByEveryWay(t *testing.T) {
	s, traffic := stormSetup()
	fired := []time.Duration{0, 3100 * time.Millisecond, 3100 * time.Millisecond, 10 * time.Second, 20001 * time.Millisecond, 41 * time.Second, 41 * time.Second}
	end := s.Zero.Add(70 * time.Second)
	straight := runOf(t, s, traffic)
	for _, at := range fired {
		straight.AdvanceTo(s.Zero.Add(at))
		straight.Fire(2)
	}
	straight.AdvanceTo(end)
	want := allOf(straight)

	without := runOf(t, s, traffic)
	without.AdvanceTo(end)
	if slices.Equal(want, allOf(without)) {
		t.Fatal("nothing of what was fired changed the storm")
	}

	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 9))
		order := slices.Clone(fired)
		random.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		run := runOf(t, s, traffic)
		for _, at := range order {
			if random.IntN(2) == 0 {
				run.SeekTo(s.Zero.Add(time.Duration(random.IntN(70)) * time.Second))
				run.Coming(run.Now().Add(30 * time.Second))
				run.Upcoming()
			}
			run.SeekTo(s.Zero.Add(at))
			run.Fire(2)
			if random.IntN(2) == 0 {
				run.Step()
				run.StepBack()
			}
		}
		run.SeekTo(s.Zero)
		run.SeekTo(end)
		if got := allOf(run); !slices.Equal(got, want) {
			t.Fatalf("seed %d: fired in the order %v, another picture: %d arrivals, want %d", seed, order, len(got), len(want))
		}
		for c := range s.Candidates {
			if got, want := run.Counts(c), straight.Counts(c); got != want {
				t.Errorf("seed %d: %s: %+v, want %+v", seed, s.Candidates[c], got, want)
			}
		}
	}
}

// BenchmarkFireIntoStorm fires while a screen looks ahead, ten minutes into a storm.
func BenchmarkFireIntoStorm(b *testing.B) {
	s, traffic := stormSetup()
	src, err := lab.Mix(traffic, s, 4)
	if err != nil {
		b.Fatal(err)
	}
	run := lab.NewRun(s, lab.NewWorkload(src))
	run.AdvanceTo(s.Zero.Add(10 * time.Minute))
	b.ReportAllocs()
	for b.Loop() {
		run.Future(1, run.Now(), time.Second, 20, 1)
		run.Fire(1)
	}
}
