package model_test

import (
	"math/rand/v2"
	"testing"

	"ratescope/model"
)

// TestUnseenAtMostHolds: of servers on which a share of the keys was searched at random, in 95 of 100
// there are no more of a kind than said.
func TestUnseenAtMostHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, share := range []float64{0.02, 0.1, 0.5, 0.95} {
		for _, all := range []int{1, 3, 20, 200} {
			const times = 3000
			wrong := 0
			for range times {
				found := 0
				for range all {
					if r.Float64() < share {
						found++
					}
				}
				s := model.Sweep{Scanned: int64(share * 1e6), Total: 1e6}
				most, known := s.UnseenAtMost(found)
				if !known {
					t.Fatalf("nothing is said after %v of the keys", share)
				}
				if int64(all-found) > most {
					wrong++
				}
			}
			if wrong > times*6/100 {
				t.Errorf("%d keys, %v searched: wrong %d times of %d", all, share, wrong, times)
			}
		}
	}
	s := model.Sweep{Scanned: 100_000, Total: 1_000_000}
	if most, _ := s.UnseenAtMost(0); most < 29 || most > 32 {
		t.Errorf("after a tenth without any there are at most %d more, want about 30", most)
	}
	for _, s := range []model.Sweep{{Scanned: 1, Total: 1000}, {Scanned: 10, Total: 0}, {Scanned: 10, Total: 10}, {Scanned: 5, Total: 10, Passes: 1}} {
		if most, known := s.UnseenAtMost(3); known {
			t.Errorf("of %+v it says at most %d", s, most)
		}
	}
}
