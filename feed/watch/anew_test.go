package watch_test

import (
	"testing"
	"time"
)

// standstill is half of how long a server gives no answer before the program says that it is away. Where a test has
// measured less, the machine has not stood still long enough to be to blame.
const standstill = time.Second

// anew makes attempts until one of them was not upset by a machine that stood still, and fails the test if
// five were. An attempt brings all that belongs to it, and reports true, without a verdict, where it has
// measured that it was upset.
func anew(t testing.TB, attempt func() (upset bool)) {
	t.Helper()
	const most = 5
	for range most {
		if !attempt() {
			return
		}
		t.Log("anew: the machine stood still")
	}
	t.Fatalf("the machine stood still in each of %d attempts", most)
}

// TestAnew: an attempt that was upset is made again, and one that was not is the last.
func TestAnew(t *testing.T) {
	attempts := 0
	anew(t, func() (upset bool) {
		attempts++
		return attempts < 3
	})
	if attempts != 3 {
		t.Errorf("%d attempts were made, want 3", attempts)
	}
}
