package cost

import (
	"context"
	"strconv"
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
	reported := Model{Exec: map[string]time.Duration{"zcard": 3 * time.Microsecond}, Factor: 2, Turn: 100 * time.Microsecond}
	if got, want := reported.Pipeline(pipeline("zcard", 10)), 100*time.Microsecond+20*(3*time.Microsecond+overhead); got != want {
		t.Errorf("ten commands cost %v, want %v", got, want)
	}
	if big := plain.Pipeline(pipeline("zcard", chunk+1)) - plain.Pipeline(pipeline("zcard", chunk-1)); big <= busyTurn {
		t.Errorf("what a server reads in two turns costs only %v more", big)
	}
}

// TestMeter: the median of what the processor took for pipelines sets the factor, and what the
// meter asks for is no part of it.
func TestMeter(t *testing.T) {
	const asking = 20 * time.Microsecond
	var m Meter
	var tf Model
	now := time.Unix(1000, 0)
	say := func(at time.Duration) *redis.StringCmd {
		c := redis.NewStringCmd(context.Background(), "info", "cpu")
		c.SetVal("# CPU\r\nused_cpu_sys:1.000000\r\nused_cpu_user:" + seconds(at) + "\r\nused_cpu_sys_children:9.0\r\n")
		return c
	}
	measure := func(times float64) time.Duration {
		cmds := pipeline("zcard", 50)
		took := time.Duration(times * float64(50*(unknown+overhead)))
		m.before, m.after, m.again = say(time.Second), say(time.Second+took+asking), say(time.Second+took+2*asking)
		all := append(cmds, m.before, m.after, m.again)
		var price time.Duration
		tf, price = m.Take(now, all, tf)
		now = now.Add(measureFirst)
		return price
	}
	for i, times := range []float64{2, 2, 30, 2} {
		measure(times)
		if tf.Factor != 0 {
			t.Fatalf("%d measurements are taken for enough", i+1)
		}
	}
	if m.Due(now.Add(-time.Millisecond)) || !m.Due(now) {
		t.Error("the first measurements do not come soon one after the other")
	}
	price := measure(2)
	if tf.Factor < 1.99 || tf.Factor > 2.01 {
		t.Errorf("the factor is %v, want 2", tf.Factor)
	}
	if want := tf.Pipeline(pipeline("zcard", 50)) + 3*asking; measure(2) != want || price >= want {
		t.Errorf("the pipeline costs %v before and %v after it is known what it takes", price, want)
	}
	m.before.SetErr(redis.ErrClosed)
	if m.Take(now, nil, tf); m.refused {
		t.Error("a connection that broke is taken for a refusal")
	}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) }

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
