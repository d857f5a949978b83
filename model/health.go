package model

import (
	"time"

	"ratescope/limiter"
)

// Health is how the server behind the keys does: what INFO, SLOWLOG and LATENCY tell,
// as rates since the look before. A zero At means that there has been no look yet. What
// the server does not tell (an older version, the embedded one, a missing permission)
// is not Known, and Missing says why.
type Health struct {
	At   limiter.Instant
	Over time.Duration // the time that the rates cover; 0 on the first look

	Ops        Measure // commands a second
	CPU        Measure // cores that the server uses, 1 is one core
	MemoryUsed Measure // bytes
	MemoryMax  Measure // bytes; 0 no limit
	Policy     string  // maxmemory-policy; "" unknown
	Keys       Measure // keys in the database
	Clients    Measure
	Blocked    Measure // clients that wait in a blocking command
	NetIn      Measure // bytes a second
	NetOut     Measure // bytes a second
	Evicted    Measure // keys a second
	Expired    Measure // keys a second
	Replicas   Measure
	Lag        Measure // bytes that the slowest replica is behind; at a replica, received and not applied
	Unheard    Measure // seconds since a replica last heard of its master: what it holds may be so old
	LinkUp     bool    // a replica's link to its master

	Fruitless      Measure  // script calls a second that changed nothing, derived by a Board: see its fruitless
	Scripts        Measure  // scripts in the cache
	ScriptsEvicted Measure  // a second, from the cache
	Unsaved        Measure  // changes since the last snapshot
	Saving         bool     // a snapshot or an append-only file is being written by a fork
	SaveFailed     []string // what could not be written, as in "the last snapshot"

	Commands []CommandStat // EVALSHA, EVAL, FCALL first, then the most costly; at most 12
	Errors   []ErrorStat   // most frequent first; at most 12
	Slow     []SlowCommand // newest first; at most 16
	Spikes   []Spike       // what LATENCY has on record, newest first; at most 8
	Missing  []string      // one sentence each: what is switched off, and the ACL rule that would allow it
}

// Measure is a figure that may not be known.
type Measure struct {
	Known bool
	V     float64
}

// CommandStat is what one command costs the server.
type CommandStat struct {
	Name    string        // lower case, as INFO commandstats has it
	Calls   float64       // a second
	Mean    time.Duration // of the server's time a call, since the look before
	P99     time.Duration // as latencystats has it; 0 unknown
	Failed  float64       // a second: rejected and failed calls
	Total   int64         // calls since the server's statistics began
	Scripts bool          // runs scripts or functions
}

// ErrorStat counts one kind of error reply.
type ErrorStat struct {
	Name  string // as INFO errorstats has it: NOSCRIPT, OOM, READONLY, …
	Rate  float64
	Total int64
}

// SlowCommand is an entry of the slow log. It holds no value: the slow log of a server has the
// commands of everyone who uses it.
type SlowCommand struct {
	ID      int64
	At      limiter.Instant
	Took    time.Duration
	Command string   // its name, and of a command with subcommands theirs; not for a terminal before it is cleaned
	Keys    []string // that it names, as far as they are known; raw
	Rest    int      // further arguments, which are not kept
}

// Spike is a kind of event that took the server longer than its latency-monitor-threshold.
type Spike struct {
	Event        string // as LATENCY has it: command, fork, expire-cycle, …; not for a terminal before it is cleaned
	At           limiter.Instant
	Latest, Most time.Duration
}

// HealthSample is what the health screen draws over time, at one moment.
type HealthSample struct {
	At     limiter.Instant
	RTT    time.Duration // 0 unknown
	Ops    Measure
	CPU    Measure
	Memory Measure
	Script time.Duration // mean server time of a script call; 0 unknown

	NetIn, NetOut    Measure // bytes a second
	Evicted          Measure // keys a second
	Watching         Measure // share of the server's time that the watching took since the vital before
	Admitted, Denied Measure // requests a second, of all watched keys; Denied of those that record it
}

// keepSamples bounds the record of Vitals.
const keepSamples = 512

// HealthSamples returns the record, oldest first. It must not be changed.
func (b *Board) HealthSamples() []HealthSample { return b.samples }

// examine keeps the latest look at the server's health and its figures.
func (b *Board) examine(h *Health) {
	if h == nil {
		return
	}
	b.Health = *h
	b.Health.Fruitless = b.fruitless(h)
	b.notice(h)
	v := HealthSample{
		At: h.At, RTT: b.Server.RTT, Ops: h.Ops, CPU: h.CPU, Memory: h.MemoryUsed,
		NetIn: h.NetIn, NetOut: h.NetOut, Evicted: h.Evicted,
	}
	if c := b.spent; c.Over > 0 && c.Server > 0 {
		v.Watching = Measure{true, float64(c.Server) / float64(c.Over)}
	}
	b.spent = Cost{}
	if t := b.Totals(); t.Keys > 0 {
		v.Admitted, v.Denied = Measure{true, t.Admitted}, Measure{t.DeniedKnown > 0, t.Denied}
	}
	for _, c := range h.Commands {
		if c.Scripts && c.Calls > 0 {
			v.Script = c.Mean
			break
		}
	}
	b.samples = append(b.samples, v)
	if n := len(b.samples); n > keepSamples {
		b.samples = append(b.samples[:0], b.samples[n-keepSamples:]...)
	}
}
