package feed_test

import (
	"context"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/limiter"
	"ratescope/model"
)

// onceSource emits one batch after which every key was read, and waits to be told to end.
type onceSource struct {
	feed.Source
	batch model.Batch
}

func (s onceSource) Run(ctx context.Context, emit func(model.Batch)) error {
	emit(s.batch)
	s.batch.Local = s.batch.Local.Add(time.Minute) // after the patience for long streams
	if ctx.Err() == nil {
		s.batch.Readings = []model.Reading{{Key: "late", Type: "string"}}
		emit(s.batch)
	}
	<-ctx.Done()
	return nil
}

// TestOnceWaitsForLongStreamsOnly holds that a key of which the keys tell no more than was read is
// not waited for, and that a stream is.
func TestOnceWaitsForLongStreamsOnly(t *testing.T) {
	for _, c := range []struct {
		typ   string
		waits bool
	}{{"string", false}, {"list", false}, {"stream", true}} {
		s := onceSource{batch: model.Batch{
			Local: time.Unix(1_795_000_000, 0), At: limiter.Instant(1_795_000_000_000_000), Server: model.Server{Link: model.Live},
			Sweep: model.Sweep{Passes: 1, Matched: 1}, Readings: []model.Reading{{Key: "k", Type: c.typ, Partial: true}},
		}}
		b, err := feed.Once(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if waited := len(b.Readings) > 1; waited != c.waits {
			t.Errorf("%s: waited %v, want %v", c.typ, waited, c.waits)
		}
	}
}
