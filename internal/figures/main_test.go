package main

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
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
