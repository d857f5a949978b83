package record_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/record"
)

const dawn limiter.Instant = 1_795_000_000_000_000

// teller makes batches as a source does: logs grow at their end and are trimmed at their
// beginning, and now and then something else happens.
type teller struct {
	r    *rand.Rand
	now  limiter.Instant
	logs map[string][]limiter.Entry
	last map[string]limiter.Instant
}

func newTeller(seed uint64) *teller {
	return &teller{r: rand.New(rand.NewPCG(seed, 3)), now: dawn, logs: map[string][]limiter.Entry{}, last: map[string]limiter.Instant{}}
}

var names = []string{"rl:alice", "rl:\xff\xfe\x00raw", "rl:<b>\u2028&\"", "stream", "", strings.Repeat("long", 60)}

func (l *teller) next() model.Batch {
	l.now = l.now.Add(time.Duration(l.r.IntN(400)) * time.Millisecond)
	if l.r.IntN(60) == 0 {
		l.now = l.now.Add(-4 * time.Second) // the server's clock was set back
	}
	b := model.Batch{
		At: l.now, Local: time.Unix(0, int64(l.now)*1000+7),
		Server: model.Server{Target: "redis://h:6379/0", Role: "master", Version: "7.0.15", Link: model.Live, RTT: time.Duration(l.r.IntN(1e6)), Offset: -3},
		Sweep:  model.Sweep{Patterns: []string{"rl:*", "\xff"}, Scanned: 7, Matched: len(names), Passes: l.r.IntN(3)},
		Cost:   model.Cost{Commands: l.r.Int64N(9), Server: 5, Over: time.Second},
	}
	switch l.r.IntN(12) {
	case 0:
		b.Server.Link, b.Server.Err, b.Server.Down = model.Down, "it is away: wait", time.Second
		return b
	case 1:
		b.Server.Lacks = []string{"no INFO"}
		b.Gone = []string{names[l.r.IntN(len(names))]}
	case 2:
		b.Health = &model.Health{At: l.now, Over: time.Second, Ops: model.Measure{Known: true, V: l.r.Float64()}, CPU: model.Measure{Known: true},
			Policy: "noeviction", Commands: []model.CommandStat{{Name: "evalsha", Calls: 2.5, Mean: 7, Total: 3, Scripts: true}},
			Errors: []model.ErrorStat{{Name: "OOM", Rate: 1, Total: 2}}, Slow: []model.SlowCommand{{ID: 4, At: l.now, Took: 9, Command: "GET", Keys: []string{"\xff"}, Rest: 2}}, Missing: []string{"x"}}
	}
	for _, name := range names {
		if l.r.IntN(3) > 0 {
			b.Readings = append(b.Readings, l.read(name))
		}
	}
	return b
}

func (l *teller) read(name string) model.Reading {
	algorithms := limiter.Algorithms()[:limiter.LeakyBucket] // those of testdata/version1.jsonl.gz
	w := time.Duration(1+len(name)%7) * time.Second
	r := model.Reading{
		Key: name, Type: "zset", At: l.now, Since: l.last[name], PreviousKnown: l.r.IntN(2) == 0, ExactKnown: true, TTL: model.Forever,
		Target: model.Target{Algorithm: algorithms[len(name)%len(algorithms)], Limit: limiter.Limit{Count: 10, Window: w}, LimitKnown: l.r.IntN(20) > 0, Window: w},
		Denied: model.Count{Known: true, N: l.r.Int64N(3)},
	}
	l.last[name] = l.now
	r.State.Algorithm = r.Target.Algorithm
	log := slices.Clone(l.logs[name])
	for range l.r.IntN(4) {
		log = append(log, limiter.Entry{At: l.now - limiter.Instant(l.r.Int64N(1000)), Count: 1 + l.r.Int64N(3)})
		r.Arrivals = append(r.Arrivals, model.Arrival{At: l.now - limiter.Instant(l.r.Int64N(1e5)), N: 1 + l.r.Int64N(3), Denied: l.r.IntN(3) == 0})
	}
	slices.SortStableFunc(log, func(a, b limiter.Entry) int { return int(a.At - b.At) })
	switch {
	case l.r.IntN(30) == 0:
		log = nil
	case l.r.IntN(10) == 0 && len(log) > 3: // something came late
		log = slices.Insert(log, 2, limiter.Entry{At: log[1].At, Count: 5})
	case len(log) > 40:
		log = log[l.r.IntN(30):]
	}
	l.logs[name], r.State.Log = log, log
	switch l.r.IntN(15) {
	case 0:
		r.Err, r.Notes = "wrong type", []model.Note{model.WrongType, model.NoExpiry}
	case 1:
		r.Trace = []model.Level{{Since: 0, At: l.now - 5, Used: 3}, {Since: l.now - 9, At: l.now, Used: 4}}
		r.Approximate = true
	case 2:
		r.Target.Convention = limiter.Convention{Edge: convention.Closed, Rounding: convention.Nearest, Denied: convention.Charged, Block: time.Minute}
		r.Target.Layout = layout.Layout{Unit: time.Second, Suffixed: true}
		r.State = limiter.State{Algorithm: limiter.TokenBucket, Level: 2.25, Filled: l.now, Part: 1, Parts: 3, TAT: 9, BlockedUntil: l.now + 1, Start: 4, Previous: 2, Current: 1, PreviousStart: 1}
	case 3:
		r.State.Level = math.Inf(1)
	}
	return r
}

// write records n batches and returns them with the file.
func write(t testing.TB, seed uint64, n int, zip bool) ([]model.Batch, []byte) {
	t.Helper()
	var file bytes.Buffer
	w, err := record.NewWriter(&file, zip, record.Header{By: "test", At: dawn, Server: model.Server{Target: "redis://h:6379/0"}, Watch: []string{"rl:*"}, Rules: []string{"* 10/1s"}})
	if err != nil {
		t.Fatal(err)
	}
	l := newTeller(seed)
	var all []model.Batch
	for range n {
		b := l.next()
		all = append(all, b)
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Batches() != n || w.Skipped() != 0 || w.Bytes() != int64(file.Len()) {
		t.Fatalf("%d batches, %d skipped, %d bytes; want %d, 0, %d", w.Batches(), w.Skipped(), w.Bytes(), n, file.Len())
	}
	return all, file.Bytes()
}

func readAll(t testing.TB, r *record.Reader) ([]model.Batch, error) {
	t.Helper()
	var all []model.Batch
	for {
		b, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, b)
	}
}

// TestWhatIsReadIsWhatWasWritten, batch by batch, and so is a board that is fed with it.
func TestWhatIsReadIsWhatWasWritten(t *testing.T) {
	for seed := range uint64(20) {
		zip := seed%2 == 0
		want, file := write(t, seed, 300, zip)
		r, err := record.NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if h := r.Header(); h.By != "test" || h.At != dawn || h.Server.Target == "" || !slices.Equal(h.Watch, []string{"rl:*"}) || !slices.Equal(h.Rules, []string{"* 10/1s"}) {
			t.Errorf("the header is %+v", h)
		}
		got, err := readAll(t, r)
		if err != io.EOF {
			t.Fatalf("the recording ends with %v", err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d batches, want %d", len(got), len(want))
		}
		var seen, live model.Board
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("seed %d, batch %d is\n%+v, want\n%+v", seed, i, got[i], want[i])
			}
			seen.Apply(got[i])
			live.Apply(want[i])
			seen.Refresh(live.At)
			live.Refresh(live.At)
		}
		if !reflect.DeepEqual(seen, live) {
			t.Errorf("seed %d: the boards differ", seed)
		}
	}
}

// TestVersion1: a recording that was made before readings were packed is read as it was.
func TestVersion1(t *testing.T) {
	file, err := os.ReadFile("testdata/version1.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := write(t, 4, 80, false)
	f, err := record.Open(context.Background(), bytes.NewReader(file))
	if err != nil || f.Damage != nil || f.LeftOut > 0 || f.Batches != len(want) {
		t.Fatalf("%+v %v", f, err)
	}
	for i, from := range []func(int) (*record.Reader, error){f.From, f.FromState} {
		r, err := from(0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readAll(t, r); err != io.EOF || !reflect.DeepEqual(got, want) {
			t.Errorf("%d: %d batches, then %v", i, len(got), err)
		}
	}
	r, err := f.FromState(0)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := r.BoardAt(f.End, f.End); err != nil || b.At != want[len(want)-1].At {
		t.Errorf("the end is %v: %v", b.At, err)
	}
}

// TestNothingIsForgotten: every field that a batch has is in the file, also those that
// were thought of after this was written.
func TestNothingIsForgotten(t *testing.T) {
	var want model.Batch
	fill(reflect.ValueOf(&want).Elem(), new(int64))
	want.Anew = nil // is of a replay, not of what is recorded
	want.Local = time.Unix(0, 77)
	r := &want.Readings[0]
	r.Target.Algorithm, r.State.Algorithm = limiter.GCRA, limiter.SlidingLog
	r.Target.Script = nil // is run by firing, which a recording does not do
	for _, l := range [][]model.KeyGroup{want.Sweep.Beyond, want.Sweep.Candidates} {
		l[0].Examples = nil // the steps of their numbers are seen live alone
	}
	want.Sweep.Bans = nil // which take the places of counters that are seen live alone
	want.Server.Link = model.Down
	hot := &want.HotKeys.Keys[0] // estimates, of which few digits are kept
	hot.Writes.V, hot.WritesBy, hot.CPU.V, hot.Net.V, hot.Counter.V, hot.Asked.V = 123, 4.5, 0.125, 0.5, 7, 0.75
	f := &want.Fired[0] // a decision repeats what its request says
	f.Outcome, f.Decision.Allowed, f.Decision.At, f.Decision.Cost = model.Denied, false, f.At, f.Cost
	r.Target.Convention = limiter.Convention{Edge: convention.Closed, Alignment: convention.FirstRequest, Rounding: convention.Nearest, Rule: convention.Below, Denied: convention.Charged, Refill: convention.Interval, Block: time.Second}
	var file bytes.Buffer
	w, err := record.NewWriter(&file, false, record.Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmp.Or(w.Write(want), w.Close()); err != nil {
		t.Fatal(err)
	}
	rd, err := record.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := rd.Next()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v, want\n%+v", err, got, want)
		t.Logf("health %+v, want %+v; hot %+v, want %+v", got.Health, want.Health, got.HotKeys, want.HotKeys)
	}
}

// fill gives every field a value of its own.
func fill(v reflect.Value, next *int64) {
	*next++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), next)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), next)
	case reflect.String:
		v.SetString(fmt.Sprint("text", *next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*next) + 0.5)
	case reflect.Int, reflect.Int64:
		v.SetInt(*next)
	case reflect.Uint8:
		v.SetUint(1)
	}
}

// TestAFileCutOffAnywhere is readable up to the batch before, in both forms, and says so.
func TestAFileCutOffAnywhere(t *testing.T) {
	for _, zip := range []bool{false, true} {
		want, file := write(t, 5, 24, zip)
		last := -1
		for at := 0; at < len(file); at += 1 + at%67 {
			cut := file[:at]
			r, err := record.NewReader(bytes.NewReader(cut))
			if err != nil {
				if !errors.Is(err, record.ErrNotRecording) || last > 0 {
					t.Fatalf("cut at %d: %v", at, err)
				}
				continue
			}
			got, err := readAll(t, r)
			if d := (*record.Damage)(nil); !errors.As(err, &d) {
				if !zip || err != io.EOF || at < len(file)-40 { // gzip's own last bytes may be missing
					t.Fatalf("cut at %d of %d: it ends with %v", at, len(file), err)
				}
			}
			if len(got) < last || len(got) > len(want) || len(got) > 0 && !reflect.DeepEqual(got, want[:len(got)]) {
				t.Fatalf("cut at %d: %d batches after %d before", at, len(got), last)
			}
			last = len(got)
			f, err := record.Open(context.Background(), bytes.NewReader(cut))
			if (err == nil) != (len(got) > 0) || err == nil && (f.Batches != len(got) || f.Damage == nil && at < len(file)-40) {
				t.Fatalf("cut at %d: Open says %v %+v, there are %d", at, err, f, len(got))
			}
		}
		if last < len(want)-8 {
			t.Errorf("zip %v: at most %d of %d batches can be read from a file cut off", zip, last, len(want))
		}
	}
}

// TestFrames: a reader that begins at a frame reads the same batches from there on.
func TestFrames(t *testing.T) {
	for _, zip := range []bool{false, true} {
		want, file := write(t, 8, 1200, zip)
		f, err := record.Open(context.Background(), bytes.NewReader(file))
		if err != nil || f.Damage != nil || f.Batches != len(want) {
			t.Fatalf("%+v %v", f, err)
		}
		begins := map[int]bool{}
		for i := 0; i < len(want); i += 239 {
			r, err := f.From(f.FrameBefore(want[i].At))
			if err != nil {
				t.Fatal(err)
			}
			got, err := readAll(t, r)
			if err != io.EOF || len(got) == 0 || !reflect.DeepEqual(got, want[len(want)-len(got):]) {
				t.Fatalf("from batch %d: %d batches, which are not the last ones, then %v", i, len(got), err)
			}
			begins[len(got)] = true
		}
		if len(begins) < 4 {
			t.Errorf("there are only %d places to begin at", len(begins))
		}
	}
}

func TestWhatIsNoRecording(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "no recording",
		"hello\n":                     "no recording",
		`{"id":"a scenario"}` + "\n":  "no recording",
		"\x1f\x8bnot gzip after all":  "no recording",
		`{"recording":{"version":99}`: "no recording",
		`{"recording":{"version":99,"by":"ratescope 9"}}` + "\n": "version 99",
		`{"recording":{"version":0}}` + "\n":                     "version 0",
		`{"recording":{"version":1}}` + "\n":                     "nothing to show",
	} {
		_, err := record.Open(context.Background(), strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want it to say %q", text, err, want)
		}
	}
	_, file := write(t, 1, 5, false)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := record.Open(ctx, bytes.NewReader(file)); !errors.Is(err, context.Canceled) {
		t.Errorf("a scan that is cancelled ends with %v", err)
	}
}

// TestALineIsBounded: what fits in no line is left out and counted, and the rest goes on.
func TestALineIsBounded(t *testing.T) {
	var file bytes.Buffer
	w, err := record.NewWriter(&file, false, record.Header{At: dawn})
	if err != nil {
		t.Fatal(err)
	}
	huge := model.Reading{Key: strings.Repeat("k", record.MaxLine), At: dawn}
	small := model.Reading{Key: "small", At: dawn, Type: "zset"}
	if err := w.Write(model.Batch{At: dawn, Readings: []model.Reading{huge, small}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil || w.Skipped() != 1 || w.Keys() != 1 {
		t.Errorf("%v, %d skipped, %d keys", err, w.Skipped(), w.Keys())
	}
	for line := range bytes.Lines(file.Bytes()) {
		if len(line) > record.MaxLine {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
	r, err := record.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(t, r); err != io.EOF || len(got) != 1 || len(got[0].Readings) != 1 || got[0].Readings[0].Key != "small" {
		t.Errorf("%v %+v", err, got)
	}
	long := `{"recording":{"version":1}}` + "\n" + `{"anew":0}` + "\n" + `{"b":{"at":1}}` + "\n" + strings.Repeat("x", record.MaxLine+1)
	if f, err := record.Open(context.Background(), strings.NewReader(long)); err != nil || f.Damage == nil || f.Batches != 1 {
		t.Errorf("a line without end: %+v %v", f, err)
	}
}

// TestACrowdIsCompact: a recording of steady traffic takes few bytes a request.
func TestACrowdIsCompact(t *testing.T) {
	size := func(zip bool) float64 {
		var file bytes.Buffer
		w, err := record.NewWriter(&file, zip, record.Header{At: dawn})
		if err != nil {
			t.Fatal(err)
		}
		var log []limiter.Entry
		now, requests := dawn, 0
		r := rand.New(rand.NewPCG(1, 1))
		for range 1000 {
			reading := model.Reading{Key: "rl:a", Type: "zset", Since: now, Target: model.Target{Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 3000, Window: time.Minute}, LimitKnown: true, Window: time.Minute}}
			for range 10 {
				now += limiter.Instant(r.Int64N(40_000))
				log = append(log, limiter.Entry{At: now, Count: 1})
				reading.Arrivals = append(reading.Arrivals, model.Arrival{At: now, N: 1})
				requests++
			}
			log = log[max(0, len(log)-3000):]
			reading.At, reading.State = now, limiter.State{Algorithm: limiter.SlidingLog, Log: log}
			if err := w.Write(model.Batch{At: now, Server: model.Server{Link: model.Live}, Readings: []model.Reading{reading}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return float64(file.Len()) / float64(requests)
	}
	plain, zipped := size(false), size(true)
	t.Logf("%.1f bytes a request, %.1f compressed", plain, zipped)
	if plain > 60 || zipped > 20 {
		t.Errorf("%.1f bytes a request, %.1f compressed", plain, zipped)
	}
}

// FuzzRead: whatever a file holds, reading it ends, and a board bears what it says.
func FuzzRead(f *testing.F) {
	for seed := range uint64(2) {
		_, file := write(f, seed, 6, seed == 0)
		f.Add(file)
	}
	f.Add([]byte(`{"recording":{"version":1}}` + "\n" + `{"r":{"id":1,"key":{"name":"k","convention":"closed, block 5s"},"at":5,"drop":1,"keep":-1,"log":[1,2,3]}}` + "\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		opened, err := record.Open(context.Background(), bytes.NewReader(in))
		if err == nil {
			if r, err := opened.From(opened.FrameBefore(opened.End)); err == nil {
				_, _ = readAll(t, r)
			}
		}
		r, err := record.NewReader(bytes.NewReader(in))
		if err != nil {
			return
		}
		var b model.Board
		var last error
		for range 1000 {
			batch, err := r.Next()
			if last = err; err != nil {
				break
			}
			b.Apply(batch)
			for _, k := range b.Select(model.View{}) {
				_ = fmt.Sprint(k.Reading.Target.Algorithm, b.Freeze(b.At).Totals())
			}
		}
		if last != nil {
			if _, again := r.Next(); again != last {
				t.Errorf("after %v comes %v", last, again)
			}
		}
	})
}
