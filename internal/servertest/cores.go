package servertest

import (
	"os"
	"strconv"
	"strings"
	"time"
)

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
