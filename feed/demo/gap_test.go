package demo_test

import (
	"context"
	"testing"
	"time"

	"ratescope/feed/demo"
	"ratescope/feed/watch"
	"ratescope/model"
)

// TestTheDemoHasNoGap: from the first batch on, every moment of every timeline was watched,
// from where it begins to the newest reading. A gap would be hatched and drift through it.
func TestTheDemoHasNoGap(t *testing.T) {
	for range 10 {
		if answered := watchDemo(t); answered {
			return
		}
		t.Log("the embedded Redis did not answer for some time, so that there is a true gap: once more")
	}
	t.Fatal("in ten runs the embedded Redis did not answer for four seconds on end")
}

// watchDemo looks for gaps in four seconds of the demo. It reports false, and found nothing out,
// when the machine stood still for so long that the server counts as away.
func watchDemo(t *testing.T) (answered bool) {
	e, err := demo.New(watch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var board model.Board
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	batches, from := 0, time.Time{}
	answered = true
	if err := e.Run(ctx, func(b model.Batch) {
		board.Apply(b)
		if answered = answered && (from.IsZero() || b.Server.Link == model.Live); !answered {
			cancel()
			return
		}
		if from.IsZero() {
			from = b.Local
		}
		for name, k := range board.Keys() {
			newest := k.Timeline.Index(k.Reading.At)
			columns := make([]model.Bin, newest-k.Timeline.FirstColumn(1)+1)
			k.Timeline.Columns(columns, newest, 1)
			for i := range columns {
				if !columns[i].Watched && ctx.Err() == nil {
					at := k.Timeline.Begin(newest - int64(len(columns)-1-i))
					t.Errorf("batch %d: %s was not watched %v before its newest reading", batches, name, k.Reading.At.Sub(at))
					cancel()
				}
			}
		}
		if batches++; b.Local.Sub(from) > 4*time.Second && batches >= 10 {
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	if answered && batches < 10 && !t.Failed() {
		t.Fatalf("only %d batches came", batches)
	}
	return answered
}
