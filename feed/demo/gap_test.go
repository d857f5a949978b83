package demo_test

import (
	"context"
	"testing"
	"time"

	"ratescope/feed/demo"
	"ratescope/feed/watch"
	"ratescope/model"
)

// TestTheDemoHasNoGap: from the first batch on, every moment of every timeline is watched for four seconds,
// from where it begins to the newest reading. A gap would be hatched and drift through it.
func TestTheDemoHasNoGap(t *testing.T) {
	e, err := demo.New(watch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var board *model.Board
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	batches, from := 0, time.Time{}
	if err := e.Run(ctx, func(b model.Batch) {
		if board == nil || b.Server.Link != model.Live { // until it is live, and after a true gap, a board begins anew
			board, batches, from = new(model.Board), 0, b.Local
		}
		board.Apply(b)
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
	if batches < 10 && !t.Failed() {
		t.Fatalf("%d batches came on end within a minute", batches)
	}
}
