package servertest

import (
	"runtime"
	"testing"
)

// TestTold: Linux tells how long the first core was idle, and no less later on.
func TestTold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux tells how its cores spend their time")
	}
	idle, stolen := Idle(0), Stolen()
	if idle <= 0 || Idle(0) < idle || Stolen() < stolen || stolen < 0 {
		t.Errorf("the first core was idle for %v, then for %v; the host took %v, then %v", idle, Idle(0), stolen, Stolen())
	}
	if none := Idle(1 << 20); none != 0 {
		t.Errorf("a core that is not there was idle for %v", none)
	}
}
