package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/describe"
	"ratescope/limiter/layout"
	"ratescope/model/collect"
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
	nodeEntries     = 100
)

func (s Stored) clone() Stored {
	s.Nodes, s.Counters = slices.Clone(s.Nodes), slices.Clone(s.Counters)
	return s
}

// Entries returns how many entries of a log or a stream there are at an instant, those included that no
// longer count: none when the key has expired.
func (s Stored) Entries(at limiter.Instant) int64 {
	if at >= s.Expires {
		return 0
	}
	return s.Units + collect.Sum(s.Nodes, func(n Node) int64 { return int64(n.Entries) })
}

// trims reports whether a request of a cost trims a log, which the microsecond of its instant decides. A
// server's clock tells microseconds, so that an instant in whole milliseconds stands for any in that millisecond.
func trims(at limiter.Instant, cost int64) bool {
	if at%1000 == 0 {
		at += limiter.Instant(rand.NewPCG(uint64(at), 0).Uint64() % 1000)
	}
	return int64(at)%trimLogEvery < cost
}

// edgeOf is what a closed edge adds to the life of a key.
func edgeOf(terms limiter.Convention) time.Duration {
	return collect.If(terms.Edge == convention.Closed, time.Millisecond, 0)
}

// gone returns the instant from which a server has dropped a key that was given a life,
// which is rounded up to milliseconds. A key goes in the millisecond after its expiry.
func gone(at limiter.Instant, life time.Duration) limiter.Instant {
	return (at - at%1000).Add((life + time.Millisecond - 1).Truncate(time.Millisecond) + time.Millisecond)
}

// store records in what a server holds for the candidate arrival number i, which was charged by a decision.
func (l *runner) store(s *Stored, a Arrival, i int, d limiter.Decision, setup *Setup) {
	c, at, reach := l.candidate, clockOf(l.candidate, a.At, i, setup), l.candidate.Reach(setup.Limit)
	alone := d.Used <= a.Cost // nothing else is in a log
	switch describe.KindOf(c.Algorithm) {
	case describe.Window:
		if alone {
			s.Counters = append(s.Counters[:0], Counter{d.Start, gone(at, d.Start.Add(reach).Sub(at))})
		}
		return
	case describe.Weighted:
		if d.Current <= a.Cost {
			s.Counters = slices.DeleteFunc(slices.Clone(s.Counters), func(k Counter) bool { return k.Expires <= at })
			s.Counters = append(s.Counters, Counter{d.Start, gone(at, 2*reach)})
		}
		return
	case describe.Arrival, describe.Bucket: // until a whole burst has come back
		s.Expires = gone(at, time.Duration(rateLife(c, l.convention, setup.Limit))*time.Millisecond)
		return
	}
	s.Expires = gone(at, reach+edgeOf(l.convention))
	if c.Algorithm == limiter.StreamCounter {
		total := l.total
		if alone {
			s.Nodes, total = s.Nodes[:0], 0
		}
		if n := len(s.Nodes); n == 0 || s.Nodes[n-1].Entries == nodeEntries {
			s.Nodes = append(s.Nodes, Node{})
		}
		last := &s.Nodes[len(s.Nodes)-1]
		last.Entries, last.Last = last.Entries+1, at
		if (total+a.Cost)%trimStreamEvery < a.Cost { // whole nodes go, from before the first millisecond that counts
			low, left := at.Add(-reach), trimStreamMost
			if l.convention.Edge == convention.HalfOpen {
				low++
			}
			for len(s.Nodes) > 0 && s.Nodes[0].Last.Millis() < low.Millis() && s.Nodes[0].Entries <= left {
				left -= s.Nodes[0].Entries
				s.Nodes = slices.Delete(s.Nodes, 0, 1)
			}
		}
		return
	}
	if alone {
		s.Units, s.Grown = 0, false
	}
	s.Units += a.Cost
	s.Grown = s.Grown || s.Units > mostInListpack
	if c.Fault != CollidingMembers && c.Fault != SecondsAsMillis && trims(at, a.Cost) {
		s.Units -= max(min(s.Units-d.Used, max(trimLogMost, 2*a.Cost)), 0)
	}
}

// Bytes returns what the keys of a candidate take on a server at an instant, as MEMORY
// USAGE tells it of Redis 7 on a 64-bit machine with jemalloc: exactly for values in one
// piece, within a tenth for skiplists, and within a quarter for streams of more than one
// node, whose ids are packed by what they have in common. Requests are taken to come at
// microseconds of their own, as they do on a server. 0 where there is no key.
func (s Stored) Bytes(c Candidate, state limiter.State, now limiter.Instant, setup Setup) (bytes int64) {
	for _, k := range s.Counters {
		if now < k.Expires {
			bytes += keyBytes(counterName(key, c, setup.Limit, setup.Convention, k.Start))
		}
	}
	switch kind := describe.KindOf(c.Algorithm); {
	case now >= s.Expires: // as of counters, which have a key each
	case c.Algorithm == limiter.StreamCounter:
		bytes = s.streamBytes()
	case kind == describe.Log:
		bytes = s.zsetBytes(state)
	case kind == describe.Arrival:
		bytes = stringBytes(key, instantText(state.TAT, state.Part, state.Parts, setup.Limit.Window))
	case kind == describe.Bucket:
		bytes = listpackBytes(packed(LevelName(state.Algorithm)) + packed(Number(state.Level)) + packed("at") +
			packed(instantText(state.Filled, state.Part, state.Parts, setup.Limit.Window)))
	}
	return bytes
}

// sizeClass is the smallest piece of memory that jemalloc gives for n bytes.
func sizeClass(n int64) int64 {
	if n <= 8 {
		return 8
	}
	step := int64(16)
	for step*8 < n {
		step *= 2
	}
	return (n + step - 1) / step * step
}

// keyBytes is what a key takes whose value is a whole number: an entry of the dictionary,
// the name, and the object.
func keyBytes(name string) int64 { return 24 + sizeClass(int64(len(name))+2) + 16 }

// stringBytes is keyBytes for any short text: one that is no number lies behind its object.
func stringBytes(name, value string) int64 {
	if _, err := strconv.ParseInt(value, 10, 64); err == nil {
		return keyBytes(name)
	}
	return keyBytes(name) - 16 + sizeClass(int64(16+3+len(value)+1))
}

// listpackBytes is keyBytes for a value in one listpack with such entries.
func listpackBytes(entries int64) int64 { return keyBytes(key) + sizeClass(7+entries) }

// packed is what one value takes in a listpack: a header and the length behind it, and
// between them a number in as few bytes as hold it, or the text.
func packed(value string) int64 {
	v, err := strconv.ParseInt(value, 10, 64)
	fits := func(bits int) bool { return v >= -1<<(bits-1) && v < 1<<(bits-1) }
	switch {
	case err != nil:
		return int64(len(value)) + 2
	case v >= 0 && fits(8):
		return 2
	case fits(13):
		return 3
	case fits(16):
		return 4
	case fits(24):
		return 5
	case fits(32):
		return 6
	}
	return 10
}

// mostInListpack is how many members a sorted set keeps in one piece of memory.
const mostInListpack = 128

// zsetBytes is a sorted set of members that are microseconds, each with its score: numbers
// where every request has one member, else texts with a number behind a dash.
func (s Stored) zsetBytes(state limiter.State) int64 {
	units := s.Units
	if units == 0 {
		return 0
	}
	if !s.Grown {
		member := packed("1000000000000000")
		if len(state.Log) > 0 && state.Log[len(state.Log)-1].Count > 1 {
			member = packed("1000000000000000-1")
		}
		return listpackBytes(units * (packed("1000000000000000") + member))
	}
	// A node of the skiplist, its name and its entry in the dictionary take 109 bytes in
	// the mean, the heads of both 850, and a slot of the dictionary 8.
	slots := math.Exp2(math.Ceil(math.Log2(float64(units))))
	return 850 + 109*units + 8*int64(slots)
}

// streamBytes is a stream: the last one of its nodes has room for more.
func (s Stored) streamBytes() int64 {
	switch nodes := len(s.Nodes); nodes {
	case 0:
		return 0
	case 1:
		return 4728
	default:
		return 5100 + 2650*int64(nodes-1)
	}
}

// LevelName is what the level of a bucket is called, in its hash and on screen.
func LevelName(a limiter.Algorithm) string {
	return collect.If(a == limiter.LeakyBucket, "level", "tokens")
}

// counterName is the name of the counter of the window that begins at an instant.
func counterName(key string, c Candidate, limit limiter.Limit, all limiter.Convention, start limiter.Instant) string {
	if c.Algorithm == limiter.FixedWindow && c.Convention(all).Alignment == convention.FirstRequest {
		return key
	}
	return layout.Keys(c.Algorithm, key, limit, layout.Layout{}, start)[0]
}

// instantText writes an instant that may be part of parts of a microsecond late, as the
// scripts do.
func instantText(at limiter.Instant, part, parts int64, window time.Duration) string {
	if part == 0 {
		return strconv.FormatInt(int64(at), 10)
	}
	a, b := parts, int64(window/time.Microsecond)
	for b != 0 {
		a, b = b, a%b
	}
	return fmt.Sprintf("%d:%d:%d", at, part/a, parts/a)
}

// rateLife is how many milliseconds the key of a bucket or of GCRA lives: until a whole
// burst has come back.
func rateLife(c Candidate, terms limiter.Convention, l limiter.Limit) int64 {
	steps := float64(c.Room(l))
	if terms.Refill == convention.Interval && c.Algorithm == limiter.TokenBucket {
		steps = math.Ceil(steps/float64(l.Count)) * float64(l.Count)
	}
	return int64(steps*float64(l.Window/time.Microsecond)/float64(max(l.Count, 1))/1000) + 1
}
