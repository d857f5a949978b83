package lab_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
	"ratescope/model/lab"
	"ratescope/model/record"
)

var budget = lab.Setup{
	Candidates: []lab.Candidate{{Algorithm: limiter.SlidingLog}},
	Limit:      limiter.Limit{Count: 10, Window: 10 * time.Second},
	Convention: limiter.Convention{Rounding: convention.Exact},
	Zero:       4_000_000_000_000_000,
}

// arrivals returns what a traffic makes in a time.
func arrivals(t *testing.T, tr lab.Traffic, seed uint64, d time.Duration) []lab.Arrival {
	t.Helper()
	src, err := tr.Source(budget, seed)
	if err != nil {
		t.Fatal(err)
	}
	workload := lab.NewWorkload(src)
	workload.Until(budget.Zero.Add(d))
	list := make([]lab.Arrival, workload.Len())
	for i := range list {
		list[i] = workload.At(i)
	}
	return list
}

// everyModel has one traffic of each model.
var everyModel = []lab.Traffic{
	{Model: lab.Poisson, PerSecond: 20},
	{Model: lab.Steady, EveryMS: 50},
	{Model: lab.OnOff, PerSecond: 40, OnMS: 500, OffMS: 500},
	{Model: lab.Cron, EveryMS: 1000, PhaseMS: 250, Burst: 20, SpreadMS: 100},
	{Model: lab.Adversary},
	{Model: lab.Retry, PerSecond: 1, Clients: 20, RetryMS: 200},
	{Model: lab.Retry, PerSecond: 1, Clients: 20, RetryMS: 200, Backoff: true},
}

func TestSameSeedSameTraffic(t *testing.T) {
	for _, tr := range everyModel {
		one, two := arrivals(t, tr, 7, time.Minute), arrivals(t, tr, 7, time.Minute)
		if len(one) == 0 || !slices.Equal(one, two) {
			t.Errorf("%s: %d and %d arrivals from one seed", tr.Model, len(one), len(two))
		}
		for i := 1; i < len(one); i++ {
			if one[i].At < one[i-1].At {
				t.Fatalf("%s goes back in time", tr.Model)
			}
		}
		random := tr.Model != lab.Steady && tr.Model != lab.Adversary
		if random && slices.Equal(one, arrivals(t, tr, 8, time.Minute)) {
			t.Errorf("%s does not heed its seed", tr.Model)
		}
	}
}

func TestPoissonHasItsRateAndItsSpread(t *testing.T) {
	list := arrivals(t, everyModel[0], 1, 2000*time.Second)
	perSecond := make([]float64, 2000)
	for _, a := range list {
		perSecond[min(int(a.At.Sub(budget.Zero)/time.Second), 1999)]++
	}
	var mean, variance float64
	for _, n := range perSecond {
		mean += n / 2000
	}
	for _, n := range perSecond {
		variance += (n - mean) * (n - mean) / 2000
	}
	if math.Abs(mean-20) > 0.5 || math.Abs(variance-20) > 2.5 {
		t.Errorf("mean %.2f, variance %.2f a second, both should be about 20", mean, variance)
	}
}

func TestShapes(t *testing.T) {
	for _, a := range arrivals(t, everyModel[2], 3, time.Minute) {
		if into := a.At.Sub(budget.Zero) % time.Second; into >= 500*time.Millisecond {
			t.Fatalf("on-off sends %v into its period, when it is off", into)
		}
	}
	for i, a := range arrivals(t, everyModel[3], 3, time.Minute) {
		if into := a.At.Sub(budget.Zero); into/time.Second != time.Duration(i/20) || into%time.Second < 250*time.Millisecond || into%time.Second > 350*time.Millisecond {
			t.Fatalf("cron sends request %d at %v", i, into)
		}
	}
	short := everyModel[1]
	short.FromMS, short.ToMS = 1000, 2000
	if n := len(arrivals(t, short, 3, time.Minute)); n != 20 {
		t.Errorf("a steady stream of 50 ms from 1 s to 2 s has %d requests", n)
	}
}

// TestBackoffCalmsTheStorm: twenty clients that want twice what the limit gives.
func TestBackoffCalmsTheStorm(t *testing.T) {
	wild := len(arrivals(t, everyModel[5], 1, 2*time.Minute))
	calm := len(arrivals(t, everyModel[6], 1, 2*time.Minute))
	if wild < 5*calm || calm < 120 {
		t.Errorf("%d attempts without backoff, %d with it", wild, calm)
	}
}

func TestTrafficSaysWhatIsWrong(t *testing.T) {
	for _, tr := range []lab.Traffic{
		{}, {Model: "ripple"}, {Model: lab.Poisson}, {Model: lab.Poisson, PerSecond: math.NaN()}, {Model: lab.Poisson, PerSecond: 1e9},
		{Model: lab.Poisson, PerSecond: 1e-300},
		{Model: lab.Steady}, {Model: lab.OnOff, PerSecond: 1}, {Model: "zipf", PerSecond: 1},
		{Model: lab.Retry, PerSecond: 1}, {Model: lab.Steady, EveryMS: 1, FromMS: -1}, {Model: lab.Cron, EveryMS: 1, Burst: -1},
	} {
		if _, err := tr.Source(budget, 1); err == nil {
			t.Errorf("%+v is accepted", tr)
		}
	}
}

const accessLog = `198.51.100.7 - - [10/Oct/2025:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326
203.0.113.9 - bob [10/Oct/2025:13:55:36 -0700] "GET /b HTTP/1.1" 200 1 "-" "curl/8"
not a line of any log
198.51.100.7 - - [10/Oct/2025:20:55:35 +0000] "GET /c HTTP/1.1" 429 12
::1 - - [99/Oct/2025:20:55:35 +0000] "GET /c HTTP/1.1" 429 12
`

func TestAccessLog(t *testing.T) {
	trace, err := lab.ReadTrace(strings.NewReader(accessLog))
	if err != nil {
		t.Fatal(err)
	}
	if trace.Skipped != 2 || !slices.Equal(names(trace), []string{"198.51.100.7", "203.0.113.9"}) {
		t.Errorf("keys %q, %d lines skipped", names(trace), trace.Skipped)
	}
	var got []time.Duration
	for _, a := range trace.Arrivals {
		got = append(got, a.At.Sub(trace.Arrivals[0].At))
	}
	if want := []time.Duration{0, time.Second, 1500 * time.Millisecond}; !slices.Equal(got, want) {
		t.Errorf("arrivals at %v, want %v", got, want)
	}
	if _, err := lab.ReadTrace(strings.NewReader("hello\n")); err == nil {
		t.Error("a file without an access log is accepted")
	}
}

// TestRecordingAsTrace: what was recorded comes again, request by request, each key on its
// own, whether or not the file is compressed or cut off. What was denied before the first reading is left out.
func TestRecordingAsTrace(t *testing.T) {
	for _, compress := range []bool{false, true} {
		var file bytes.Buffer
		w, err := record.NewWriter(&file, compress, record.Header{At: 1_000_000})
		if err != nil {
			t.Fatal(err)
		}
		second := func(s float64) limiter.Instant { return limiter.Instant(s * 1e6) }
		for _, b := range []model.Batch{
			{At: second(1001), Readings: []model.Reading{
				{Key: "quiet", At: second(1001), Arrivals: []model.Arrival{{At: second(1000.5), N: 1}}},
				{Key: "busy", At: second(1001), Arrivals: []model.Arrival{{At: second(1000.25), N: 2}, {At: second(1000.75), N: 1, Denied: true}}},
			}},
			{At: second(1002), Readings: []model.Reading{
				{Key: "quiet", At: second(1002), Since: second(1001), Target: model.Target{Window: time.Second}, Arrivals: []model.Arrival{{At: second(1000.5), N: 1}}}, // again, for another window
				{Key: "busy", At: second(1002), Since: second(1001), Arrivals: []model.Arrival{{At: second(1001.25), N: 1, Denied: true}, {At: second(1001.5), N: 1}}},
			}},
		} {
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		cut := bytes.Clone(file.Bytes())
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		trace, err := lab.ReadTrace(&file)
		if err != nil || trace.Damage != "" {
			t.Fatal(err, trace.Damage)
		}
		if !slices.Equal(names(trace), []string{"busy", "quiet"}) {
			t.Errorf("keys %q", names(trace))
		}
		s := budget.Clone() // windows of ten seconds
		for number, want := range map[int32][]time.Duration{
			0:           {250 * time.Millisecond, 250 * time.Millisecond, 1250 * time.Millisecond, 1500 * time.Millisecond},
			1:           {500 * time.Millisecond},
			lab.AllKeys: {250 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, 1250 * time.Millisecond, 1500 * time.Millisecond},
		} {
			src := trace.Source(s, number)
			var got []time.Duration
			for a, ok := src.Next(); ok; a, ok = src.Next() {
				got = append(got, a.At.Sub(s.Zero))
			}
			if !slices.Equal(got, want) {
				t.Errorf("key %d comes at %v, want %v", number, got, want)
			}
		}
		if !compress {
			trace, err = lab.ReadTrace(bytes.NewReader(cut[:len(cut)-40]))
			if err != nil || trace.Damage == "" || len(trace.Arrivals) == 0 {
				t.Errorf("cut off: %d requests, %q, %v", len(trace.Arrivals), trace.Damage, err)
			}
		}
	}
}

func FuzzAccessLog(f *testing.F) {
	f.Add(accessLog)
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := lab.ReadTrace(strings.NewReader(text))
		if err != nil {
			return
		}
		for i, a := range trace.Arrivals {
			if i > 0 && a.At < trace.Arrivals[i-1].At || int(a.Key) >= len(trace.Keys) {
				t.Fatalf("arrival %d of %d is %+v", i, len(trace.Arrivals), a)
			}
		}
	})
}

// names returns the keys of a trace.
func names(t lab.Trace) (list []string) {
	for _, k := range t.Keys {
		list = append(list, k.Name)
	}
	return list
}
