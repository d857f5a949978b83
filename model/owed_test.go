package model

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
)

// TestOrganicOfRandomHistories fires between the requests of others, at keys that drain and at windows that begin with
// their first request, quiet and busy ones, and reads them now and then; answers are told late and not in
// their order. Whenever the board says that what was fired is left out, its figures are those of a twin at
// which nothing was fired; where it cannot know, it says so and shows all.
func TestOrganicOfRandomHistories(t *testing.T) {
	anchored := limiter.Convention{Alignment: convention.FirstRequest}
	for _, c := range []struct {
		algorithm  limiter.Algorithm
		convention limiter.Convention
		burst      int64
	}{
		{limiter.GCRA, limiter.Convention{}, 0}, {limiter.GCRA, limiter.Convention{}, 300},
		{limiter.TokenBucket, limiter.Convention{}, 0}, {limiter.LeakyBucket, limiter.Convention{}, 0},
		{limiter.FixedWindow, anchored, 0},
	} {
		t.Run(c.algorithm.String(), func(t *testing.T) {
			exact, kept := 0, 0 // pictures; of the exact ones those that show another number alone
			for seed := range uint64(25) {
				e, k := organicHistory(t, seed, c.algorithm, c.convention, c.burst)
				exact, kept = exact+e, kept+k
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			t.Logf("%d pictures were exact, %d kept what was fired", exact, kept)
			if exact < 100 {
				t.Errorf("%d pictures were exact, %d kept what was fired", exact, kept)
			}
		})
	}
}

// organicHistory plays one history and returns how many pictures of it were without what was fired, where that made
// a difference, and how many kept it.
func organicHistory(t *testing.T, seed uint64, a limiter.Algorithm, c limiter.Convention, burst int64) (exact, kept int) {
	random := rand.New(rand.NewPCG(seed, 7))
	limit := limiter.Limit{Count: 7 + random.Int64N(1000), Window: time.Duration(1+random.IntN(20)) * time.Second, Burst: burst}
	target := Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window, Convention: c}
	with, without := limiter.State{Algorithm: a}, limiter.State{Algorithm: a}
	unit := limit.Window / time.Duration(limit.Count)
	gap := time.Duration(float64(unit) * []float64{0.8, 1.1, 3, 20}[random.IntN(4)]) // between requests of others, on the average
	at := limiter.InstantOf(time.Unix(1_700_000_000, 0)).Add(time.Duration(random.Int64N(int64(time.Hour))))
	var b Board
	var late []Fired
	fired, last := 0, limiter.Instant(0)
	for range 400 {
		at = at.Add(time.Duration(random.ExpFloat64()*float64(gap)/2) + time.Microsecond)
		switch n := random.IntN(10); {
		case n < 4: // others
			if without.Peek(at, limit, c, 1).Allowed && with.Peek(at, limit, c, 1).Allowed {
				with.Take(at, limit, c, 1)
				without.Take(at, limit, c, 1)
			}
		case n < 6 && random.IntN(4) == 0 && last != 0:
			cost := 1 + random.Int64N(3)
			d := with.Take(at, limit, c, cost)
			f := Fired{Key: "k", Cost: cost, At: at, Decision: d}
			if !d.Allowed {
				f.Outcome = Denied
			}
			late = append(late, f)
			fired++
		default: // a reading; before it, or after a later one, the answers are told
			random.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
			batch := Batch{At: at, Server: Server{Link: Live}, Readings: []Reading{{
				Key: "k", Type: "string", At: at, Since: last, Target: target, State: with.Clone(), PreviousKnown: true,
			}}}
			if last != 0 && random.IntN(3) == 0 {
				b.Apply(batch)
			}
			for _, f := range late {
				b.Mark(f)
			}
			late, last = nil, at
			b.Apply(batch)
			if random.IntN(4) != 0 { // a picture takes its time
				continue
			}
			picture, _ := b.Organic(at)
			k := picture.Key("k")
			if fired == 0 || slices.Contains(k.Reading.Notes, InjectedKept) {
				kept++
				continue
			}
			twin := Reading{Key: "k", Type: "string", At: at, Target: target, State: without.Clone(), PreviousKnown: true}
			want := twin.Gauge(at)
			if b.Key("k").Gauge.Used != want.Used {
				exact++
			}
			if got := k.Gauge; got.Used != want.Used || got.Remaining != want.Remaining || (got.Next-want.Next).Abs() > 2*time.Microsecond || (got.Reset-want.Reset).Abs() > 2*time.Microsecond {
				t.Errorf("%v of %+v: without what was fired %+v remain %+v next %v reset %v, and of the twin %+v, %+v, %v, %v", a, limit, got.Used, got.Remaining, got.Next, got.Reset, want.Used, want.Remaining, want.Next, want.Reset)
			}
		}
	}
	return exact, kept
}
