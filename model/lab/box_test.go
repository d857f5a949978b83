package lab_test

import (
	"testing"

	"ratescope/model/lab"
)

// TestEveryBoxCanBeNamed lets a player that knows no more than a person (what fits so far) name
// every box, and holds the strategy to what it says that it takes.
func TestEveryBoxCanBeNamed(t *testing.T) {
	hidden, needs := map[int]bool{}, map[string]int{}
	for seed := range uint64(60) {
		b := lab.NewBox(seed)
		this, most := b.Needs()
		if this < 2 || this > most || most > 30 {
			t.Fatalf("seed %d: the strategy takes %d requests, at most %d", seed, this, most)
		}
		hidden[b.Hidden()] = true
		needs[b.Suspects[b.Hidden()].Name] = this
		if !b.Fits(b.Hidden()) || !b.Guess(b.Hidden()) {
			t.Fatalf("seed %d: what is in the box does not fit it", seed)
		}
		waits := []int{0, 0, 0, 0, 5, 5, 1, 10, 10, 0, 0, 20, 0, 40, 0, 0, 0, 1, 1, 1, 1, 1, 10, 0, 20, 0, 0, 5}
		for _, w := range waits {
			b.Wait(w)
			b.Fire()
			if !b.Fits(b.Hidden()) {
				t.Fatalf("seed %d: the box does not answer as %s does", seed, b.Suspects[b.Hidden()].Name)
			}
		}
		if len(b.Tried) != len(waits) {
			t.Fatalf("%d requests are counted of %d", len(b.Tried), len(waits))
		}
	}
	t.Logf("requests that the strategy takes: %v", needs)
	if len(hidden) < len(lab.Suspects()) {
		t.Errorf("only the suspects %v were hidden in sixty boxes", hidden)
	}
}

// TestTheStrategyTellsSuspectsApart: what it takes is not more than the requests of a plain
// player who fires until one suspect is left, and every suspect is one of a class of its own.
func TestTheStrategyTellsSuspectsApart(t *testing.T) {
	b := lab.NewBox(1)
	for i := range b.Suspects {
		if b.Guess(i) != (i == b.Hidden()) {
			t.Errorf("%s is taken for %s", b.Suspects[i].Name, b.Suspects[b.Hidden()].Name)
		}
	}
	for seed := range uint64(20) {
		b := lab.NewBox(seed)
		this, _ := b.Needs()
		for n := range 200 {
			left := 0
			for i := range b.Suspects {
				if b.Fits(i) {
					left++
				}
			}
			if left == 1 {
				break
			}
			b.Wait(lab.BoxWaits[(n*n+n/3)%len(lab.BoxWaits)])
			b.Fire()
		}
		if len(b.Tried) < this {
			t.Logf("seed %d: a plain player took %d requests, the strategy %d", seed, len(b.Tried), this)
		}
	}
}

func BenchmarkNewBox(b *testing.B) {
	for i := range b.N {
		lab.NewBox(uint64(i))
	}
}
