package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// key is what the lab's limiter would be called on a server.
const key = "rl:lab"

// Footprint is what a key of a contender takes on a server: bytes for a state, and how
// many commands its script runs for an admitted request. The bytes are measured means of
// Redis 7 with jemalloc, of keys with short names.
func Footprint(c Contender, state limiter.State) (bytes int64, commands int) {
	const counter, hash, zset, entry, stream, node = 72, 120, 80, 118, 600, 21
	units := int64(0)
	for _, e := range state.Log {
		units += e.Count
	}
	switch c.Algorithm {
	case limiter.FixedWindow:
		return counter, 3
	case limiter.SlidingWindow:
		return 2 * counter, 3
	case limiter.SlidingLog:
		return zset + entry*units, 3
	case limiter.StreamCounter:
		return stream + node*int64(len(state.Log)), 4
	case limiter.GCRA:
		return counter, 2
	case limiter.TokenBucket, limiter.LeakyBucket:
		return hash, 3
	}
	return 0, 0
}

// Commands lists what decides a step on a server: what its script reads, and what it
// writes, word for word and in this order. A line that begins with # says what comes of
// the one above. What a script does besides is left out: trimming what is too old,
// looking for a window that is later than now, and finding out when a slot frees.
func Commands(c Contender, m Moment, s Setup) []string {
	e := newExplainer(c, m, s)
	if c.Algorithm == limiter.SlidingWindow && e.terms.Alignment == limiter.FirstRequest {
		return []string{"# windows from the first request on lie apart: no server keeps them, only memory"}
	}
	w := wording{explainer: e, n: m.Arrival.Cost}
	switch c.Algorithm {
	case limiter.FixedWindow:
		w.fixed()
	case limiter.SlidingWindow:
		w.sliding()
	case limiter.SlidingLog:
		w.log()
	case limiter.StreamCounter:
		w.stream()
	case limiter.GCRA:
		w.gcra()
	case limiter.TokenBucket, limiter.LeakyBucket:
		w.bucket()
	}
	switch {
	case e.bursts() && s.Limit.Count == 0:
		return []string{"# limit 0: there is nothing to read or to write"}
	case m.Decision.Allowed, charged(m.Decision, e.terms) && !e.bursts():
		return append(w.reads, w.writes...)
	}
	return append(w.reads, "# denied: nothing is written")
}

// wording puts a decision into commands: those that read, each with its answer, and those
// that charge.
type wording struct {
	explainer
	n             int64
	reads, writes []string
}

func (w *wording) read(command, answer string, args ...any) {
	w.reads = append(w.reads, command, "# "+fmt.Sprintf(answer, args...))
}

func (w *wording) write(format string, args ...any) {
	w.writes = append(w.writes, fmt.Sprintf(format, args...))
}

// expire lets a key go after a time, which is rounded up to milliseconds.
func (w *wording) expire(name string, life time.Duration) {
	w.write("PEXPIRE %s %d", name, (life+time.Millisecond-1)/time.Millisecond)
}

// edge is what a closed edge adds to a life.
func (w *wording) edge() time.Duration {
	if w.terms.Edge == limiter.Closed {
		return time.Millisecond
	}
	return 0
}

// counter is the name of the counter of the window that holds an instant.
func (w *wording) counter(at limiter.Instant) string {
	return limiter.Keys(w.c.Algorithm, key, w.limit, limiter.Layout{}, at)[0]
}

func (w *wording) fixed() {
	name, life := w.counter(w.look.Start), w.look.End.Sub(w.at)
	if w.terms.Alignment == limiter.FirstRequest {
		// A key goes in the millisecond after its expiry.
		name, life = key, max((w.limit.Window+time.Millisecond-1).Truncate(time.Millisecond)-time.Millisecond+w.edge(), time.Millisecond)
	}
	if w.look.Current == 0 {
		w.read("GET "+name, "nothing: this is the first one of its window")
		w.write("INCRBY %s %d", name, w.n)
		w.expire(name, life)
		return
	}
	w.read("GET "+name, "%d", w.look.Current)
	w.write("INCRBY %s %d", name, w.n)
}

func (w *wording) sliding() {
	start, size := w.look.Start, w.limit.Window
	name := w.counter(start)
	w.read(strings.Join([]string{"MGET", name, w.counter(start.Add(-size)), w.counter(start.Add(size))}, " "),
		"%d, %d: current and previous; there is none later", w.look.Current, w.look.Previous)
	w.write("INCRBY %s %d", name, w.n)
	if w.look.Current == 0 {
		w.expire(name, 2*size)
	}
}

// low is the first microsecond that counts.
func (w *wording) low() limiter.Instant {
	low := w.at.Add(-w.limit.Window)
	if w.terms.Edge == limiter.HalfOpen {
		low++
	}
	return low
}

func (w *wording) log() {
	after := "("
	if w.terms.Edge == limiter.Closed {
		after = ""
	}
	switch w.c.Fault {
	case CollidingMembers:
		w.read(fmt.Sprintf("ZCOUNT %s %s%d +inf", key, after, w.at.Add(-w.limit.Window).Millis()), "%d", w.look.Used)
		w.write("ZADD %s %d %d", key, w.at.Millis(), w.at.Millis())
	case SecondsAsMillis:
		seconds := int64(w.at) / 1_000_000
		w.read(fmt.Sprintf("ZCOUNT %s %s%d +inf", key, after, seconds-w.s.Limit.Window.Milliseconds()), "%d", w.look.Used)
		w.write("ZADD %s %d %d", key, seconds, int64(w.at))
	default:
		w.read(fmt.Sprintf("ZCOUNT %s %d +inf", key, w.low()), "%d", w.look.Used)
		w.members()
	}
	w.expire(key, w.limit.Window+w.edge())
}

// shownMembers is how many members of one ZADD are written out.
const shownMembers = 4

// members adds one member a unit: the microsecond, and a number behind it where that is
// not enough to tell them apart.
func (w *wording) members() {
	var have int64 // of this very microsecond
	for _, entry := range w.m.Before.Log {
		if entry.At == w.at {
			have += entry.Count
		}
	}
	if w.n == 1 {
		w.write("ZADD %s NX %d %d", key, w.at, w.at)
		if have == 0 {
			return
		}
		w.writes = append(w.writes, "# 0: it is a member already")
	}
	w.write("ZCOUNT %s %d %d", key, w.at, w.at)
	w.writes = append(w.writes, fmt.Sprintf("# %d", have))
	command := fmt.Sprintf("ZADD %s NX", key)
	for i := int64(1); i <= min(w.n, shownMembers); i++ {
		command += fmt.Sprintf(" %d %d-%d", w.at, w.at, have+i)
	}
	if w.n > shownMembers {
		command += " …"
	}
	w.writes = append(w.writes, command)
}

func (w *wording) stream() {
	// An id holds the microsecond, plus one, before the running total.
	const id = "%d-%d%015d"
	total := w.m.Total
	if w.look.Used == 0 {
		total = 0
		w.read(fmt.Sprintf("XREVRANGE %s + (0 COUNT 1", key), "nothing that counts: used 0")
	} else {
		low := w.low()
		w.reads = append(w.reads, fmt.Sprintf("XREVRANGE %s + (0 COUNT 1", key))
		w.read(fmt.Sprintf("XRANGE %s "+id+" + COUNT 1", key, low.Millis(), low%1000+1, 0), "total %d, and at the window's start %d: used %d", total, total-w.look.Used, w.look.Used)
	}
	total += w.n
	w.write("XADD %s "+id+" count %d total %d", key, w.at.Millis(), w.at%1000+1, total, w.n, total)
	w.expire(key, w.limit.Window+w.edge())
}

// moment writes an instant that may be a fraction of a microsecond late.
func (w *wording) moment(at limiter.Instant, part, parts int64) string {
	if part == 0 {
		return strconv.FormatInt(int64(at), 10)
	}
	a, b := parts, int64(w.limit.Window/time.Microsecond)
	for b != 0 {
		a, b = b, a%b
	}
	return fmt.Sprintf("%d:%d:%d", at, part/a, parts/a)
}

// whole is the life of a key from which a whole burst was taken, in milliseconds.
func (w *wording) whole() int64 {
	steps := float64(w.burst())
	if w.terms.Refill == limiter.Interval && w.c.Algorithm == limiter.TokenBucket {
		steps = math.Ceil(steps/float64(w.limit.Count)) * float64(w.limit.Count)
	}
	return int64(steps*float64(w.limit.Window/time.Microsecond)/float64(max(w.limit.Count, 1))/1000) + 1
}

func (w *wording) gcra() {
	kept := "nothing is kept"
	if w.m.Before.TAT != 0 {
		kept = w.moment(w.m.Before.TAT, w.m.Before.Part, w.m.Before.Parts)
	}
	w.read("GET "+key, "%s", kept)
	w.write("SET %s %s PX %d", key, w.moment(w.m.After.TAT, w.m.After.Part, w.m.After.Parts), w.whole())
}

func (w *wording) bucket() {
	field, before, after := "tokens", w.m.Before, w.m.After
	if w.c.Algorithm == limiter.LeakyBucket {
		field = "level"
	}
	kept := "nothing is kept"
	if before.Filled != 0 {
		kept = Number(before.Level) + ", " + w.moment(before.Filled, before.Part, before.Parts)
	}
	w.read(fmt.Sprintf("HMGET %s %s at", key, field), "%s", kept)
	w.write("HSET %s %s %s at %s", key, field, Number(after.Level), w.moment(after.Filled, after.Part, after.Parts))
	ahead := max(after.Filled.Sub(w.at), 0) // after a clock that jumped back
	w.write("PEXPIRE %s %d", key, w.whole()+int64((ahead+time.Millisecond-1)/time.Millisecond))
}

// Script returns the whole command of a step, EVAL with the script's text, quoted so that
// it can be pasted into a shell behind the word redis-cli. A fault has no script here, and
// not every variant is one that Redis can keep: then it says so.
func Script(c Contender, m Moment, s Setup) (string, error) {
	if c.Fault == CollidingMembers || c.Fault == SecondsAsMillis {
		return "", fmt.Errorf("%s is a fault: no script of this program has it", faultNames[c.Fault])
	}
	e := newExplainer(c, m, s)
	words, err := limiter.Call(c.Algorithm, key, s.Limit, m.Arrival.Cost,
		limiter.WithConvention(e.terms), limiter.WithClock(func() limiter.Instant { return e.at }))
	if err != nil {
		return "", err
	}
	words[1] = strings.ReplaceAll(words[1], "'", `"`) // Lua takes either, a shell less kindly
	for i, word := range words {
		if strings.Trim(word, plain) != "" {
			words[i] = "'" + word + "'"
		}
	}
	return strings.Join(words, " "), nil
}

// plain is what a shell takes as it stands.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:"
