package accuracy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ratescope/limiter"
	"ratescope/model/lab"
	"ratescope/model/lab/accuracy"
)

func measured(t *testing.T, o accuracy.Options) accuracy.Report {
	t.Helper()
	r, err := accuracy.Measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPoissonFollowsTheLaw(t *testing.T) {
	for seed := range uint64(2) {
		points := measured(t, accuracy.Options{Sources: 10, Seed: seed}).Poisson
		checked := 0
		for _, p := range points {
			if p.Mean < 100 {
				// Few requests are no normal distribution, but like is compared with like.
				if math.Abs(p.Measured/p.Law-1) > 0.06 {
					t.Errorf("seed %d, n = %d: the mean difference is %.5f, the law says %.5f", seed, p.Mean, p.Measured, p.Law)
				}
				continue
			}
			checked++
			if want := 0.3133 / math.Sqrt(float64(p.Mean)); math.Abs(p.Measured/want-1) > 0.03 {
				t.Errorf("seed %d, n = %d: the mean difference is %.5f, the law says %.5f", seed, p.Mean, p.Measured, want)
			}
		}
		if checked < 3 {
			t.Fatalf("only %d points are at n >= 100", checked)
		}
	}
}

// TestAdversary: a counter that drops no fraction admits 2L-1 in a true window and not one
// more; rounding the fraction away, down or to nearest, costs the last one.
func TestAdversary(t *testing.T) {
	want := map[string]int64{"fixed-window": 200, "sliding-window/exact": 199, "sliding-window/floor": 200, "sliding-window/round": 200, "sliding-log": 100, "gcra": 199}
	for _, w := range measured(t, accuracy.Options{Sources: 10, Windows: 10}).Worst {
		if w.Largest != want[w.What] {
			t.Errorf("%s admits %d of %d in a true window, want %d", w.What, w.Largest, w.Limit, want[w.What])
		}
	}
}

// TestWhereDecisionsAreWrong: none at half the limit, about 13 % at the limit.
func TestWhereDecisionsAreWrong(t *testing.T) {
	limit := limiter.Limit{Count: 100, Window: time.Second}
	s := lab.Setup{Candidates: []lab.Candidate{{Algorithm: limiter.SlidingLog}}, Limit: limit, Zero: 4_000_000_000_000_000}
	var trace lab.Trace
	for i, rate := range []float64{50, 100} {
		src, err := lab.Traffic{Model: lab.Poisson, PerSecond: rate}.Source(s, 11)
		if err != nil {
			t.Fatal(err)
		}
		workload := lab.NewWorkload(src)
		workload.Until(s.Zero.Add(1000 * time.Second))
		for k := range workload.Len() {
			a := workload.At(k)
			a.Key = int32(i)
			trace.Arrivals = append(trace.Arrivals, a)
		}
		trace.Keys = append(trace.Keys, lab.TraceKey{Name: "key"})
	}
	var wrong []float64
	for _, b := range measured(t, accuracy.Options{Limit: limit, Trace: &trace, Windows: 10}).Bands {
		if b.Sources > 0 {
			wrong = append(wrong, b.Wrong(1))
		}
	}
	if len(wrong) != 2 || wrong[0] != 0 || wrong[1] < 0.11 || wrong[1] > 0.15 {
		t.Errorf("wrong at half the limit and at the limit: %v, want 0 and about 0.13", wrong)
	}
}

func TestPrint(t *testing.T) {
	trace, err := lab.ReadTrace(strings.NewReader(strings.Repeat("h - - [10/Oct/2025:13:55:36 +0000] \"GET /\" 200 1\n", 150) + "broken\n"))
	if err != nil {
		t.Fatal(err)
	}
	progress := -1.0
	r := measured(t, accuracy.Options{Trace: &trace, Windows: 20, Progress: func(done float64) {
		if done < progress {
			t.Errorf("the progress went back from %v to %v", progress, done)
		}
		progress = done
	}})
	if progress != 1 {
		t.Errorf("the progress ended at %v", progress)
	}
	for _, ascii := range []bool{false, true} {
		var out bytes.Buffer
		if err := accuracy.Print(&out, r, ascii); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
				t.Errorf("%d columns: %q", n, line)
			}
		}
		for _, want := range []string{"1 lines could not be read", "sliding-window/exact", "199 of 100", "n = 1000", "above 150%"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing from\n%s", want, out.String())
			}
		}
		if ascii && strings.ContainsAny(out.String(), "█▏") {
			t.Error("blocks in spite of ascii")
		}
	}
	var out bytes.Buffer
	var back map[string]any
	if err := accuracy.PrintJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["window_ms"] != 60000.0 || back["bands"] == nil {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestBarGrowsAndGoes(t *testing.T) {
	var out bytes.Buffer
	bar := accuracy.Bar(&out, true)
	for _, done := range []float64{0, 0.001, 0.5, 1} {
		bar(done)
	}
	shown := strings.Split(out.String(), "\r")
	if want := "measuring " + strings.Repeat("#", 16) + strings.Repeat(".", 16) + "  50%"; len(shown) != 5 || shown[2] != want || strings.TrimSpace(shown[3]) != "" || shown[4] != "" {
		t.Errorf("drawn: %q", shown)
	}
}

// TestInterrupted: a measurement ends soon after it was interrupted, wherever it is, and says so.
func TestInterrupted(t *testing.T) {
	for _, at := range []float64{0, 0.5, 0.8} {
		ctx, cancel := context.WithCancel(t.Context())
		after := 0
		_, err := accuracy.Measure(ctx, accuracy.Options{Sources: 20, Windows: 10, Progress: func(done float64) {
			if ctx.Err() != nil {
				after++
			} else if done >= at {
				cancel()
			}
		}})
		if err != context.Canceled || after > 0 {
			t.Errorf("interrupted at %v: %v, and %d sources after it", at, err, after)
		}
		cancel()
	}
}

func TestRefusals(t *testing.T) {
	for _, o := range []accuracy.Options{
		{Limit: limiter.Limit{Window: time.Second}}, {Limit: limiter.Limit{Count: 1}}, {Sources: -1}, {Windows: 3}, {Windows: 1e9},
	} {
		if _, err := accuracy.Measure(t.Context(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// TestFreeAndChargedAreBothMeasured: where most is denied, a counter that leaves denied
// requests free errs far more often than one which counts them, and both are labelled.
func TestFreeAndChargedAreBothMeasured(t *testing.T) {
	r := measured(t, accuracy.Options{Sources: 200, Windows: 10})
	last := len(r.Bands) - 1
	free, counted := r.Free.Bands[last], r.Bands[last]
	if free.Requests != counted.Requests || free.Wrong(1) < 0.3 || counted.Wrong(1) > 0.05 {
		t.Errorf("above 150 %%: %.3f of %d wrong with free denials, %.3f of %d with charged ones", free.Wrong(1), free.Requests, counted.Wrong(1), counted.Requests)
	}
	var out bytes.Buffer
	if err := accuracy.Print(&out, r, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Denied requests free, the default", "Denied requests charged, as Cloudflare counts"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from\n%s", want, out.String())
		}
	}
}
