package cost

import "time"

// Idleness is what a server did in a stretch of time, summed over the nodes of a cluster.
type Idleness struct {
	Over     time.Duration
	CPU      time.Duration // of its processor
	Executed time.Duration // commands, but not those that scripts call, as far as that can be told
	Reads    float64       // of sockets
	Commands float64
	Nodes    int
}

const (
	// wakeUnknown is what waking up a server takes until it was measured, and wakeMost the most
	// that is believed.
	wakeUnknown = 50 * time.Microsecond
	wakeMost    = 300 * time.Microsecond
	// A server that is busier than calmBelow wakes up too seldom to tell what that takes.
	measurableLoad = 0.3
	ticks          = 10 // a second, at which a server wakes up by itself (hz)
)

// Waker learns what a turn costs a server: what its processor took beside executing commands,
// for each time that it read a socket or woke up by itself. On a machine with nothing to do
// that is many times as much as on a busy one, where no goroutine sleeps. The zero value is ready.
type Waker struct {
	wake  time.Duration
	known bool
}

// Learn takes what the server did of late, and returns the price of a turn.
func (w *Waker) Learn(i Idleness) time.Duration {
	wake := wakeUnknown
	if i.Over <= 0 || i.Nodes == 0 {
		return busyTurn + wake
	}
	load := min(i.CPU.Seconds()/(i.Over.Seconds()*float64(i.Nodes)), 1)
	if load < measurableLoad && i.Reads > 0 {
		rest := i.CPU - i.Executed - time.Duration(i.Commands*float64(overhead))
		turns := i.Reads + ticks*i.Over.Seconds()*float64(i.Nodes)
		got := min(max(time.Duration(float64(rest)/turns)-busyTurn, 0), wakeMost)
		if !w.known {
			w.wake, w.known = got, true
		}
		w.wake += (got - w.wake) / 4
	}
	if w.known {
		wake = w.wake
	}
	return busyTurn + time.Duration((1-load)*float64(wake))
}
