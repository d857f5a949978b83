// Package layout says how a limiter's state is written on Redis: the names of its keys, the
// units of its scores and names. A program that shows or
// repairs limiters needs it; one that only limits does not.
package layout

import (
	"math"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// Layout describes how a key's data is written where another program keeps it, so that a
// request fired at that key looks like that program's own. The zero Layout is this
// library's own way.
type Layout struct {
	// Unit is that of ZSET scores, and of the window start in counter names: time.Second,
	// time.Millisecond or time.Microsecond. 0 is the library's own.
	Unit time.Duration
	// Suffixed counters are named key:<window start in Unit> instead of {key}:fw:<ms>.
	Suffixed bool
	// NoTotals streams hold entries with a field count but no running total.
	NoTotals bool
	// PerUnit streams hold an entry with the count 1 for each unit of cost, and no running
	// totals, so that their length is what is used. That costs a server a third less than
	// the library's own way, for limits of at most 10,000 and costs of at most 1,000.
	// Nothing else may write the stream. A peek reads the entries that have left the window
	// since the last decision.
	PerUnit bool
}

const (
	fixedSuffix   = ":fw:"
	slidingSuffix = ":sw:"
	deniedSuffix  = ":denied"
	blockedSuffix = ":blocked"
	endsSuffix    = ":ends"
	scratchSuffix = ":scratch"
)

// DeniedKey returns the stream that holds the recorded denials of a key: entries with
// the fields count and total, a running total, so that a reader gets an exact number
// even when entries were trimmed between two readings.
func DeniedKey(key string) string { return derived(key, deniedSuffix) }

// BlockedKey returns the string that holds until when a key is blocked, in
// microseconds since the epoch. It exists as long as the block lasts.
func BlockedKey(key string) string { return derived(key, blockedSuffix) }

// EndsKey returns the string that holds when a window that began with its first request
// ends, in microseconds since the epoch. It exists only where the limiter is given a clock.
func EndsKey(key string) string { return derived(key, endsSuffix) }

// ScratchKey returns the key of a copy of a limiter, for trying out what would change it. It is in
// the slot of the key.
func ScratchKey(key string) string { return derived(key, scratchSuffix) }

// IsScratch reports whether a key is that of a copy, as ScratchKey names it.
func IsScratch(key string) bool {
	base, copied := strings.CutSuffix(key, scratchSuffix)
	_, own := keyOf(base)
	return copied && own
}

// Keys returns the Redis keys that a decision of the algorithm at the instant now
// reads or writes, without those of denials and blocks: for the sliding window the
// current counter and then the previous one.
func Keys(a limiter.Algorithm, key string, limit limiter.Limit, l Layout, now limiter.Instant) []string {
	start := now.Floor(limit.Window)
	switch a {
	case limiter.FixedWindow:
		return []string{Counter(a, key, l, start)}
	case limiter.SlidingWindow:
		return []string{Counter(a, key, l, start), Counter(a, key, l, start.Add(-limit.Window))}
	}
	return []string{key}
}

// CounterPrefix returns the name of a counter up to the window's start.
func CounterPrefix(a limiter.Algorithm, key string, l Layout) string {
	switch {
	case l.Suffixed:
		return key + ":"
	case a == limiter.SlidingWindow:
		return derived(key, slidingSuffix)
	}
	return derived(key, fixedSuffix)
}

// Counter returns the name of the counter of the window that begins at start.
func Counter(a limiter.Algorithm, key string, l Layout, start limiter.Instant) string {
	unit := limiter.Instant(l.CounterUnit() / time.Microsecond)
	return CounterPrefix(a, key, l) + strconv.FormatInt(int64(start.Floor(l.CounterUnit())/unit), 10)
}

// CounterUnit returns the length of time that one step in the name of a counter means.
func (l Layout) CounterUnit() time.Duration {
	if l.Unit >= time.Microsecond {
		return l.Unit
	}
	return time.Millisecond
}

// ParseKey reads the name of a counter that this library keeps, {key}:fw:<ms> or
// {key}:sw:<ms>: the limiter's key, its algorithm and the start of the window.
func ParseKey(redisKey string) (key string, a limiter.Algorithm, start limiter.Instant, ok bool) {
	cut := strings.LastIndexByte(redisKey, ':')
	if cut < 3 {
		return "", limiter.Unknown, 0, false
	}
	switch redisKey[cut-3 : cut+1] {
	case fixedSuffix:
		a = limiter.FixedWindow
	case slidingSuffix:
		a = limiter.SlidingWindow
	default:
		return "", limiter.Unknown, 0, false
	}
	digits := redisKey[cut+1:]
	ms, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || ms > math.MaxInt64/1000 || ms < math.MinInt64/1000 || strconv.FormatInt(ms, 10) != digits {
		return "", limiter.Unknown, 0, false
	}
	key, ok = keyOf(redisKey[:cut-3])
	if !ok {
		return "", limiter.Unknown, 0, false
	}
	return key, a, limiter.Instant(ms * 1000), true
}
