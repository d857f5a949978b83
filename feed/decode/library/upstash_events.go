package library

import (
	"encoding/json"
	"strconv"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// upstashEvents follows what analytics record: a sorted set for each hour,
// <prefix>:events:<start of the hour in milliseconds>, whose members are the JSON of an identifier
// and what became of its requests, with their number as the score. Members with a place, as on
// Vercel, are not read.
type upstashEvents struct {
	hour    limiter.Instant
	on      bool            // analytics were seen
	asked   limiter.Instant // when it was looked for them
	waiting bool            // the samples hold them
	begun   limiter.Instant // of the counts
	total   int64           // denied in this hour
	steps   []eventStep     // within the last window, oldest first
}

type eventStep struct {
	at limiter.Instant
	n  int64
}

// upstashEventsEvery is how often to look whether analytics are on.
const upstashEventsEvery = 10 * time.Second

// fetch returns what to read: nothing while there are no analytics and it was looked for them lately.
func (e *upstashEvents) fetch(prefix, id string, now limiter.Instant) []decode.Fetch {
	name, err := json.Marshal(id)
	if e.waiting = err == nil && (e.on || e.asked == 0 || now.Sub(e.asked) >= upstashEventsEvery); !e.waiting {
		return nil
	}
	e.asked = now
	member := func(fate string) string { return `{"identifier":` + string(name) + `,"success":` + fate + `}` }
	return []decode.Fetch{{
		Key: upstashEventsKey(prefix, now), Type: "zset", Scores: []string{member("false"), member(`"denied"`)},
	}}
}

// upstashEventsKey returns the key of the hour that holds now.
func upstashEventsKey(prefix string, now limiter.Instant) string {
	return prefix + "events:" + strconv.FormatInt(now.Floor(time.Hour).Millis(), 10)
}

// take returns how many requests were denied in the last window, known once a whole one was watched
// or nothing was ever denied in it, and how many since the call before.
func (e *upstashEvents) take(now limiter.Instant, window time.Duration, got []decode.Sample) (denied model.Count, fresh int64) {
	if !e.waiting || len(got) == 0 {
		return model.Count{}, 0
	}
	if e.on = e.on || got[0].Exists(); !e.on {
		return model.Count{}, 0
	}
	total := int64(0)
	for _, n := range got[0].Scores {
		if n > 0 && n < 1<<53 {
			total += int64(n)
		}
	}
	hour := now.Floor(time.Hour)
	if e.begun == 0 {
		e.begun, e.hour, e.total = now, hour, total
		if total == 0 && now.Sub(hour) >= window { // the set of this hour says so
			e.begun = now.Add(-window)
		}
	}
	if hour != e.hour {
		e.hour, e.total = hour, 0
	}
	if fresh = max(total-e.total, 0); fresh > 0 {
		e.steps = append(e.steps, eventStep{now, fresh})
	}
	e.total = total
	for len(e.steps) > 0 && e.steps[0].at <= now.Add(-window) {
		e.steps = e.steps[1:]
	}
	for _, s := range e.steps {
		denied.N += s.n
	}
	denied.Known = window > 0 && now.Sub(e.begun) >= window
	return denied, fresh
}
