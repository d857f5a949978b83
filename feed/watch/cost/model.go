// Package cost estimates the processor time that commands cost a server. The server's own
// statistics contain only the execution of commands. Reading them from the socket, parsing
// them and answering come on top, and waking up.
package cost

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// Model holds the prices of commands, as processor time of the server. The zero value holds
// prices measured on Redis 7.0 on one core. It is safe for concurrent use as long as no
// goroutine changes it.
type Model struct {
	// Exec is the mean execution time of each command, by its name in lower case, as the server
	// measures it over all its clients; nil if the server does not report it.
	Exec map[string]time.Duration
	// Turn is the price of one pipeline without its commands: the server wakes up, reads from
	// the socket and writes to it, as TurnAt gives it. 0 means that of a busy server.
	Turn time.Duration
}

const (
	// unknown is the execution time of a short read command that Exec does not hold.
	unknown = 1500 * time.Nanosecond
	// overhead is the time for parsing and answering one command of a pipeline.
	overhead = 700 * time.Nanosecond
	// busyTurn is the price of a turn on a server that is awake anyway.
	busyTurn = 15 * time.Microsecond
	// wake is the price of waking up a server that sleeps, measured on Redis 7.0 on an idle machine.
	wake = 120 * time.Microsecond
	// chunk is how many short commands a server reads from a socket at once (16 KB).
	chunk = 200
)

// Command returns the price of one command within a pipeline.
func (m Model) Command(name string) time.Duration {
	d, ok := m.Exec[name]
	if !ok {
		d = unknown
	}
	return d + overhead
}

// Pipeline returns the price of a pipeline, with its turns.
func (m Model) Pipeline(cmds []redis.Cmder) time.Duration {
	sum := m.Wake() + busyTurn*time.Duration(len(cmds)/chunk)
	for _, c := range cmds {
		sum += m.Command(c.Name())
	}
	return sum
}

// TurnAt returns the price of one turn of a server at a load, 0 to 1 of a core: the busier it is, the seldomer it sleeps.
func TurnAt(load float64) time.Duration {
	return busyTurn + time.Duration((1-min(max(load, 0), 1))*float64(wake))
}

// Wake returns the price of one turn.
func (m Model) Wake() time.Duration { return max(m.Turn, busyTurn) }
