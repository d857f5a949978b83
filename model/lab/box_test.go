package lab_test

import (
	"math/rand/v2"
	"testing"

	"ratescope/model/lab"
)

// TestEveryBoxCanBeNamed lets a player that knows no more than a person (what fits so far) name
// every box: what is in it fits all its answers.
func TestEveryBoxCanBeNamed(t *testing.T) {
	hidden := map[int]bool{}
	for seed := range uint64(60) {
		b := lab.NewBox(seed)
		hidden[b.Hidden] = true
		if !b.Fits(b.Hidden) {
			t.Fatalf("seed %d: what is in the box does not fit it", seed)
		}
		waits := []int{0, 0, 0, 0, 5, 5, 1, 10, 10, 0, 0, 20, 0, 40, 0, 0, 0, 1, 1, 1, 1, 1, 10, 0, 20, 0, 0, 5}
		for _, w := range waits {
			b.Wait(w)
			b.Fire()
			if !b.Fits(b.Hidden) {
				t.Fatalf("seed %d: the box does not answer as %s does", seed, b.Suspects[b.Hidden].Name)
			}
		}
		if b.Run.Decided() != len(waits) {
			t.Fatalf("%d requests are counted of %d", b.Run.Decided(), len(waits))
		}
	}
	if len(hidden) < len(lab.Suspects()) {
		t.Errorf("only the suspects %v were hidden in sixty boxes", hidden)
	}
}

// TestAnswersTellSuspectsApart: a player who fires at odd times until one suspect is left finds the one in the box.
func TestAnswersTellSuspectsApart(t *testing.T) {
	for seed := range uint64(40) {
		b, random := lab.NewBox(seed), rand.New(rand.NewPCG(seed, 1))
		left := len(b.Suspects)
		for n := 0; n < 300 && left > 1; n++ {
			b.Wait(lab.BoxWaits[random.IntN(len(lab.BoxWaits))])
			b.Fire()
			left = 0
			for i := range b.Suspects {
				if b.Fits(i) {
					left++
				}
			}
		}
		if left != 1 || !b.Fits(b.Hidden) {
			t.Errorf("seed %d: %d suspects are left after %d requests, %s in the box", seed, left, b.Run.Decided(),
				b.Suspects[b.Hidden].Name)
		}
	}
}
