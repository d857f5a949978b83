package watch_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// idleTime returns how long a core has had nothing to do since the machine was started; 0 where the
// system does not tell.
func idleTime(core int) time.Duration { return spent("cpu"+strconv.Itoa(core), 3) }

// stolenTime returns how long all cores together have had work to do, since the machine was started,
// while the host of a virtual machine ran something else; 0 where the system does not tell.
func stolenTime() time.Duration { return spent("cpu", 7) }

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

// cpu returns the processor time that this process has taken.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestTold: Linux tells how long the first core was idle, and no less later on.
func TestTold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux tells how its cores spend their time")
	}
	was, taken := idleTime(0), stolenTime()
	if was <= 0 || idleTime(0) < was || stolenTime() < taken || taken < 0 {
		t.Errorf("the first core was idle for %v, then for %v; the host took %v, then %v", was, idleTime(0), taken, stolenTime())
	}
	if none := idleTime(1 << 20); none != 0 {
		t.Errorf("a core that is not there was idle for %v", none)
	}
}
