// Package cost tells what commands cost a server: the time that its processor takes for
// them. The server's own statistics hold only a part of it, the execution; reading the
// commands off the socket, parsing and answering them, and fetching cold keys from memory
// in between come on top, and are measured by a Meter.
package cost

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// Model is what a server takes for a command. The zero value holds what was measured on Redis
// 7.0 on one core. It is safe for concurrent use as long as no goroutine changes it.
type Model struct {
	// Exec is how long a call of a command is executed, by its name in lower case, as the
	// server measures it over all its clients; nil where it does not tell.
	Exec map[string]time.Duration
	// Turn is what one pipeline takes beside its commands: the server wakes up, reads its socket
	// and writes to it. 0 is busyTurn.
	Turn time.Duration
	// Factor is how much more the processor takes than Exec and the constants below say; 0 is
	// not known, and stands for 1.
	Factor float64
}

const (
	// unknown is the execution of a short reading command where the server does not tell.
	unknown = 1500 * time.Nanosecond
	// overhead is what a command takes beside its execution: parsing and answering, in a
	// pipeline.
	overhead = 700 * time.Nanosecond
	// busyTurn is the price of a turn of a server that need not wake up for it.
	busyTurn = 15 * time.Microsecond
	// chunk is how many short commands a server reads at once from a socket (16 KB).
	chunk = 200
)

// Command returns the price of one command within a pipeline.
func (t Model) Command(name string) time.Duration {
	d, ok := t.Exec[name]
	if !ok {
		d = unknown
	}
	d += overhead
	if t.Factor > 0 {
		d = time.Duration(float64(d) * t.Factor)
	}
	return d
}

// Pipeline returns the price of a pipeline.
func (t Model) Pipeline(cmds []redis.Cmder) time.Duration {
	return t.Wake() + busyTurn*time.Duration(len(cmds)/chunk) + t.commands(cmds)
}

// Wake returns the price of a turn.
func (t Model) Wake() time.Duration { return max(t.Turn, busyTurn) }

// commands returns the price of the commands of a pipeline alone.
func (t Model) commands(cmds []redis.Cmder) (sum time.Duration) {
	for _, c := range cmds {
		sum += t.Command(c.Name())
	}
	return sum
}
