package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// bullMQ recognizes the keys of bullmq.
func bullMQ(s *decode.Sample, c decode.Context) *decode.Match {
	queue, ok := strings.CutSuffix(s.Key, ":limiter")
	if !ok || strings.Count(queue, ":") < 1 || !form.IsCounter(s) {
		return nil
	}
	q := &jobQueue{counter: form.Counter{Key: s.Key}, meta: queue + ":meta"}
	m := form.Counted(&q.counter, s, "", "named bull:<queue>:limiter")
	if m.Limiter = q; s.Text == blockedQueue {
		m.Span = 0
	}
	return queueOf(m, queue, c)
}

const bullPrefix = "bull:"

// queueOf returns m, a limiter of a queue, which under another prefix than bull holds only beside keys
// that such a queue has.
func queueOf(m *decode.Match, queue string, c decode.Context) *decode.Match {
	if c.Named || strings.HasPrefix(queue, bullPrefix) {
		return m
	}
	m.Why[0] = strings.Replace(m.Why[0], bullPrefix, "<prefix>:", 1)
	m.Why = append(m.Why, "beside it are other keys of a queue: <prefix>:<queue>:meta, or :id and :completed")
	m.Siblings = []decode.Fetch{
		{Key: queue + ":meta", Type: "hash", Fields: []string{"version"}},
		{Key: queue + ":id", Type: "string"}, {Key: queue + ":completed", Type: "zset"}, {Key: queue + ":stalled-check", Type: "string"},
	}
	m.Confirm = func(got []decode.Sample) bool {
		if strings.HasPrefix(got[0].Fields["version"], "bullmq") {
			return true
		}
		_, numbered := form.Count(got[1].Text)
		return numbered && got[1].TTL == model.Forever && (got[2].Exists() || got[3].Exists())
	}
	return m
}

// bull recognizes the keys of bull.
func bull(s *decode.Sample, c decode.Context) *decode.Match {
	queue, group, ok := strings.Cut(s.Key, ":limiter:")
	if !ok || group == "" || strings.Count(queue, ":") < 1 || !form.IsCounter(s) {
		return nil
	}
	return queueOf(form.Counted(&form.Counter{Key: s.Key}, s, queue+":limiter:", "named bull:<queue>:limiter:<group>"), queue, c)
}

// blockedQueue is the count that worker.rateLimit writes.
const blockedQueue = "9007199254740991"

// jobQueue is the limiter of a queue of jobs, and the hash of what holds for all its workers.
type jobQueue struct {
	counter form.Counter
	meta    string
}

// Fetch reads the counter and the global limit.
func (q *jobQueue) Fetch(now limiter.Instant) []decode.Fetch {
	return append(q.counter.Fetch(now), decode.Fetch{Key: q.meta, Type: "hash", Fields: []string{"max", "duration"}})
}

// Decode counts the jobs of the window.
func (q *jobQueue) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	most, limited := form.Count(got[1].Fields["max"])
	millis, timed := form.Count(got[1].Fields["duration"])
	global := limited && timed && most > 0 && most <= limiter.MaxCount && millis > 0 && millis <= limiter.MaxWindow.Milliseconds()
	if global {
		q.counter.Limit, q.counter.From, q.counter.Window = most, model.LimitOfSibling, form.Milliseconds(millis)
	} else {
		q.counter.Limit, q.counter.From, q.counter.Window = 0, model.NoLimit, 0
	}
	d := q.counter.Decode(now, got, given)
	if global && got[0].Exists() {
		d.Members = form.Members(got)
	}
	if got[0].Text == blockedQueue {
		d.State.Current, d.Partial, d.Span = 0, true, 0
		d.State.BlockedUntil = form.Expiry(now, got[0].TTL)
	}
	return d
}
