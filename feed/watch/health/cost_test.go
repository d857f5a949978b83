package health

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
	var plain Costs
	if got, want := plain.Pipeline(pipeline("zcard", 10)), busyTurn+10*(unknown+overhead); got != want {
		t.Errorf("ten commands of a server that tells nothing cost %v, want %v", got, want)
	}
	reported := Costs{Exec: map[string]time.Duration{"zcard": 3 * time.Microsecond}, Turn: 100 * time.Microsecond}
	if got, want := reported.Pipeline(pipeline("zcard", 10)), 100*time.Microsecond+10*(3*time.Microsecond+overhead); got != want {
		t.Errorf("ten commands cost %v, want %v", got, want)
	}
	if big := plain.Pipeline(pipeline("zcard", chunk+1)) - plain.Pipeline(pipeline("zcard", chunk-1)); big <= busyTurn {
		t.Errorf("what a server reads in two turns costs only %v more", big)
	}
}

// TestTurnAt: on an idle server a turn is a wake-up, on a busy one it is not.
func TestTurnAt(t *testing.T) {
	for load, want := range map[float64]time.Duration{0: busyTurn + wake, 0.5: busyTurn + wake/2, 1: busyTurn, 1.2: busyTurn, -1: busyTurn + wake} {
		if got := TurnAt(load); got != want {
			t.Errorf("at a load of %v a turn costs %v, want %v", load, got, want)
		}
	}
}
