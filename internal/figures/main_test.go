package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestWhatBenchmarksTell: metrics by name and unit, and the tables that stand between them.
func TestWhatBenchmarksTell(t *testing.T) {
	out := fmt.Sprintf(`goos: linux
pkg: ratescope/limiter/bench

50 goroutines    decisions/s
fixed/ratescope  93477
BenchmarkThroughput-%d   1  2.20 fixed-50/peer  7.9 allocations
--- BENCH: BenchmarkThroughput
    throughput_test.go:1: as it is
BenchmarkScreen/ten_live_keys-%[1]d   1  4.61 %%core
PASS
ok  	ratescope/limiter/bench	1.2s
`, runtime.GOMAXPROCS(0))
	found := metrics(out)
	if found["Throughput"]["fixed-50/peer"] != "2.20" || found["Throughput"]["allocations"] != "7.9" || found["Screen/ten_live_keys"]["%core"] != "4.61" {
		t.Errorf("the metrics are %v", found)
	}
	if got := strings.Join(printed(out), "\n"); got != "50 goroutines    decisions/s\nfixed/ratescope  93477" {
		t.Errorf("the table is %q", got)
	}
}

// TestBest: the largest value of a figure with a lower bound, and the smallest of the others.
func TestBest(t *testing.T) {
	rounds := []map[string]map[string]string{{"A": {"x": "2.0", "y": "9"}}, {"A": {"x": "10", "y": "30"}}, {}}
	for _, tc := range []struct {
		f     figure
		value string
		known bool
	}{
		{figure{benchmark: "A", unit: "x", wanted: "≥ 3"}, "10", true},
		{figure{benchmark: "A", unit: "y", wanted: "< 5"}, "9", true},
		{figure{benchmark: "A", unit: "z", wanted: "< 5"}, "", false},
	} {
		if value, known := tc.f.best(rounds); value != tc.value || known != tc.known {
			t.Errorf("the best %s is %q, %v; want %q, %v", tc.f.unit, value, known, tc.value, tc.known)
		}
	}
}

// TestPageIsInTheDocs: docs/performance.md has a page with every figure that is measured, and its date.
func TestPageIsInTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, found := strings.Cut(string(text), "\n## Figures of ")
	page, _, _ = strings.Cut(page, "\n## ")
	date, _, _ := strings.Cut(page, "\n")
	if _, err := time.Parse(time.DateOnly, date); !found || err != nil {
		t.Fatalf("docs/performance.md has no page of make bench with a date: %v", err)
	}
	for _, r := range runs() {
		for _, f := range r.figures {
			line := regexp.MustCompile(regexp.QuoteMeta("| "+f.what+" | ") + `\S+` + regexp.QuoteMeta(fmt.Sprintf(" %s | %s | %s |", f.unit, f.wanted, f.benchmark)))
			if !line.MatchString(page) {
				t.Errorf("the page in docs/performance.md has no line of %q, %s: put what make bench prints there", f.what, f.benchmark)
			}
		}
		if !strings.Contains(page, r.command()) {
			t.Errorf("the page in docs/performance.md does not name %s", r.command())
		}
	}
}
