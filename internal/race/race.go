// Package race tells tests whether they run under the race detector, which makes arithmetic
// about ten times slower and finds nothing in it.
package race

import "testing"

// Volume returns how often a test of arithmetic repeats: n times, or a tenth of that under
// the race detector. The other pass of the tests runs it at full volume.
func Volume(n int) int {
	if On {
		return n / 10
	}
	return n
}

// Skip leaves a test, and says why, to the pass of the tests without the race detector.
func Skip(t testing.TB, why string) {
	t.Helper()
	if On {
		t.Skip(why + ": the pass without the race detector runs this")
	}
}

// OneGoroutine leaves a test to the pass without the race detector, which finds nothing where one
// goroutine computes or draws.
func OneGoroutine(t testing.TB) {
	t.Helper()
	Skip(t, "one goroutine computes")
}
