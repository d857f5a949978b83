package model

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model/format"
)

// Health holds the figures of INFO, SLOWLOG and LATENCY about the server, as rates since the previous examination. At is 0 before the
// first one. Figures that the server does not give, because of its version or a missing permission, are not Known, and Missing says why.
// In JSON it is as a recording has it, without the figures and the slow log.
type Health struct {
	At    limiter.Instant `json:"at"`
	Over  time.Duration   `json:"over,omitempty"`  // the time that the rates cover; 0 for the first examination
	Nodes int             `json:"nodes,omitempty"` // how many nodes the figures are sums of; 0 means one

	Ops        Measure `json:"-"`                // commands a second
	CPU        Measure `json:"-"`                // cores that the server uses, 1 is one core
	MemoryUsed Measure `json:"-"`                // bytes
	MemoryMax  Measure `json:"-"`                // bytes; 0 no limit
	Policy     string  `json:"policy,omitempty"` // maxmemory-policy; "" unknown
	Keys       Measure `json:"-"`                // keys in the database
	Clients    Measure `json:"-"`
	Blocked    Measure `json:"-"` // clients that wait in a blocking command
	NetIn      Measure `json:"-"` // bytes a second
	NetOut     Measure `json:"-"` // bytes a second
	Evicted    Measure `json:"-"` // keys a second
	Expired    Measure `json:"-"` // keys a second
	Replicas   Measure `json:"-"`
	Lag        Measure `json:"-"`                 // bytes that the slowest replica is behind; of a replica, bytes received and not applied
	Unheard    Measure `json:"-"`                 // seconds since a replica last heard from its master; its data may be that old
	LinkUp     bool    `json:"link_up,omitempty"` // a replica's link to its master

	Fruitless      Measure  `json:"-"`                   // script calls a second that added nothing to any key, at the least
	Scripts        Measure  `json:"-"`                   // scripts in the cache
	ScriptsEvicted Measure  `json:"-"`                   // a second, from the cache
	Unsaved        Measure  `json:"-"`                   // changes since the last snapshot
	Saving         bool     `json:"saving,omitempty"`    // a snapshot or an append-only file is being written by a fork
	SaveFailed     []string `json:"unwritten,omitempty"` // files that could not be written, such as "the last snapshot"

	Commands []CommandStat `json:"commands,omitempty"` // EVALSHA, EVAL, FCALL first, then the most costly; at most 12
	Errors   []ErrorStat   `json:"errors,omitempty"`   // most frequent first; at most 12
	Slow     []SlowCommand `json:"-"`                  // newest first; at most 16
	Spikes   []Spike       `json:"spikes,omitempty"`   // events recorded by LATENCY, newest first; at most 8
	Missing  []string      `json:"missing,omitempty"`  // a sentence each: a command that is not answered, and the ACL rule that permits it
}

// Measure is a figure that may not be known.
type Measure struct {
	Known bool
	V     float64
}

// Text writes the measure as f does, and one that is not known as format.Unknown.
func (m Measure) Text(f func(float64) string) string {
	if !m.Known {
		return format.Unknown
	}
	return f(m.V)
}

// And returns the sum of what is known of m and o.
func (m Measure) And(o Measure) Measure {
	if !o.Known {
		return m
	}
	return Measure{true, m.V + o.V}
}

// CommandStat is the cost of one command for the server.
type CommandStat struct {
	Name    string        `json:"name"`              // in lower case, as in INFO commandstats
	Calls   float64       `json:"calls"`             // a second
	Mean    time.Duration `json:"mean"`              // server time of a call, since the previous examination
	P99     time.Duration `json:"p99,omitempty"`     // from INFO latencystats; 0 is unknown
	Failed  float64       `json:"failed,omitempty"`  // a second: rejected and failed calls
	Total   int64         `json:"total"`             // calls since the server's statistics began
	Scripts bool          `json:"scripts,omitempty"` // runs scripts or functions
}

// ErrorStat counts one kind of error reply.
type ErrorStat struct {
	Name  string  `json:"name"` // as in INFO errorstats: NOSCRIPT, OOM, READONLY, …
	Rate  float64 `json:"rate"`
	Total int64   `json:"total"`
}

// SlowCommand is an entry of the slow log. It contains no values, because the slow log has the commands of all clients.
type SlowCommand struct {
	ID      int64
	At      limiter.Instant
	Took    time.Duration
	Command string   // name and subcommand; to be cleaned before it is printed
	Keys    []string // its keys, as far as they are known; raw
	Rest    int      // number of further arguments, which are not kept
}

// Spike is a kind of event that took the server longer than its latency-monitor-threshold.
type Spike struct {
	Event  string          `json:"event"` // as in LATENCY: command, fork, expire-cycle, …; to be cleaned before it is printed
	At     limiter.Instant `json:"at"`
	Latest time.Duration   `json:"latest"`
	Most   time.Duration   `json:"most"`
}

// HealthSample holds the figures that the health screen draws over time, at one instant.
type HealthSample struct {
	At     limiter.Instant
	RTT    time.Duration // 0 unknown
	Ops    Measure
	CPU    Measure
	Memory Measure
	Script time.Duration // mean server time of a script call; 0 unknown

	NetIn, NetOut    Measure // bytes a second
	Evicted          Measure // keys a second
	Watching         Measure // share of the server's time that watching took since the previous sample
	Admitted, Denied Measure // requests a second, of all watched keys; Denied of those that record it
}

const keepSamples = 512

// HealthSamples returns the samples, oldest first. The slice must not be changed.
func (b *Board) HealthSamples() []HealthSample { return b.samples }

// examine stores the latest examination of the server and adds its figures to the samples.
func (b *Board) examine(h *Health) {
	if h == nil {
		return
	}
	b.Health = *h
	b.alerts.notice(h)
	v := HealthSample{At: h.At, RTT: b.Server.RTT, Ops: h.Ops, CPU: h.CPU, Memory: h.MemoryUsed,
		NetIn: h.NetIn, NetOut: h.NetOut, Evicted: h.Evicted}
	if c := b.spent; c.Over > 0 && c.Server > 0 {
		v.Watching = Measure{true, float64(c.Server) / float64(c.Over)}
	}
	b.spent = Cost{}
	if t := b.Totals(); t.Keys > 0 {
		v.Admitted, v.Denied = Measure{10*t.Before <= t.Keys, t.Admitted}, Measure{t.DeniedKnown > 0, t.Denied}
	}
	for _, c := range h.Commands {
		if c.Scripts && c.Calls > 0 {
			v.Script = c.Mean
			break
		}
	}
	b.samples = append(b.samples, v)
	b.samples = slices.Delete(b.samples, 0, max(len(b.samples)-keepSamples, 0))
}

// HotKeys is the ranking of keys by how often they are used, from other sources than readings, since
// a server may have many more keys than are read. A zero At means that there is no ranking.
type HotKeys struct {
	At   limiter.Instant
	Keys []HotKey // at most one for each key, in no order

	Writes Measure // writes a second of all keys that match the watched patterns
	// Missed is the greatest possible rate of writes of a key outside Keys.
	Missed Measure
	// Sources has a phrase for each source of the figures: "writes, heard 3 % of the time", "HOTKEYS of Redis, by cpu, for 12 s".
	Sources []string
}

// HotKey holds the figures of one key. Each comes from a different source, and is not Known if that source does not have the key.
type HotKey struct {
	Key string // the limiter's name, or a Redis key that is no limiter; raw, to be cleaned for a terminal

	// Writes is the rate of sampled writes a second, a lower bound of the requests. WritesBy is its possible error in either direction.
	Writes   Measure
	WritesBy float64
	CPU      Measure // share of the server's time in commands, 0 to 1, by Redis's HOTKEYS
	Net      Measure // share of the bytes in and out, 0 to 1, by Redis's HOTKEYS
	Counter  Measure // accesses that the LFU counter stands for
	// Asked is known of a limiter that is at its limit, that other clients read, and that nothing wrote: in that part of the latest
	// looks, which are seconds apart, one had read it within the second before. It bounds the refused requests by one for each look.
	Asked Measure
}

// Hottest is a key of the ranking, with figures of its reading and of HotKeys.
type Hottest struct {
	HotKey
	Watched     bool    // the key is on the board, and has a Rate and a Utilization
	Rate        Measure // requests a second, with those that are known to be denied
	Utilization Measure
	// Share orders the ranking. It is the largest of the key's shares: of the requests of all keys on the board, of the sampled writes, of
	// the server's time and bytes, and of all accesses by the LFU counters.
	Share float64
}

// Hottest returns the n hottest keys: first those that are asked again and again at their limits, then the one with the largest share,
// and of equal ones the one with the highest utilization. It uses the latest gauges.
func (b *Board) Hottest(n int) []Hottest {
	var all, counted float64
	list := make([]Hottest, 0, len(b.keys)+len(b.HotKeys.Keys))
	at := make(map[string]int, len(b.keys))
	for name, k := range b.keys {
		if k.Gone || k.Reading.Err != "" {
			continue
		}
		h := Hottest{HotKey: HotKey{Key: name}, Watched: true, Rate: k.Came()}
		if k.Gauge.Remaining.Known {
			h.Utilization = Measure{true, k.Gauge.Utilization}
		}
		if h.Rate.Known {
			all += h.Rate.V
		}
		at[name] = len(list)
		list = append(list, h)
	}
	for _, hot := range b.HotKeys.Keys {
		if i, ok := at[hot.Key]; ok {
			list[i].HotKey = hot
		} else {
			list = append(list, Hottest{HotKey: hot})
		}
		if hot.Counter.Known {
			counted += hot.Counter.V
		}
	}
	for i := range list {
		h := &list[i]
		h.Share = max(share(h.Rate, max(all, b.HotKeys.Writes.V)), share(h.Writes, b.HotKeys.Writes.V), share(h.CPU, 1), share(h.Net, 1),
			share(h.Counter, counted))
	}
	slices.SortFunc(list, func(x, y Hottest) int {
		return cmp.Or(cmp.Compare(y.Asked.V, x.Asked.V), cmp.Compare(y.Share, x.Share), cmp.Compare(y.Utilization.V, x.Utilization.V),
			strings.Compare(x.Key, y.Key))
	})
	return list[:min(max(n, 0), len(list))]
}

// share returns m as a part of a whole; 0 if either is not known.
func share(m Measure, whole float64) float64 {
	if !m.Known || !(whole > 0) || !(m.V > 0) {
		return 0
	}
	return min(m.V/whole, 1)
}

// loss is limits that left the server although what was counted in them had not expired: after a restart
// without its data, a failover to an empty replica or a flush.
type loss struct {
	what   AlertKind       // Restarted, else Emptied
	at     limiter.Instant // when the first of them left, or the server was restarted; 0 for none
	last   limiter.Instant // when the last of them left
	held   map[string]bool // limits that counted something then, without those that were lost
	all    int             // how many there were
	lost   int             // how many of them left
	unread map[string]bool // limits that were not read since a restart that is not reported yet; nil without one
}

const (
	lossTogether = 10 * time.Second // limits that leave within this time of each other are one loss
	lossLasts    = time.Minute      // Forgotten tells of it: it is an event, not a state
	lifeLeft     = 2 * time.Second  // a limit that would have expired sooner is not lost

	// restartPatience is how long the report of a restart waits for limits that are not read. While no limit
	// was read at all, as of a server that does not answer, it waits longer: whether they were lost is unknown.
	restartPatience = 10 * time.Second
)

// counting returns the limits that, by what was last read of them, are still there at an instant and hold something that counts.
func counting(keys map[string]*Watched, at limiter.Instant) map[string]bool {
	names := map[string]bool{}
	for name, k := range keys {
		if k.counts(at) {
			names[name] = true
		}
	}
	return names
}

func (k *Watched) counts(at limiter.Instant) bool {
	r := &k.Reading
	if k.Gone || r.Type == "none" || r.Err != "" || r.TTL > 0 && r.TTL-at.Sub(r.At) < lifeLeft {
		return false
	}
	used := r.Gauge(at).Used
	return !used.Known || used.N > 0
}

// count counts the limits that a batch no longer has, before it is applied to the keys, and notes a restart, which a
// run ID other than it was shows. It returns what is to be told of it, or nil.
func (s *loss) count(batch *Batch, keys map[string]*Watched, was string, at limiter.Instant) *Alert {
	left := slices.Clone(batch.Gone)
	for i := range batch.Readings {
		if r := &batch.Readings[i]; r.Type == "none" && r.Err == "" {
			left = append(left, r.Key)
		}
	}
	left = slices.DeleteFunc(left, func(name string) bool { // what counted at a restart was lost in it, however late that is seen
		k := keys[name]
		return k == nil || !k.counts(at) && !s.unread[name]
	})
	is := batch.Server.RunID
	restarted := was != "" && is != "" && was != is
	if (restarted || len(left) > 0) && s.unread == nil && (s.at == 0 || at.Sub(s.last) > lossTogether) {
		*s = loss{what: Emptied, at: at, last: at, held: counting(keys, at)}
		s.all = len(s.held)
	}
	if restarted {
		s.what, s.unread = Restarted, counting(keys, at)
	}
	lost := s.lost
	for _, name := range left {
		if s.held[name] {
			delete(s.held, name)
			s.lost, s.last = s.lost+1, at
		}
	}
	if s.what == Emptied && s.lost > max(lost, fewKeys) && 2*s.lost >= s.all {
		return s.alert(s.all)
	}
	return nil
}

// alert tells of the loss among so many limits.
func (s *loss) alert(of int) *Alert {
	return &Alert{At: s.at, What: s.what, N: int64(s.lost), Of: int64(of)}
}

// Forgotten returns how many limits were lost lately, and how many there were. Fewer than half are none: their owner deleted them.
func (b *Board) Forgotten(now limiter.Instant) (n, of int) {
	s := &b.loss
	if 2*s.lost < s.all || now.Sub(s.at) > lossLasts {
		return 0, s.all
	}
	return s.lost, s.all
}

// restarted returns an alert of a restart once all limits are read, or some of them after restartPatience: it
// is about those that were read. Else it returns nil.
func (s *loss) restarted(batch *Batch, now limiter.Instant) *Alert {
	if s.unread == nil {
		return nil
	}
	for i := range batch.Readings {
		if r := &batch.Readings[i]; r.Err == "" && !r.Partial {
			delete(s.unread, r.Key)
		}
	}
	for _, name := range batch.Gone {
		delete(s.unread, name)
	}
	read := s.all - len(s.unread)
	if len(s.unread) > 0 && (read == 0 || now.Sub(s.at) < restartPatience) {
		return nil
	}
	s.unread = nil
	return s.alert(read)
}
