package cli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ratescope/feed/cli"
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
	for n := range 50 {
		name := filepath.Join(t.TempDir(), "r.jsonl")
		r, err := cli.NewRecorder(cli.Recording{File: name})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n%4 + 1 {
			r.Fired(model.Fired{Key: "k", Cost: 1, At: dawn, Outcome: model.Admitted})
			r.Put(batch(i))
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
	r, err := cli.NewRecorder(cli.Recording{File: name})
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

// TestRecordingsAreNotOverwritten without Force.
func TestRecordingsAreNotOverwritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cli.NewRecorder(cli.Recording{File: name}); !errors.As(err, new(cli.UsageError)) {
		t.Errorf("it says %v", err)
	}
	if text, _ := os.ReadFile(name); string(text) != "mine" {
		t.Errorf("the file holds %q", text)
	}
}
