package record_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

// TestMaskHidesEveryName: with Mask no name is in the file, and keys that look alike
// without their middle stay apart.
func TestMaskHidesEveryName(t *testing.T) {
	names := []string{"rl:customer:alice:login", "rl:customer:bobby:login"}
	var file bytes.Buffer
	w, err := record.NewWriter(&file, false, record.Header{Watch: []string{names[0], "rl:*"}, Rules: []string{names[0] + " 5/1m"}, Mask: true})
	if err != nil {
		t.Fatal(err)
	}
	for at := range 3 {
		b := model.Batch{At: 1e15, Gone: []string{names[1]}, LeftOut: []string{names[0]},
			Sweep: model.Sweep{Patterns: names, Beyond: []model.KeyGroup{{Pattern: names[0] + ":*", Example: names[1], Why: []string{"as " + names[1]}}},
				Candidates: []model.KeyGroup{{Pattern: names[1], Example: names[0], Keys: 1}}},
			Health:  &model.Health{Slow: []model.SlowCommand{{Command: "GET", Keys: names}}},
			HotKeys: &model.HotKeys{Keys: []model.HotKey{{Key: names[0]}}}}
		for _, name := range names {
			b.Readings = append(b.Readings, model.Reading{Key: name, At: b.At, Target: model.Target{Base: name, LimitKey: name + ":limit"}, Members: []string{name}, Why: []string{"as " + name}, Pattern: name, Err: name + " is broken"})
			b.Fired = append(b.Fired, model.Fired{Key: name, Outcome: model.Failed, Err: "nothing was fired at " + name})
		}
		before := b.Readings[0].Key
		if err := w.Write(b); err != nil || b.Readings[0].Key != before {
			t.Fatalf("batch %d: %v, or it was changed", at, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"alice", "bobby"} {
		if strings.Contains(file.String(), part) {
			t.Errorf("%q is in the file:\n%s", part, file.String())
		}
	}
	r, err := record.NewReader(bytes.NewReader(file.Bytes()))
	if err != nil || !r.Header().Mask {
		t.Fatalf("%+v %v", r, err)
	}
	b, err := r.Next()
	if err != nil || len(b.Readings) != 2 || b.Readings[0].Key == b.Readings[1].Key || b.Fired[0].Key != b.Readings[0].Key || b.HotKeys.Keys[0].Key != b.Readings[0].Key {
		t.Errorf("it reads %+v %v", b, err)
	}
}

// TestMaskedTail knows the names of keys, and what it writes does not.
func TestMaskedTail(t *testing.T) {
	const name = "rl:customer:alice:login"
	tail := record.NewTail(record.Header{Watch: []string{name}, Rules: []string{name + " 5/1m"}, Mask: true}, time.Minute, 1<<20)
	at := limiter.Instant(1e15)
	if err := tail.Write(model.Batch{At: at, Readings: []model.Reading{{Key: name, At: at}}}); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := tail.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	written, err := io.ReadAll(plain)
	if err != nil || !bytes.Contains(written, []byte(`"end":{`)) || bytes.Contains(written, []byte("alice")) {
		t.Errorf("%s is written: %v", written, err)
	}
	kept, err := tail.From(at)
	if err != nil {
		t.Fatal(err)
	}
	if board, err := kept.BoardAt(at, at); err != nil || board.Key(name) == nil {
		t.Errorf("%s is not kept: %v", name, err)
	}
}
