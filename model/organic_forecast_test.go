package model_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// TestForecastAmongOthers plays random orders of cost 1 among random requests of others, in 200 random
// states of every algorithm, and holds the forecast to the bounds that Forecast states: never more are
// admitted, and at most as many fewer as requests of others were admitted meanwhile. The others lose at
// most one admission for each of ours.
func TestForecastAmongOthers(t *testing.T) {
	for _, a := range limiter.Algorithms() {
		random := rand.New(rand.NewPCG(11, uint64(a)))
		exact := 0
		for range 200 {
			limit := limiter.Limit{Count: 1 + random.Int64N(40), Window: time.Duration(1+random.IntN(120)) * time.Second}
			now := limiter.InstantOf(noon).Add(time.Duration(random.Int64N(int64(time.Hour))))
			r := model.Reading{Key: "k", Target: model.Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window}, State: limiter.State{Algorithm: a}}
			c := limiter.Convention{}
			for range random.IntN(60) { // what came before
				r.State.Take(now, limit, c, 1)
				now = now.Add(time.Duration(random.Int64N(int64(limit.Window) / 20)))
			}
			s := model.Order{Key: "k", Target: r.Target, Cost: 1, N: 1 + random.IntN(80), Rate: 0.5 + 10*random.Float64()}
			if random.IntN(2) == 0 {
				s.Shape = model.Shape{Kind: model.Poisson, Seed: random.Uint64()}
			}
			f, _ := r.ForecastOrder(now, s)
			var ours, others []time.Duration
			for due := range s.Due() {
				ours = append(ours, due)
			}
			mean := float64(limit.Window) / float64(limit.Count) * (0.3 + 3*random.Float64())
			for at := time.Duration(random.ExpFloat64() * mean); at < s.Lasts()+limit.Window; at += time.Duration(random.ExpFloat64() * mean) {
				others = append(others, at)
			}
			with, without := r.State.Clone(), r.State.Clone()
			admitted, meanwhile, theirs, alone := 0, 0, 0, 0
			for i := 0; i < len(others) || len(ours) > 0; {
				if len(ours) > 0 && (i == len(others) || ours[0] <= others[i]) {
					if with.Take(now.Add(ours[0]), limit, c, 1).Allowed {
						admitted++
					}
					ours = ours[1:]
					continue
				}
				at := now.Add(others[i])
				if with.Take(at, limit, c, 1).Allowed {
					if theirs++; len(ours) > 0 {
						meanwhile++
					}
				}
				if without.Take(at, limit, c, 1).Allowed {
					alone++
				}
				i++
			}
			if !f.Known || admitted > f.Admitted || admitted < f.Admitted-meanwhile {
				t.Errorf("%v, %d/%v: %d of %d were admitted among %d of others, the forecast was %d", a, limit.Count, limit.Window, admitted, s.N, meanwhile, f.Admitted)
			}
			if lost := alone - theirs; lost > admitted || lost < -admitted {
				t.Errorf("%v, %d/%v: others lost %d admissions to %d of ours", a, limit.Count, limit.Window, lost, admitted)
			}
			if admitted == f.Admitted {
				exact++
			}
		}
		t.Logf("%v: the forecast was exact in %d of 200 states", a, exact)
	}
}
