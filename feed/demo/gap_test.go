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
	e, err := demo.New(watch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	var board model.Board
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	batches, from, stalled := 0, time.Time{}, false
	if err := e.Run(ctx, func(b model.Batch) {
		board.Apply(b)
		if !from.IsZero() && b.Server.Link != model.Live { // a machine that stands still for so long proves nothing
			stalled = true
			cancel()
		}
		if stalled {
			return
		}
		if from.IsZero() {
			from = b.Local
		}
		for name, k := range board.Keys() {
			columns := make([]model.Bin, k.Timeline.Index(k.Reading.At)-k.Timeline.FirstColumn(1)+1)
			k.Timeline.Columns(columns, k.Timeline.Index(k.Reading.At), 1)
			for i := range columns {
				if !columns[i].Watched && ctx.Err() == nil {
					t.Errorf("batch %d: %s was not watched %v before its newest reading", batches, name, k.Reading.At.Sub(k.Timeline.Begin(k.Timeline.Index(k.Reading.At)-int64(len(columns)-1-i))))
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
	if stalled {
		t.Skip("SKIPPED: the embedded Redis did not answer for some time: this machine is too busy")
	}
	if batches < 10 {
		t.Fatalf("only %d batches came", batches)
	}
}
