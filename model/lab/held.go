package lab

import (
	"fmt"
	"slices"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/layout"
)

// held returns the commands that make a server hold what it holds for candidate c before a moment.
func held(c Candidate, m Moment, s Setup) (list [][]string) {
	run := func(words ...any) {
		text := make([]string, len(words))
		for i, word := range words {
			text[i] = fmt.Sprint(word)
		}
		list = append(list, text)
	}
	state, stored := m.Before, m.Stored
	given := c.Fault == ClientClock // expiries wait then, for the instant may be any
	keep := func(name string, gone limiter.Instant) {
		if given {
			gone = gone.Add(slack)
		}
		run("PEXPIREAT", name, gone.Millis()-1)
	}
	for _, k := range stored.Counters {
		count, gone := state.Previous, k.Expires
		if k.Start == state.Start {
			count = state.Current
		}
		name := counterName(c, s.Limit, s.Convention, k.Start)
		if name == key { // the window that begins with the first request ends when its key has gone
			gone = gone.Add(edgeOf(c.Convention(s.Convention)) - time.Millisecond)
		}
		if given || m.Arrival.At < gone {
			run("SET", name, count)
			keep(name, gone)
			if name == key && given {
				run("SET", layout.EndsKey(key), int64(gone))
			}
		}
	}
	if stored.Expires == 0 || !given && m.Arrival.At >= stored.Expires {
		return list
	}
	switch c.Algorithm.Kind() {
	case limiter.KindLog:
		if c.Algorithm == limiter.StreamCounter {
			total := m.Total
			for _, e := range state.Log {
				total -= e.Count
			}
			for _, e := range state.Log {
				total += e.Count
				run("XADD", key, streamID(e.At, total), "count", e.Count, "total", total)
			}
			break
		}
		run(append([]any{"ZADD", key}, members(c, m, reach(c, s.Limit))...)...)
	case limiter.KindArrival:
		run("SET", key, instantText(state.TAT, state.Part, state.Parts, s.Limit.Window))
	case limiter.KindBucket:
		run("HSET", key, levelField(c.Algorithm), Number(state.Level), "at", instantText(state.Filled, state.Part, state.Parts, s.Limit.Window))
	}
	keep(key, stored.Expires)
	return list
}

// slack is how much longer keys live under a script that is given the time.
const slack = time.Hour

// streamID is the id of an entry: its millisecond, and its microsecond plus one before the
// running total.
func streamID(at limiter.Instant, total int64) string {
	return fmt.Sprintf("%d-%d%015d", at.Millis(), int64(at)%1000+1, total)
}

// members returns the scores and the members of a sorted set. Those that no longer count come before all others, each at
// an instant of its own.
func members(c Candidate, m Moment, window time.Duration) (list []any) {
	at, left := map[limiter.Instant]int64{}, m.Stored.Units
	first := m.Arrival.At.Add(-window - time.Millisecond)
	for _, e := range slices.Backward(m.Before.Log) {
		first = min(first, e.At)
		for range min(e.Count, left) {
			left--
			at[e.At]++
			score, member := int64(e.At), fmt.Sprint(int64(e.At))
			switch {
			case c.Fault == CollidingMembers:
				score, member = e.At.Millis(), fmt.Sprint(e.At.Millis())
			case c.Fault == SecondsAsMillis:
				score /= 1_000_000
			case at[e.At] > 1 || m.Arrival.Cost != 1:
				member += fmt.Sprintf("-%d", at[e.At])
			}
			list = append(list, score, member)
		}
	}
	for range left {
		first--
		list = append(list, int64(first), int64(first))
	}
	return list
}
