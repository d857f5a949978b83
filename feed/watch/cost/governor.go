package cost

import (
	"time"

	"ratescope/model"
)

// Governor decides how much of a server's time the first search for limiters may take: a
// fixed share while other clients use the server, and more while none does. It starts at the
// fixed share, doubles it with every calm Sample after calmBefore of them, and goes back
// with the first that is not calm, so that a load which begins is met within one interval.
//
// It is pure: it asks nothing and has no clock. It is used by one goroutine.
type Governor struct {
	base, most float64
	share      float64
	pace       model.Pace
	before     Sample
	trip       time.Duration // the shortest round trip
	calm       int           // samples in a row
	slow       int           // round trips in a row
	executed   int64         // for others, the most that was counted
}

// Sample is what is known of a server at one moment. CPU, Commands and the own part of both
// count from any beginning, as INFO does.
type Sample struct {
	At          time.Time
	CPU         time.Duration // that the server used, of all its threads
	Commands    int64         // that it executed
	OwnCPU      time.Duration // that this program took of it, as it was estimated
	OwnCommands int64         // that this program sent to it
	Trip        time.Duration // how long the answer to this sample took
}

// What counts as use by others, between two samples.
const (
	calmBefore    = 3    // samples before more is taken
	othersCPU     = 0.03 // of a core
	othersRate    = 50   // commands a second
	uncertain     = 0.75 // of the own cost: so far may the estimate of it be off
	slowBefore    = 2    // answers in a row: a single one may be this machine's doing
	tripFactor    = 4    // times the shortest round trip, and the allowance: such an answer is slow
	tripAllowance = 3 * time.Millisecond
	overdrawn     = 1.5 // times the most that may be taken: what the server really used
)

// NewGovernor returns a Governor that allows base, a share of a core, and up to most while
// no other client uses the server. With a most of no more than base it always allows base.
func NewGovernor(base, most float64) *Governor {
	return &Governor{base: base, most: max(base, most), share: base}
}

// Share returns what may be taken now, 0.01 for one percent of a core.
func (g *Governor) Share() float64 { return g.share }

// Pace says why.
func (g *Governor) Pace() model.Pace { return g.pace }

// Fixed reports whether the share never changes, so that no samples are needed.
func (g *Governor) Fixed() bool { return g.most <= g.base }

// Take takes the next sample. One that does not follow the one before, because the server
// was restarted or another one is asked, begins anew.
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
	// Own commands count when they are sent and the server's when they are executed: what is on
	// its way makes the difference too small, and never too large.
	if executed := s.Commands - s.OwnCommands; executed > g.executed {
		others = float64(executed-g.executed) / seconds
		g.executed = executed
	}
	switch {
	case others > othersRate, cpu-own > max(othersCPU, uncertain*own), cpu > overdrawn*g.most, g.slow >= slowBefore:
		g.share, g.pace, g.calm = g.base, model.PaceBusy, 0
	default:
		if g.calm++; g.calm > calmBefore {
			g.share, g.pace = min(2*g.share, g.most), model.PaceIdle
		}
	}
}

// Reset forgets the samples: another server is asked, or none.
func (g *Governor) Reset() {
	g.share, g.pace, g.calm, g.before, g.trip, g.slow = g.base, model.PaceSteady, 0, Sample{}, 0, 0
}
