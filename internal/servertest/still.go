package servertest

import (
	"strings"
	"testing"
	"time"
)

// Standstill is how long a server gives no answer before the program says that it is away. Where a test has
// measured less, the machine has not stood still long enough to be to blame.
const Standstill = time.Second

// StoodStill reports whether an error, or what a run of the program says on stderr, may come of a machine
// that stood still: no answer came, and the run took so long that the server, the program or both may have
// been stopped meanwhile.
func StoodStill(took time.Duration, says string) bool {
	return took > Standstill && (strings.Contains(says, "does not answer") || strings.Contains(says, "no answer came"))
}

// Anew makes attempts until one of them was not upset by a machine that stood still, and fails the test if
// five were. An attempt brings all that belongs to it, and reports true, without a verdict, where it has
// measured that it was upset.
func Anew(t testing.TB, attempt func() (upset bool)) {
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
