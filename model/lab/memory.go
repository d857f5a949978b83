package lab

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/layout"
)

// Bytes returns what the keys of a candidate take on a server at an instant, as MEMORY
// USAGE tells it of Redis 7 on a 64-bit machine with jemalloc: exactly for values in one
// piece, within a tenth for skiplists, and within a quarter for streams of more than one
// node, whose ids are packed by what they have in common. Requests are taken to come at
// microseconds of their own, as they do on a server. 0 where there is no key.
func (s Stored) Bytes(c Candidate, state limiter.State, now limiter.Instant, setup Setup) int64 {
	var counters int64
	for _, k := range s.Counters {
		if now < k.Expires {
			counters += keyBytes(counterName(c, setup.Limit, setup.Convention, k.Start))
		}
	}
	if bytes := keptBy[c.Algorithm].bytes; bytes != nil && now < s.Expires {
		return bytes(s, c, state, setup.Limit.Window)
	}
	return counters
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
func zsetBytes(s Stored, c Candidate, state limiter.State, _ time.Duration) int64 {
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
func streamBytes(s Stored, _ Candidate, _ limiter.State, _ time.Duration) int64 {
	switch nodes := len(s.Nodes); nodes {
	case 0:
		return 0
	case 1:
		return 4728
	default:
		return 5100 + 2650*int64(nodes-1)
	}
}

// arrivalBytes is the string of GCRA.
func arrivalBytes(_ Stored, _ Candidate, state limiter.State, window time.Duration) int64 {
	return stringBytes(key, instantText(state.TAT, state.Part, state.Parts, window))
}

// bucketBytes is the hash of a bucket.
func bucketBytes(_ Stored, _ Candidate, state limiter.State, window time.Duration) int64 {
	field := levelField(state.Algorithm)
	return listpackBytes(packed(field) + packed(Number(state.Level)) + packed("at") + packed(instantText(state.Filled, state.Part, state.Parts, window)))
}

// levelField is the field of a bucket's hash that holds what is in it.
func levelField(a limiter.Algorithm) string {
	if a.Fills() {
		return "level"
	}
	return "tokens"
}

// counterName is the name of the counter of the window that begins at an instant.
func counterName(c Candidate, limit limiter.Limit, all limiter.Convention, start limiter.Instant) string {
	if c.Algorithm == limiter.FixedWindow && c.Convention(all).Alignment == limiter.AlignFirstRequest {
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
	if terms.Refill == limiter.RefillInterval && c.Algorithm == limiter.TokenBucket {
		steps = math.Ceil(steps/float64(l.Count)) * float64(l.Count)
	}
	return int64(steps*float64(l.Window/time.Microsecond)/float64(max(l.Count, 1))/1000) + 1
}
