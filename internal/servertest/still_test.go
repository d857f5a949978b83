package servertest

import "testing"

// TestAnew: an attempt that was upset is made again, and one that was not is the last.
func TestAnew(t *testing.T) {
	attempts := 0
	Anew(t, func() (upset bool) {
		attempts++
		return attempts < 3
	})
	if attempts != 3 {
		t.Errorf("%d attempts were made, want 3", attempts)
	}
}
