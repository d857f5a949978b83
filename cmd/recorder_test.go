package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/feed/replay"
	"ratescope/limiter"
	"ratescope/model"
)

const dawn limiter.Instant = 1_795_000_000_000_000

// batches reads a recording back.
func batches(t *testing.T, name string) (all []model.Batch) {
	t.Helper()
	file, under, err := replay.Open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer under.Close()
	r, err := file.From(0)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		var b model.Batch
		if b, err = r.Next(); err == nil {
			all = append(all, b)
		}
	}
	return all
}

func batch(i int) model.Batch {
	at := dawn.Add(time.Duration(i) * time.Second)
	return model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Live}, Readings: []model.Reading{{
		Key: "k", Type: "zset", At: at, Since: at.Add(-time.Second), Arrivals: []model.Arrival{{At: at, N: 1}},
	}}}
}

// TestCloseKeepsTheLastBatch: whatever was put before Close is in the file, together with
// what was fired before.
func TestCloseKeepsTheLastBatch(t *testing.T) {
	t.Parallel()
	for n := range 50 {
		name := filepath.Join(t.TempDir(), "r.jsonl")
		r, err := newRecorder(recording{File: name})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n%4 + 1 {
			b := batch(i)
			b.Fired = []model.Fired{{Key: "k", Cost: 1, At: dawn, Outcome: model.Admitted}}
			r.Put(b)
		}
		if _, err := r.Close(); err != nil {
			t.Fatal(err)
		}
		arrivals, fired := 0, 0
		for _, b := range batches(t, name) {
			fired += len(b.Fired)
			for _, k := range b.Readings {
				arrivals += len(k.Arrivals)
			}
		}
		if want := n%4 + 1; arrivals != want || fired != want {
			t.Fatalf("%d arrivals and %d requests are recorded, want %d", arrivals, fired, want)
		}
	}
}

// TestNothingIsRecordedBeforeTheFirstAnswer: what a dashboard shows while it connects is no beginning of a
// recording.
func TestNothingIsRecordedBeforeTheFirstAnswer(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	r, err := newRecorder(recording{File: name})
	if err != nil {
		t.Fatal(err)
	}
	r.Put(model.Batch{Local: dawn.Time(), Server: model.Server{Link: model.Connecting, Err: "it does not answer"}})
	if account, err := r.Close(); err != nil || account != "nothing was recorded" {
		t.Errorf("it says %q, %v", account, err)
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("a recording of nothing leaves a file")
	}
}

// emits is a source that emits some batches, one every 200 ms.
type emits []model.Batch

// Run implements feed.Source.
func (e emits) Run(ctx context.Context, emit func(model.Batch)) error {
	for _, b := range e {
		emit(b)
		time.Sleep(200 * time.Millisecond)
	}
	<-ctx.Done()
	return nil
}

// TestRecordWaitsForASilentServer that may only stand still when the recording begins, and for no other one.
func TestRecordWaitsForASilentServer(t *testing.T) {
	away := func(silent bool, down time.Duration) model.Batch {
		return model.Batch{Local: dawn.Time(), Server: model.Server{Link: model.Connecting, Err: "it is away", Silent: silent, Down: down}}
	}
	for name, tc := range map[string]struct {
		first model.Batch
		fails bool
	}{
		"silent for a while": {away(true, 4*time.Second), false}, "silent for long": {away(true, 6*time.Second), true},
		"refuses": {away(false, time.Second), true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "r.jsonl")
			synctest.Test(t, func(t *testing.T) {
				src := emits{tc.first, batch(0), batch(1)}
				err := recordBatches(t.Context(), src, recording{File: file, For: time.Second}, output{Out: io.Discard, Err: io.Discard})
				if failed := err != nil; failed != tc.fails {
					t.Errorf("it fails with %v, want a failure: %v", err, tc.fails)
				}
			})
		})
	}
}

// TestRecordingsAreNotOverwritten without Force.
func TestRecordingsAreNotOverwritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newRecorder(recording{File: name}); !errors.As(err, new(exitError)) {
		t.Errorf("it says %v", err)
	}
	if text, _ := os.ReadFile(name); string(text) != "mine" {
		t.Errorf("the file holds %q", text)
	}
}
