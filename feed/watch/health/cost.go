package health

import (
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/model"
)

// Costs estimates the processor time that commands cost a server, whose own statistics contain only their execution:
// reading them from the socket, parsing and answering them come on top, and waking up. The zero value holds prices measured
// on Redis 7.0 on one core. It is safe for concurrent use as long as no goroutine changes it.
type Costs struct {
	// Exec is the mean execution time of each command, by its name in lower case, as the server
	// measures it over all its clients; nil if the server does not report it.
	Exec map[string]time.Duration
	// Turn is the price of one pipeline without its commands: the server wakes up, reads from
	// the socket and writes to it, as TurnAt gives it. 0 means that of a busy server.
	Turn time.Duration
	// Strained is set when the server was almost saturated lately. For a cluster the mean of its
	// nodes counts, each of which executes commands on one core.
	Strained bool
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
func (m Costs) Command(name string) time.Duration {
	d, ok := m.Exec[name]
	if !ok {
		d = unknown
	}
	return d + overhead
}

// Pipeline returns the price of a pipeline, with its turns.
func (m Costs) Pipeline(cmds []redis.Cmder) time.Duration {
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
func (m Costs) Wake() time.Duration { return max(m.Turn, busyTurn) }

// Governor decides how much of a server's time the first search for limiters may take: a fixed share while other clients use the
// server, and more while none does. It starts at the fixed share. After calmBefore calm samples each further one doubles the share, and
// the first that is not calm resets it, so that the search yields to a new load within one interval.
//
// It is pure: it sends no commands and has no clock. It is used by one goroutine.
type Governor struct {
	Share float64    // that may be taken now, 0.01 for one percent of a core
	Pace  model.Pace // the reason for Share

	base, most float64
	before     Sample
	trip       time.Duration // the shortest round trip
	calm       int           // consecutive calm samples
	slow       int           // consecutive slow round trips
	executed   int64         // the highest count of commands of other clients
}

// Sample describes the load of a server at one moment. CPU, OwnCPU, Commands and OwnCommands
// are counters since any common start, like those of INFO.
type Sample struct {
	At          time.Time
	CPU         time.Duration // processor time of all the server's threads
	Commands    int64         // commands that the server executed
	OwnCPU      time.Duration // processor time spent for this program, an estimate
	OwnCommands int64         // commands that this program sent
	Trip        time.Duration // how long the answer to this sample took
}

// Thresholds between two samples beyond which other clients use the server.
const (
	calmBefore    = 3    // calm samples before the share grows
	othersCPU     = 0.03 // of a core
	othersRate    = 50   // commands a second
	uncertain     = 0.75 // possible error of OwnCPU, as a part of it
	slowBefore    = 2    // consecutive slow answers; a single one may be due to this machine
	tripFactor    = 4    // an answer is slow beyond tripFactor shortest round trips plus tripAllowance
	tripAllowance = 3 * time.Millisecond
	overdrawn     = 1.5 // use of the processor, as a multiple of the greatest share
)

// NewGovernor returns a Governor that allows a share of base, 0.01 for one percent of a core, and up to most while no other client uses
// the server. If most is at most base, the share is always base.
func NewGovernor(base, most float64) *Governor {
	return &Governor{base: base, most: max(base, most), Share: base}
}

// Fixed reports whether the share never changes, so that no samples are needed.
func (g *Governor) Fixed() bool { return g.most <= g.base }

// Take takes the next sample. A sample whose counters are below the previous ones comes from a
// server that was restarted or replaced: the Governor then starts again from it.
func (g *Governor) Take(s Sample) {
	was := g.before
	g.before = s
	over := s.At.Sub(was.At)
	if was.At.IsZero() || over <= 0 || s.CPU < was.CPU || s.Commands < was.Commands {
		g.Reset()
		g.before, g.trip, g.executed = s, s.Trip, s.Commands-s.OwnCommands
		return
	}
	if g.Fixed() {
		return
	}
	g.trip = min(g.trip, s.Trip)
	if g.slow++; s.Trip <= tripFactor*g.trip+tripAllowance {
		g.slow = 0
	}
	seconds := over.Seconds()
	cpu, own := (s.CPU-was.CPU).Seconds()/seconds, (s.OwnCPU-was.OwnCPU).Seconds()/seconds
	others := 0.0
	// Own commands count when they are sent, the server's when they are executed: commands in
	// flight make the difference too small, never too large.
	if executed := s.Commands - s.OwnCommands; executed > g.executed {
		others = float64(executed-g.executed) / seconds
		g.executed = executed
	}
	switch {
	case others > othersRate, cpu-own > max(othersCPU, uncertain*own), cpu > overdrawn*g.most, g.slow >= slowBefore:
		g.Share, g.Pace, g.calm = g.base, model.PaceBusy, 0
	default:
		if g.calm++; g.calm > calmBefore {
			g.Share, g.Pace = min(2*g.Share, g.most), model.PaceIdle
		}
	}
}

// Reset forgets the samples, before another server is sampled.
func (g *Governor) Reset() {
	g.Share, g.Pace, g.calm, g.before, g.trip, g.slow = g.base, model.PaceSteady, 0, Sample{}, 0, 0
}

// Used returns the processor time in the text of INFO cpu: of all the server's threads, without
// the child processes that save its data. known is false when the text has none.
func Used(info string) (sum time.Duration, known bool) {
	fields := connect.ParseInfo(info)
	for _, name := range [...]string{"used_cpu_sys", "used_cpu_user"} {
		if v, err := strconv.ParseFloat(fields[name], 64); err == nil {
			sum, known = sum+time.Duration(math.Round(v*1e6))*time.Microsecond, true
		}
	}
	return sum, known
}
