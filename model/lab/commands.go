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

// Commands lists what the script of a step runs on the server, in the form in which
// redis-cli takes it. A comment says what comes of it.
func Commands(c Contender, m Moment, s Setup) []string {
	e := newExplainer(c, m, s)
	names := limiter.Keys(c.Algorithm, key, e.limit, limiter.Layout{}, e.at)
	ms := func(d time.Duration) int64 { return int64(math.Ceil(float64(d) / float64(time.Millisecond))) }
	w, n := e.limit.Window, m.Arrival.Cost
	var look, charge []string
	switch c.Algorithm {
	case limiter.FixedWindow:
		look = []string{fmt.Sprintf("GET %s", names[0]), note("%d", e.look.Current)}
		charge = []string{fmt.Sprintf("INCRBY %s %d", names[0], n), fmt.Sprintf("PEXPIRE %s %d", names[0], ms(e.look.End.Sub(e.at)))}
	case limiter.SlidingWindow:
		look = []string{"MGET " + strings.Join(names, " "), note("%d, %d", e.look.Current, e.look.Previous)}
		charge = []string{fmt.Sprintf("INCRBY %s %d", names[0], n), fmt.Sprintf("PEXPIRE %s %d", names[0], ms(2*w))}
	case limiter.SlidingLog:
		low := int64(e.at.Add(-w))
		bound := "(" + strconv.FormatInt(low, 10)
		if e.terms.Edge == limiter.Closed {
			bound = bound[1:]
		}
		look = []string{fmt.Sprintf("ZCOUNT %s %s +inf", key, bound), note("%d", e.look.Used)}
		charge = []string{e.zadd(n), fmt.Sprintf("PEXPIRE %s %d", key, ms(w))}
	case limiter.StreamCounter:
		from := e.at.Add(-w).Millis()
		look = []string{fmt.Sprintf("XREVRANGE %s + - COUNT 1", key), fmt.Sprintf("XRANGE %s %d + COUNT 1", key, from), note("used %d", e.look.Used)}
		charge = []string{
			fmt.Sprintf("XADD %s MINID ~ %d %d-* count %d total T+%d", key, from, e.at.Millis(), n, n),
			fmt.Sprintf("PEXPIRE %s %d", key, ms(w)),
		}
	case limiter.GCRA:
		look = []string{"GET " + key, note("TAT %d", m.Before.TAT)}
		charge = []string{fmt.Sprintf("SET %s %d PX %d", key, m.After.TAT, ms(m.After.TAT.Sub(e.at)))}
	case limiter.TokenBucket, limiter.LeakyBucket:
		field := "tokens"
		if c.Algorithm == limiter.LeakyBucket {
			field = "level"
		}
		look = []string{fmt.Sprintf("HMGET %s %s at", key, field), note("%s, %d", Number(m.Before.Level), m.Before.Filled)}
		charge = []string{
			fmt.Sprintf("HSET %s %s %s at %d", key, field, Number(m.After.Level), m.After.Filled),
			fmt.Sprintf("PEXPIRE %s %d", key, ms(m.Decision.ResetAfter)),
		}
	}
	if m.Decision.Allowed || e.terms.Denied == limiter.Charged && m.Decision.RetryAfter != limiter.Never {
		return append(look, charge...)
	}
	return append(look, note("denied: nothing is written"))
}

func note(format string, args ...any) string { return "# " + fmt.Sprintf(format, args...) }

// zadd is how the log records a request; with its fault, where it has one.
func (e *explainer) zadd(n int64) string {
	us := int64(e.at)
	switch e.c.Fault {
	case CollidingMembers:
		return fmt.Sprintf("ZADD %s %d %d", key, e.at.Millis(), e.at.Millis())
	case SecondsAsMillis:
		return fmt.Sprintf("ZADD %s %d %d", key, us/1_000_000, us)
	}
	words := []string{"ZADD", key, "NX", strconv.FormatInt(us, 10), strconv.FormatInt(us, 10)}
	for i := int64(1); i < n; i++ {
		if i == 4 {
			return strings.Join(append(words, "…"), " ")
		}
		words = append(words, strconv.FormatInt(us, 10), fmt.Sprintf("%d-%d", us, i))
	}
	return strings.Join(words, " ")
}

// Script returns the whole command of a step, EVAL with the script's text, so that it can
// be tried on a server. A fault has no script here, and not every variant is one that
// Redis can keep: then it says so.
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
	words[1] = "'" + strings.ReplaceAll(words[1], "'", `"`) + "'"
	return strings.Join(words, " "), nil
}
