package cost

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func pipeline(name string, n int) (cmds []redis.Cmder) {
	for range n {
		cmds = append(cmds, redis.NewCmd(context.Background(), name))
	}
	return cmds
}

// TestPrices: what a server tells counts, and what it was measured to take beside it.
func TestPrices(t *testing.T) {
	var plain Model
	if got, want := plain.Pipeline(pipeline("zcard", 10)), busyTurn+10*(unknown+overhead); got != want {
		t.Errorf("ten commands of a server that tells nothing cost %v, want %v", got, want)
	}
	reported := Model{Exec: map[string]time.Duration{"zcard": 3 * time.Microsecond}, Turn: 100 * time.Microsecond}
	if got, want := reported.Pipeline(pipeline("zcard", 10)), 100*time.Microsecond+10*(3*time.Microsecond+overhead); got != want {
		t.Errorf("ten commands cost %v, want %v", got, want)
	}
	if big := plain.Pipeline(pipeline("zcard", chunk+1)) - plain.Pipeline(pipeline("zcard", chunk-1)); big <= busyTurn {
		t.Errorf("what a server reads in two turns costs only %v more", big)
	}
}

// TestWaker: on an idle server a turn is a wake-up, on a busy one it is not, and what was
// learned while it was idle is remembered.
func TestWaker(t *testing.T) {
	idle := Work{Over: 2 * time.Second, CPU: 20 * time.Millisecond, Executed: 4 * time.Millisecond, Reads: 80, Nodes: 1}
	busy := Work{Over: 2 * time.Second, CPU: 2 * time.Second, Executed: time.Second, Reads: 10_000, Nodes: 1}
	var w Waker
	if got := w.Learn(Work{}); got != busyTurn+wakeUnknown {
		t.Errorf("nothing is known, and a turn costs %v", got)
	}
	if got := w.Learn(busy); got != busyTurn {
		t.Errorf("a turn of a busy server costs %v", got)
	}
	// 16 ms for 80 reads and 20 wake-ups by itself
	if got := w.Learn(idle); got < 155*time.Microsecond || got > 161*time.Microsecond {
		t.Errorf("a turn of an idle server costs %v", got)
	}
	half := busy
	half.CPU = time.Second
	if got := w.Learn(half); got < 80*time.Microsecond || got > 90*time.Microsecond {
		t.Errorf("a turn of a server that is half busy costs %v", got)
	}
	if got := w.Learn(Work{Over: time.Second, CPU: time.Millisecond, Executed: time.Second, Reads: 1, Nodes: 1}); got < busyTurn {
		t.Errorf("a turn costs %v", got)
	}
}
