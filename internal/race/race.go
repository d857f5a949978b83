// Package race tells tests whether they run under the race detector, which makes arithmetic
// about ten times slower and finds nothing in it.
package race

// Volume returns how often a test of arithmetic repeats: n times, or a tenth of that under
// the race detector. The other pass of the tests runs it at full volume.
func Volume(n int) int {
	if On {
		return n / 10
	}
	return n
}
