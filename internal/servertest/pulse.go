package servertest

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Standstill is half of how long a server gives no answer before the program says that it is away. Where a test has
// measured less, the machine has not stood still long enough to be to blame.
const Standstill = time.Second

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

// Idle returns how long a core has had nothing to do since the machine was started; 0 where the
// system does not tell.
func Idle(core int) time.Duration { return spent("cpu"+strconv.Itoa(core), 3) }

// Stolen returns how long all cores together have had work to do, since the machine was started,
// while the host of a virtual machine ran something else; 0 where the system does not tell.
func Stolen() time.Duration { return spent("cpu", 7) }

// spent returns a column of the line of /proc/stat with a name, which counts hundredths of a second.
func spent(name string, column int) time.Duration {
	text, _ := os.ReadFile("/proc/stat")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > column+1 && f[0] == name {
			ticks, _ := strconv.ParseInt(f[column+1], 10, 64)
			return time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return 0
}
