package feed_test

import (
	"context"
	"testing"

	"ratescope/feed"
	"ratescope/limiter"
	"ratescope/model"
)

func TestMailbox(t *testing.T) {
	m := feed.NewMailbox()
	ctx, cancel := context.WithCancel(context.Background())
	reading := func(since, at limiter.Instant, n int64) model.Batch {
		return model.Batch{At: at, Readings: []model.Reading{{Key: "k", At: at, Since: since, Arrivals: []model.Arrival{{At: at, N: n}}}}}
	}
	m.Put(reading(0, 1, 5))
	m.Put(reading(1, 2, 6))
	m.Put(reading(2, 3, 7))
	b, err := m.Take(ctx)
	if err != nil || len(b.Readings) != 1 || b.At != 3 || len(b.Readings[0].Arrivals) != 3 || b.Readings[0].Since != 0 {
		t.Errorf("three merged: %+v, %v", b, err)
	}
	got := make(chan model.Batch)
	go func() {
		b, _ := m.Take(ctx)
		got <- b
	}()
	m.Put(reading(3, 4, 1))
	if b := <-got; b.At != 4 || len(b.Readings[0].Arrivals) != 1 {
		t.Errorf("after the take: %+v", b)
	}
	cancel()
	if _, err := m.Take(ctx); err != context.Canceled {
		t.Errorf("Take after the end: %v", err)
	}
}
