package cost

import "time"

// Work describes the work of a server over a period, summed over the nodes of a cluster.
type Work struct {
	Over     time.Duration // length of the period
	CPU      time.Duration // processor time
	Executed time.Duration // execution time of commands, as far as possible without those that scripts call
	Reads    float64       // reads from sockets
	Commands float64       // commands executed
	Nodes    int
}

const (
	// wakeUnknown is the price of waking up a server before it was measured, and wakeMost the
	// greatest price that a measurement may give.
	wakeUnknown = 50 * time.Microsecond
	wakeMost    = 300 * time.Microsecond
	// measurableLoad is the load of a core above which a server wakes up too seldom to measure
	// the price of waking up.
	measurableLoad = 0.3
	ticks          = 10 // times a second that a server wakes up by itself (hz)
)

// Waker measures the price of a turn: the processor time that did not go into executing
// commands, for each time that the server read from a socket or woke up by itself. On an idle
// machine it is many times the price on a busy one, where the server hardly sleeps. The zero
// value is ready.
type Waker struct {
	wake  time.Duration
	known bool
}

// Learn takes the latest period, and returns the price of a turn.
func (w *Waker) Learn(i Work) time.Duration {
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
