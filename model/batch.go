package model

import (
	"cmp"
	"math"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/model/collect"
)

// Batch is what a source reports at one moment. A source emits a batch at every refresh, even if
// nothing has changed, so that a screen can tell a quiet server from one that is away. A batch
// belongs to its receiver.
type Batch struct {
	At       limiter.Instant // server clock; the last known one while the server is away
	Local    time.Time       // this machine's clock at the same moment
	Server   Server
	Readings []Reading
	Gone     []string // keys (Reading.Key) that left the server
	LeftOut  []string // keys that still exist and are no longer read, in favour of hotter ones
	Sweep    Sweep
	Cost     Cost
	Health   *Health  // nil if there is no new examination
	HotKeys  *HotKeys // nil if there is no new ranking
	Fired    []Fired  // requests fired from here, in a recording; a live source reports none

	// Anew is set by a source that moves to another time, such as a replay: the receiver replaces
	// its board with this one, and ignores the other fields, which are those of the board.
	Anew *Board
}

// Link is the state of the connection to the server.
type Link uint8

const (
	Connecting Link = iota // no answer yet
	Live
	Down // it has answered before and does not answer now
)

// Server is the state of the watched server. In JSON it is as a recording has it: without what changes all the time.
type Server struct {
	Target   string        `json:"target"`       // the URL without its password
	DB       int           `json:"db,omitempty"` // the number of the database
	Embedded bool          `json:"embedded,omitempty"`
	Role     string        `json:"role,omitempty"` // "embedded", "master", "replica", "cluster", "sentinel"; "" unknown
	Version  string        `json:"redis,omitempty"`
	Link     Link          `json:"-"`
	Err      string        `json:"-"` // while Link is not Live, one sentence with the error and its remedy
	RTT      time.Duration `json:"-"`
	Offset   time.Duration `json:"-"` // server clock minus this machine's
	OffsetBy time.Duration `json:"-"` // possible error of Offset in either direction; 0 unknown
	Down     time.Duration `json:"-"` // how long the server has been away
	Silent   bool          `json:"-"` // it is away because an answer did not come in time; one that is refused is not silent

	// Lacks has a sentence for each thing that cannot be shown although the link is live, because
	// a permission is missing or a node of a cluster is down.
	Lacks []string `json:"lacks,omitempty"`

	// RunID changes when the server is restarted or replaced; "" if unknown, and for a cluster.
	// Away lists the nodes of a cluster that do not answer.
	RunID string `json:"run_id,omitempty"`
	Away  []Node `json:"away,omitempty"`
}

// Node is a node of a cluster that does not answer.
type Node struct {
	Addr string `json:"addr"`
	Keys int    `json:"keys,omitempty"` // watched keys that it holds
	Err  string `json:"err,omitempty"`  // one sentence
}

// Sweep is the progress of discovery. In JSON it is the part of a recording in which there are no names.
type Sweep struct {
	Patterns []string `json:"-"`
	Scanned  int64    `json:"scanned,omitempty"` // keys scanned in this pass
	Total    int64    `json:"total,omitempty"`   // keys to scan in a pass; 0 unknown
	Matched  int      `json:"matched,omitempty"` // limiters found
	Passes   int      `json:"passes,omitempty"`  // passes completed; for a pattern without matches, Passes > 0 and Matched 0
	Dropped  int      `json:"dropped,omitempty"` // limiters found beyond the cap and not watched
	Skipped  int64    `json:"skipped,omitempty"` // keys of this pass that were not examined, because none of their form was a limiter
	Sampled  int64    `json:"sampled,omitempty"` // those of Skipped whose form is that of likely limiters
	Keys     int64    `json:"keys,omitempty"`    // latest count of the keys on the server; 0 unknown
	Missed   int      `json:"missed,omitempty"`  // nodes of a cluster that the latest pass could not reach
	Behind   int      `json:"-"`                 // limiters of Matched that were not read within a second and may have been written since

	// Beyond are the limiters of Dropped by their patterns; Candidates are keys that have the shape of
	// limiters, of which neither name nor value says that they are. Neither slice is changed.
	Beyond, Candidates []KeyGroup `json:"-"`
	Bans               []string   `json:"-"` // names of some keys that speak of bans; nil in a recording

	Share float64 `json:"share,omitempty"` // of the server's time that watching may take now, 0.01 for one percent; 0 unknown
	Pace  Pace    `json:"pace,omitempty"`  // the reason for Share
}

// KeyGroup is keys with one pattern of names that are not watched.
type KeyGroup struct {
	Pattern, Example string
	Keys             int
	Library          string
	Evidence         Evidence
	Algorithm        limiter.Algorithm
	Why, Examples    []string // Examples are the names of some of its keys; nil in a recording
}

// Unmoved is the reason why keys that were likely limiters are candidates only: a request that comes too soon may be
// denied because they are there.
const Unmoved = "it keeps its number until it expires, as a lock, a mark or a cooldown does"

// Pace is the reason for the share of the server's time that the search for limiters may take.
type Pace uint8

// The paces.
const (
	PaceSteady Pace = iota // the usual share: the server's load is not known, or the share is fixed
	PaceIdle               // a greater share, because no other client uses the server
	PaceBusy               // the usual share, because other clients use the server
)

// Complete reports whether every key was scanned: a pass is over, and it reached every node.
// Counts of limiters before that are not final.
func (s *Sweep) Complete() bool { return s.Passes > 0 && s.Missed == 0 }

// Seen returns about how many keys of the server were scanned.
func (s *Sweep) Seen() int64 {
	switch {
	case s.Passes > 0:
		return s.Keys
	case s.Total == 0:
		return s.Scanned
	}
	return int64(float64(s.Keys) * min(float64(s.Scanned)/float64(s.Total), 1))
}

// Cost is the cost of watching since the previous batch.
type Cost struct {
	Commands int64
	Server   time.Duration // server time that the commands took, an estimate; 0 unknown
	Over     time.Duration // the period that the cost covers
}

// Add adds another cost to c.
func (c *Cost) Add(other Cost) {
	c.Commands += other.Commands
	c.Server += other.Server
	c.Over += other.Over
}

// Merge adds a newer batch to b, which has not been delivered yet. The newer reading of a key
// replaces the older one and gets the arrivals of both; costs add up.
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
	for i := range b.Readings {
		at[b.Readings[i].Key] = i
	}
	left := collect.Set(slices.Concat(newer.Gone, newer.LeftOut)) // keys that are not read any more
	back := make(map[string]bool, len(newer.Readings))
	for _, r := range newer.Readings {
		back[r.Key] = true
		if i, seen := at[r.Key]; seen {
			r.join(&b.Readings[i])
			b.Readings[i] = r
		} else {
			at[r.Key] = len(b.Readings)
			b.Readings = append(b.Readings, r)
		}
	}
	b.Readings = slices.DeleteFunc(b.Readings, func(r Reading) bool { return left[r.Key] })
	stays := func(name string) bool { return back[name] || left[name] }
	b.Gone = append(newer.Gone, slices.DeleteFunc(b.Gone, stays)...)
	b.LeftOut = append(newer.LeftOut, slices.DeleteFunc(b.LeftOut, stays)...)
	b.At, b.Local, b.Server, b.Sweep = newer.At, newer.Local, newer.Server, newer.Sweep
	b.Fired = append(b.Fired, newer.Fired...)
	b.Cost.Add(newer.Cost)
	b.Health, b.HotKeys = cmp.Or(newer.Health, b.Health), cmp.Or(newer.HotKeys, b.HotKeys)
}

// set returns by how much the server's clock was set since the latest batch of a board; 0 where it was this machine's, or neither.
func (b *Batch) set(before *Board) time.Duration {
	by, passed := b.Server.Offset-before.Server.Offset, b.At.Sub(before.At)
	if before.At == 0 || b.Server.Link != Live || by.Abs() < lapse || passed.Abs() < b.Local.Sub(before.Local).Abs() {
		return 0
	}
	return by
}

// join adds the arrivals and levels of an older reading of the same key, which was not delivered.
func (r *Reading) join(old *Reading) {
	if r.Target.Window != old.Target.Window { // for another window the source reports the past again
		return
	}
	newer := func(a Arrival) bool { return !r.Repeats(old) || a.At > old.At }
	arrivals := append(old.Arrivals, collect.Only(r.Arrivals, newer)...) // no other code appends to the slices of a batch
	trace := append(append(old.Trace, old.level()...), r.Trace...)
	if r.Since == 0 { // not watched from old on to r
		trace = append(trace, r.level()...)
	}
	r.Arrivals, r.Trace = arrivals, trace[max(0, len(trace)-maxTrace):]
	if len(arrivals) > maxArrivals {
		r.Arrivals = r.thin()
	}
	r.Since = old.Since
}

// maxArrivals bounds the arrivals that merged batches collect while a screen is paused.
const maxArrivals = 4 * maxWindows * BinsPerWindow

// thin returns the arrivals of r, joined by the bins of a timeline and without those that are too
// old for it.
func (r *Reading) thin() []Arrival {
	t := NewTimeline(r.Target.span())
	for _, a := range r.Arrivals {
		a.At = min(a.At, r.At)
		t.Arrive(a)
	}
	t.Watch(max(r.At.Add(-t.Reach()), 1), r.At, Count{})
	return t.Past(r.At)
}

// watched returns the instant since which r itself describes the key, after the levels in its
// Trace; 0 if r describes only its own instant.
func (r *Reading) watched() limiter.Instant {
	from := r.Since
	if n := len(r.Trace); n > 0 {
		from = max(from, r.Trace[n-1].At)
	}
	return collect.If(r.At.Sub(from) > lapse, 0, from)
}

// maxTrace bounds Reading.Trace. A screen that is further behind shows coarser levels.
const maxTrace = 512

// level returns the level that r itself says, if it is known.
func (r *Reading) level() []Level {
	if used := r.Gauge(r.At).Used; used.Known {
		return []Level{{Since: r.watched(), At: r.At, Used: used.N}}
	}
	return nil
}

// leastSearched is the least share of the keys that must be searched for an estimate of the rest.
const leastSearched = 0.02

// UnseenAtMost returns an upper bound, with 95 % confidence, of the number of keys of a kind that the
// first search has yet to find, when it has found so many of them. It is not known before
// leastSearched of the keys were searched, or when the search is over.
//
// SCAN goes through keys in the order of their hashes, so that the searched keys are a random sample:
// of N keys in all, it has met N times the searched share on average. The bound is that of a Poisson
// distribution, by the approximation of Wilson and Hilferty (wrong by a tenth of a key at 0, by less
// above). Keys that were found in another way only increase it.
func (s *Sweep) UnseenAtMost(found int) (most int64, known bool) {
	if s.Passes > 0 || s.Total <= 0 || s.Scanned >= s.Total {
		return 0, false
	}
	share := float64(s.Scanned) / float64(s.Total)
	if share < leastSearched {
		return 0, false
	}
	const quantile = 1.6449 // of the normal distribution, 95 %
	n := float64(found + 1)
	mean := n * math.Pow(1-1/(9*n)+quantile/(3*math.Sqrt(n)), 3)
	return max(int64(math.Ceil(mean/share))-int64(found), 0), true
}

// Playback is the state of the replay of a recording.
type Playback struct {
	Begin, End, At limiter.Instant
	Speed          float64
	Paused         bool
	Ended          bool
	Past           bool   // the time before At is still being read, so that timelines and events are incomplete
	CutOff         string // why the recording is incomplete; "" if it was closed
}
