package handoff_test

import (
	"context"
	"sync"
	"testing"

	"ratescope/model/handoff"
)

func sum(held *int64, newer int64) { *held += newer }

// TestLatestLosesNothing puts from several goroutines while several take, and counts: every
// unit that was put is taken once, and no empty value is ever handed out.
func TestLatestLosesNothing(t *testing.T) {
	const producers, takers, each = 4, 2, 50_000
	l := handoff.New(sum)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var putting, taking sync.WaitGroup
	for range producers {
		putting.Go(func() {
			for range each {
				l.Put(1)
			}
		})
	}
	var mu sync.Mutex
	var total int64
	for range takers {
		taking.Go(func() {
			for {
				n, err := l.Take(ctx)
				if err != nil {
					return
				}
				if n == 0 {
					t.Error("an empty value was handed out")
				}
				mu.Lock()
				total += n
				mu.Unlock()
			}
		})
	}
	putting.Wait()
	cancel() // what waits is drained all the same
	taking.Wait()
	if total != producers*each {
		t.Errorf("%d of %d units were taken", total, producers*each)
	}
}

func TestLatest(t *testing.T) {
	l := handoff.New(sum)
	if v, ok := l.TryTake(); ok {
		t.Errorf("an empty one gave %d", v)
	}
	l.Put(2)
	l.Put(3)
	<-l.Ready()
	if v, ok := l.TryTake(); !ok || v != 5 {
		t.Errorf("2 and 3 gave %d, %v", v, ok)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Put(7)
	if v, err := l.Take(ctx); err != nil || v != 7 {
		t.Errorf("what was put before the end gave %d, %v", v, err)
	}
	if v, err := l.Take(ctx); err != context.Canceled || v != 0 {
		t.Errorf("after the end: %d, %v", v, err)
	}
}

// TestLatestKeepsNothing: what was taken is not held any longer.
func TestLatestKeepsNothing(t *testing.T) {
	l := handoff.New(func(held *[]int, newer []int) { *held = append(*held, newer...) })
	l.Put([]int{1})
	first, _ := l.TryTake()
	l.Put([]int{2})
	second, _ := l.TryTake()
	if len(first) != 1 || len(second) != 1 || second[0] != 2 {
		t.Errorf("%v, then %v", first, second)
	}
}

func TestSignal(t *testing.T) {
	s := handoff.NewSignal()
	s.Send()
	s.Send()
	<-s
	select {
	case <-s:
		t.Error("two sends before a receive are one")
	default:
	}
}
