package record_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

// zipped compresses what parts write, as one member.
func zipped(t *testing.T, parts func(io.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	parts(zip)
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestBombs: small files that would fill the memory of their reader are read as far as a
// recording could go, and say that the rest is left out.
func TestBombs(t *testing.T) {
	const begin = `{"recording":{"version":1}}` + "\n" + `{"anew":0}` + "\n" + `{"b":{"at":1,"link":1}}` + "\n"
	repeat := func(line string, n int) func(io.Writer) {
		return func(w io.Writer) {
			io.WriteString(w, begin)
			block := max(1, 10_000/len(line))
			for text := strings.Repeat(line, block); n > 0; n -= block {
				io.WriteString(w, text)
			}
		}
	}
	pairs := strings.Repeat("0,1,", 100_000) + "0,1"
	for name, tc := range map[string]struct {
		file  func(io.Writer)
		ended string
	}{
		"frames":               {repeat("{\"anew\":1}\n", 2_000_000), "far more than any recording"},
		"frames with batches":  {repeat("{\"anew\":1}\n{\"b\":{}}\n", 200_000), ""},
		"empty batches":        {repeat("{\"b\":{}}\n", 1_300_000), "far more than any recording"},
		"arrivals":             {repeat(`{"r":{"id":1,"key":{"name":"k"},"arrivals":[`+pairs+"]}}\n", 100), "far more than any recording"},
		"logs":                 {repeat(`{"r":{"id":1,"key":{"name":"k"},"log":[`+pairs+"]}}\n", 100), "far more than any recording"},
		"one line without end": {func(w io.Writer) { repeat("x", 40_000_000)(w) }, "far more than any recording"},
	} {
		t.Run(name, func(t *testing.T) {
			file := zipped(t, tc.file)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			f, err := record.Open(context.Background(), bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if f.Damage == nil || tc.ended != "" && !strings.Contains(f.Damage.Why, tc.ended) {
				t.Errorf("the file of %d kB ends with %v, want %q", len(file)/1000, f.Damage, tc.ended)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if held := int64(after.HeapAlloc-before.HeapAlloc) >> 20; held > 16 {
				t.Errorf("the way through %d kB holds %d MB", len(file)/1000, held)
			}
			r, err := f.From(0)
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				var b model.Batch
				b, err = r.Next()
				fresh := 0
				for _, k := range b.Readings {
					fresh += len(k.Arrivals)
				}
				if fresh > 1<<20 || len(b.Readings) > 20_000 {
					t.Fatalf("a batch holds %d readings with %d arrivals", len(b.Readings), fresh)
				}
			}
			runtime.KeepAlive(f)
		})
	}
}

// TestABadLineIsPassedOver: what was seen from there to the next frame is missing, and
// everything after it is there.
func TestABadLineIsPassedOver(t *testing.T) {
	want, file := write(t, 8, 1200, false)
	lines := bytes.SplitAfter(file, []byte("\n"))
	frames := 0
	for _, l := range lines {
		if bytes.HasPrefix(l, []byte(`{"anew"`)) {
			frames++
		}
	}
	if frames < 5 {
		t.Fatalf("only %d frames", frames)
	}
	for name, bad := range map[string]string{
		"garbage":        "\x00\xff garbage\n",
		"half a line":    `{"r":{"id":1,` + "\n",
		"an empty line":  "\n",
		"an unknown key": `{"r":{"id":99999,"at":5}}` + "\n",
		"half a pair":    `{"r":{"id":1,"key":{"name":"k"},"log":[1]}}` + "\n",
		"too long":       strings.Repeat("x", record.MaxLine+1) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			var damaged bytes.Buffer
			for i, l := range lines {
				if i == len(lines)/2 {
					damaged.WriteString(bad)
				}
				damaged.Write(l)
			}
			f, err := record.Open(context.Background(), bytes.NewReader(damaged.Bytes()))
			if err != nil || f.Damage != nil {
				t.Fatalf("%v %v", err, f.Damage)
			}
			r, err := f.From(0)
			if err != nil {
				t.Fatal(err)
			}
			got, err := readAll(t, r)
			if err != io.EOF {
				t.Fatalf("it ends with %v", err)
			}
			missing := len(want) - len(got)
			if missing < 1 || missing > len(want)/3 {
				t.Fatalf("%d of %d batches are missing", missing, len(want))
			}
			head := 0
			for head < len(got) && reflect.DeepEqual(got[head], want[head]) {
				head++
			}
			if tail := got[head:]; !reflect.DeepEqual(tail, want[len(want)-len(tail):]) || len(tail) < len(want)/3 {
				t.Errorf("%d batches before the line and %d after it are as they were, of %d", head, len(tail), len(got))
			}
		})
	}
}

// TestControlsInNames: what JSON does not escape is no damage.
func TestControlsInNames(t *testing.T) {
	var file bytes.Buffer
	w, err := record.NewWriter(&file, false, record.Header{At: dawn})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(model.Batch{At: dawn, Readings: []model.Reading{{Key: "rl:\x7f\u0085\x00", Type: "string", At: dawn}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := record.Open(t.Context(), bytes.NewReader(file.Bytes()))
	if err != nil || f.LeftOut > 0 || f.Batches != 1 {
		t.Errorf("%d lines are left out, %d batches, %v", f.LeftOut, f.Batches, err)
	}
}

// TestDamagedDigits: a number that was changed is an error or another figure, and never a panic.
func TestDamagedDigits(t *testing.T) {
	_, file := write(t, 8, 60, false)
	r := rand.New(rand.NewPCG(3, 9))
	for range 200 {
		damaged := bytes.Clone(file)
		for range 1 + r.IntN(4) {
			i := r.IntN(len(damaged))
			switch c := damaged[i]; {
			case c >= '0' && c <= '9', c == ',', c == '-', c == '[':
				damaged[i] = "0123456789-,"[r.IntN(12)]
			}
		}
		f, err := record.Open(context.Background(), bytes.NewReader(damaged))
		if err != nil {
			continue
		}
		in, err := f.From(0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(t, in); err == nil {
			t.Error("it does not end")
		}
		for i := range 3 {
			if in, err = f.FromState(f.FrameBefore(f.Begin + (f.End-f.Begin)*limiter.Instant(i)/2)); err != nil {
				t.Fatal(err)
			}
			_, _ = in.BoardAt(f.End, f.End)
		}
	}
}

// TestFiredIsRecorded: a request that was fired is marked on the timeline of a replay.
func TestFiredIsRecorded(t *testing.T) {
	var file bytes.Buffer
	w, err := record.NewWriter(&file, true, record.Header{At: dawn})
	if err != nil {
		t.Fatal(err)
	}
	reading := model.Reading{Key: "rl:a", Type: "zset", At: dawn}
	fired := []model.Fired{{Order: 3, Key: "rl:a", Cost: 2, At: dawn, Outcome: model.Denied, Audit: "id-1"}, {Key: "rl:a", Cost: 1, At: dawn, Outcome: model.Unanswered, Err: "no answer"}}
	fired[0].Decision.At, fired[0].Decision.Cost = dawn, 2
	if err := w.Write(model.Batch{At: dawn, Server: model.Server{Link: model.Live}, Readings: []model.Reading{reading}, Fired: fired}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := record.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, r)
	if err != io.EOF || len(got) != 1 || !reflect.DeepEqual(got[0].Fired, fired) {
		t.Fatalf("%v %+v", err, got)
	}
	var b model.Board
	b.Apply(got[0])
	var bin [1]model.Bin
	line := b.Key("rl:a").Timeline
	line.Columns(bin[:], line.Index(dawn), 1)
	if bin[0].InjectedDenied != 1 || bin[0].InjectedAdmitted != 0 {
		t.Errorf("the timeline shows %+v", bin[0])
	}
}
