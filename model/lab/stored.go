package lab

import (
	"math/rand/v2"
	"slices"
	"time"

	"ratescope/limiter"
)

// Stored is what a server holds for a candidate. It is more than what counts: scripts trim
// a bounded number of entries now and then, and keys live until their expiry. The zero
// Stored is a server without the key.
type Stored struct {
	Units    int64     // members of a sorted set, those that no longer count included
	Grown    bool      // the set was too large for one piece of memory, which it is not put into again
	Nodes    []Node    // of a stream
	Counters []Counter // of a window algorithm, oldest first
	Expires  limiter.Instant
}

// Node is one node of a stream, which XTRIM drops as a whole.
type Node struct {
	Entries int
	Last    limiter.Instant
}

// Counter is the counter of the window that begins at Start.
type Counter struct{ Start, Expires limiter.Instant }

// What the scripts of package limiter trim: a log with every trimLogEvery-th unit at most
// trimLogMost units, a stream with every trimStreamEvery-th unit at most trimStreamMost
// entries. A server keeps nodeEntries entries in one node of a stream.
const (
	trimLogEvery    = 16
	trimLogMost     = 100
	trimStreamEvery = 64
	trimStreamMost  = 500
	trimStreamLeft  = 4096
	nodeEntries     = 100
)

func (s Stored) clone() Stored {
	s.Nodes, s.Counters = slices.Clone(s.Nodes), slices.Clone(s.Counters)
	return s
}

// Entries returns how many entries of a log or a stream there are, those included that no
// longer count.
func (s Stored) Entries() int64 {
	sum := s.Units
	for _, node := range s.Nodes {
		sum += int64(node.Entries)
	}
	return sum
}

// charge records a request that was admitted, or denied and charged.
func (s *Stored) charge(c Candidate, q charge) {
	if leave := keptBy[c.Algorithm].leave; leave != nil {
		leave(s, c, q)
	}
}

// trims reports whether a request of a cost trims a log, which the microsecond of its instant decides. A
// server's clock tells microseconds, so that an instant in whole milliseconds stands for any in that millisecond.
func trims(at limiter.Instant, cost int64) bool {
	if at%1000 == 0 {
		at += limiter.Instant(rand.NewPCG(uint64(at), 0).Uint64() % 1000)
	}
	return int64(at)%trimLogEvery < cost
}

// trimmed returns how many members of a sorted set go with a charge of n units that trims it, after which
// `used` units count.
func (s *Stored) trimmed(n, used int64) int64 {
	return max(min(s.Units-used, max(trimLogMost, 2*n)), 0)
}

// append puts one entry into a stream.
func (s *Stored) append(at limiter.Instant) {
	last := len(s.Nodes) - 1
	if last < 0 || s.Nodes[last].Entries == nodeEntries {
		s.Nodes = append(s.Nodes, Node{})
		last++
	}
	s.Nodes[last].Entries++
	s.Nodes[last].Last = at
}

// trimNodes drops whole nodes from before an instant's millisecond, at most so many
// entries, and returns how many went.
func (s *Stored) trimNodes(low limiter.Instant, most int) (dropped int) {
	for len(s.Nodes) > 0 && s.Nodes[0].Last.Millis() < low.Millis() && dropped+s.Nodes[0].Entries <= most {
		dropped += s.Nodes[0].Entries
		s.Nodes = slices.Delete(s.Nodes, 0, 1)
	}
	return dropped
}

// lowest is the first microsecond that counts at an instant.
func lowest(at limiter.Instant, w time.Duration, terms limiter.Convention) limiter.Instant {
	low := at.Add(-w)
	if terms.Edge == limiter.EdgeHalfOpen {
		low++
	}
	return low
}

// edgeOf is what a closed edge adds to the life of a key.
func edgeOf(terms limiter.Convention) time.Duration {
	if terms.Edge == limiter.EdgeClosed {
		return time.Millisecond
	}
	return 0
}

// gone returns the instant from which a server has dropped a key that was given a life,
// which is rounded up to milliseconds. A key goes in the millisecond after its expiry.
func gone(at limiter.Instant, life time.Duration) limiter.Instant {
	return (at - at%1000).Add((life + time.Millisecond - 1).Truncate(time.Millisecond) + time.Millisecond)
}
