package model

import (
	"time"

	"ratescope/limiter"
)

// Batch is what a source has to say at one moment. A source emits one at every
// refresh, also when nothing changed, so that a screen can tell quiet from dead.
type Batch struct {
	At       limiter.Instant // server clock; the last known one while the server is away
	Local    time.Time       // this machine's clock at the same moment
	Server   Server
	Readings []Reading
	Gone     []string // keys (Reading.Key) that left the server
	LeftOut  []string // keys that are read no more, in favour of hotter ones; they are still there
	Sweep    Sweep
	Cost     Cost
	Health   *Health  // nil when there was no new look
	HotKeys  *HotKeys // nil when there is no news of it
	Fired    []Fired  // requests that were fired from here, of a recording; a running source reports none

	// Anew is set by a source that goes elsewhere in time: everything that was known is to
	// be forgotten for this board. It is the receiver's, as the batch is, and holds what the
	// batch would bring: its other fields are only those of the board.
	Anew *Board
}

// Link is the state of the connection to the server.
type Link uint8

const (
	Connecting Link = iota // no answer yet
	Live
	Down // it answered before and does not now
)

// Server is what is known about the server behind the keys.
type Server struct {
	Target   string // as the user may see it: the URL without its password
	Embedded bool
	Role     string // "embedded", "master", "replica", "cluster", "sentinel"; "" unknown
	Version  string
	Link     Link
	Err      string // one sentence while Link is not Live: what is wrong and what to do
	RTT      time.Duration
	Offset   time.Duration // server clock minus this machine's
	OffsetBy time.Duration // how far Offset may be off either way, from round trips; 0 not known
	Down     time.Duration // how long it has been away

	// Lacks says, one sentence each, what cannot be told although the link is live: for want
	// of a permission, or because a node of a cluster is down.
	Lacks []string

	// RunID tells two lives of the server apart; "" unknown, and of a cluster. Away are the
	// nodes of a cluster that do not answer.
	RunID string
	Away  []Node
}

// Node is a node of a cluster that does not answer.
type Node struct {
	Addr string
	Keys int    // that it holds of those that are watched
	Err  string // one sentence
}

// Sweep is how far the discovery of keys has come.
type Sweep struct {
	Patterns []string
	Scanned  int64 // keys looked at in this pass
	Total    int64 // keys on the server; 0 unknown
	Matched  int   // limiters found
	Passes   int   // passes completed; a pattern that matches nothing shows as Passes > 0 and Matched 0
	Dropped  int   // keys found beyond the cap and not watched
	Skipped  int64 // keys of this pass whose type was not asked for: none of their form was a limiter
	Sampled  int64 // those of them whose form is that of keys that are likely limiters
	Keys     int64 // keys on the server as they were counted last; 0 unknown
	Missed   int   // nodes of a cluster that the latest pass could not look at

	Share float64 // of the server's time that watching may take now, 0.01 for one percent; 0 unknown
	Pace  Pace    // why it may take so much
}

// Pace is why the search for limiters may take as much of the server as it does.
type Pace uint8

// The paces.
const (
	PaceSteady Pace = iota // as much as always, or it is not known yet how busy the server is
	PaceIdle               // more, while no other client uses the server
	PaceBusy               // no more, for others use the server
)

// Complete reports whether every key was looked at: a pass is over, and it reached every
// node. What is counted before that is not final.
func (s *Sweep) Complete() bool { return s.Passes > 0 && s.Missed == 0 }

// Seen returns how many keys of the server were looked at, about.
func (s *Sweep) Seen() int64 {
	switch {
	case s.Passes > 0:
		return s.Keys
	case s.Total == 0:
		return s.Scanned
	}
	return int64(float64(s.Keys) * min(float64(s.Scanned)/float64(s.Total), 1))
}

// Cost is what the watching itself did since the batch before.
type Cost struct {
	Commands int64
	Server   time.Duration // time of the server that they took, estimated; 0 unknown
	Over     time.Duration // the time that this covers
}

// Add counts what other cost on top of c.
func (c *Cost) Add(other Cost) {
	c.Commands += other.Commands
	c.Server += other.Server
	c.Over += other.Over
}

// Merge brings b forward by a newer batch that has not been delivered yet: the latest
// reading of each key wins and keeps the arrivals of both, costs add up.
func (b *Batch) Merge(newer Batch) {
	if newer.Anew != nil {
		*b = newer
		return
	}
	if b.Anew != nil {
		b.Anew.Apply(newer)
		*b = b.Anew.anew()
		return
	}
	at := make(map[string]int, len(b.Readings))
	for i, r := range b.Readings {
		at[r.Key] = i
	}
	for _, r := range newer.Readings {
		i, seen := at[r.Key]
		if !seen {
			at[r.Key] = len(b.Readings)
			b.Readings = append(b.Readings, r)
			continue
		}
		old := &b.Readings[i]
		r.join(old)
		*old = r
	}
	gone := make(map[string]bool, len(newer.Gone)+len(newer.LeftOut))
	for _, k := range newer.Gone {
		gone[k] = true
	}
	for _, k := range newer.LeftOut {
		gone[k] = true
	}
	back := make(map[string]bool, len(newer.Readings))
	for _, r := range newer.Readings {
		back[r.Key] = true
	}
	kept := b.Readings[:0]
	for _, r := range b.Readings {
		if !gone[r.Key] {
			kept = append(kept, r)
		}
	}
	clear(b.Readings[len(kept):])
	b.Readings = kept
	for _, k := range b.Gone {
		if !back[k] && !gone[k] {
			newer.Gone = append(newer.Gone, k)
		}
	}
	for _, k := range b.LeftOut {
		if !back[k] && !gone[k] {
			newer.LeftOut = append(newer.LeftOut, k)
		}
	}
	b.At, b.Local, b.Server, b.Sweep = newer.At, newer.Local, newer.Server, newer.Sweep
	b.Gone, b.LeftOut = newer.Gone, newer.LeftOut
	b.Fired = append(b.Fired, newer.Fired...)
	b.Cost.Add(newer.Cost)
	if newer.Health != nil {
		b.Health = newer.Health
	}
	if newer.HotKeys != nil {
		b.HotKeys = newer.HotKeys
	}
}

// join puts into r the part of an older reading of the same key that was not delivered.
func (r *Reading) join(old *Reading) {
	if r.Target.Window != old.Target.Window { // the source tells the past again, in other bins
		return
	}
	arrivals := old.Arrivals // a batch is its receiver's: nothing else appends to it
	for _, a := range r.Arrivals {
		if r.Since != 0 || a.At > old.At { // a source that starts anew may tell again what it told before
			arrivals = append(arrivals, a)
		}
	}
	r.Arrivals, r.Trace = arrivals, joinTrace(old, r)
	if len(arrivals) > maxArrivals {
		r.Arrivals = r.thin()
	}
	r.Since = old.Since
}

// maxArrivals bounds what gathers while a screen stands still, for hours perhaps.
const maxArrivals = 4 * maxWindows * BinsPerWindow

// thin returns the arrivals of r joined by the bins of a timeline, without those that
// are too old for it.
func (r *Reading) thin() []Arrival {
	t := NewTimeline(r.Target.span())
	for _, a := range r.Arrivals {
		a.At = min(a.At, r.At)
		t.Arrive(a)
	}
	var bins [maxWindows * BinsPerWindow]Bin
	last := t.Index(r.At)
	t.Columns(bins[:], last, 1)
	var joined []Arrival
	for i, b := range bins {
		at := t.Begin(last - int64(len(bins)-1-i))
		if b.Admitted > 0 {
			joined = append(joined, Arrival{At: at, N: b.Admitted})
		}
		if b.Denied > 0 {
			joined = append(joined, Arrival{At: at, N: b.Denied, Denied: true})
		}
	}
	return joined
}

// watched returns the instant from which on r itself, beside its Trace, says how the key
// went; 0 when it speaks of nothing but its own instant.
func (r *Reading) watched() limiter.Instant {
	from := r.Since
	if n := len(r.Trace); n > 0 {
		from = max(from, r.Trace[n-1].At)
	}
	if r.At.Sub(from) > lapse {
		return 0
	}
	return from
}

// maxTrace bounds Reading.Trace: a screen that is this far behind shows steps.
const maxTrace = 512

// joinTrace returns the levels of the older reading and its own level, then those of the
// newer one.
func joinTrace(old, newer *Reading) []Level {
	trace := old.Trace
	if used := old.Gauge(old.At).Used; used.Known {
		trace = append(trace, Level{Since: old.watched(), At: old.At, Used: used.N})
	}
	trace = append(trace, newer.Trace...)
	if used := newer.Gauge(newer.At).Used; newer.Since == 0 && used.Known { // not watched from old on to newer
		trace = append(trace, Level{Since: newer.watched(), At: newer.At, Used: used.N})
	}
	return trace[max(0, len(trace)-maxTrace):]
}
