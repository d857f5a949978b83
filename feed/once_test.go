package feed_test

import (
	"context"
	"testing"
	"testing/synctest"
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
// not waited for, nor a stream of which the costs are not read, and that another stream is.
func TestOnceWaitsForLongStreamsOnly(t *testing.T) {
	for _, c := range []struct {
		typ   string
		notes []model.Note
		waits bool
	}{{"string", nil, false}, {"list", nil, false}, {"stream", nil, true}, {"stream", []model.Note{model.CostUnread}, false}} {
		s := onceSource{batch: model.Batch{
			Local: time.Unix(1_795_000_000, 0), At: limiter.Instant(1_795_000_000_000_000), Server: model.Server{Link: model.Live},
			Sweep: model.Sweep{Passes: 1, Matched: 1}, Readings: []model.Reading{{Key: "k", Type: c.typ, Partial: true, Notes: c.notes}},
		}}
		b, err := feed.OnceWithin(t.Context(), s, feed.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		if waited := len(b.Readings) > 1; waited != c.waits {
			t.Errorf("%s, %q: waited %v, want %v", c.typ, c.notes, waited, c.waits)
		}
	}
}

// awaySource emits one batch every 200 ms: of a server that is away, and after some time of one that
// answers.
type awaySource struct {
	feed.Source
	silent bool
	lasts  time.Duration // how long the server is away
}

func (s awaySource) Run(ctx context.Context, emit func(model.Batch)) error {
	for begun := time.Now(); ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		away := time.Since(begun)
		b := model.Batch{Local: time.Now(), Server: model.Server{Link: model.Connecting, Err: "it is away", Silent: s.silent, Down: away}}
		if away >= s.lasts {
			b.Server, b.Sweep = model.Server{Link: model.Live}, model.Sweep{Passes: 1, Matched: 1}
			b.Readings = []model.Reading{{Key: "k", Type: "string"}}
		}
		emit(b)
	}
	return nil
}

// TestOnceWaitsForSilentServers: a server that stands still for some seconds is waited for, within
// the bounds, and one that refuses is not.
func TestOnceWaitsForSilentServers(t *testing.T) {
	for _, c := range []struct {
		name   string
		s      awaySource
		bounds feed.Bounds
		takes  time.Duration
		fails  bool
	}{
		{"refuses", awaySource{lasts: time.Second}, feed.Bounds{}, 0, true},
		{"stands still", awaySource{silent: true, lasts: 3 * time.Second}, feed.Bounds{}, 3 * time.Second, false},
		{"is frozen", awaySource{silent: true, lasts: time.Hour}, feed.Bounds{}, 5 * time.Second, true},
		{"stands still beyond the bounds", awaySource{silent: true, lasts: 3 * time.Second}, feed.Bounds{For: 2 * time.Second}, 2 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				b, err := feed.OnceWithin(t.Context(), c.s, c.bounds)
				if (err != nil) != c.fails || err == nil && len(b.Readings) != 1 {
					t.Errorf("%d readings, %v", len(b.Readings), err)
				}
				// The source ends a refresh after the last batch.
				if took := time.Since(begun) - 200*time.Millisecond; took != c.takes {
					t.Errorf("it took %v, want %v", took, c.takes)
				}
			})
		})
	}
}
