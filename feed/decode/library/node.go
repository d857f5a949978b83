package library

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

func bullMQ(s *decode.Sample, c decode.Context) *decode.Match {
	queue, ok := strings.CutSuffix(s.Key, ":limiter")
	if !ok || strings.Count(queue, ":") < 1 || !form.IsCounter(s) {
		return nil
	}
	counter := &form.Counter{Key: s.Key}
	m := form.Counted(counter, s, "", "named bull:<queue>:limiter")
	meta := form.Hash(queue+":meta", "max", "duration")
	m.Limiter = &form.Beside{Of: counter, Keys: func(limiter.Instant) []decode.Fetch { return meta }, Take: takeQueue}
	if s.Text == blockedQueue {
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

func bull(s *decode.Sample, c decode.Context) *decode.Match {
	queue, group, ok := strings.Cut(s.Key, ":limiter:")
	if !ok || group == "" || strings.Count(queue, ":") < 1 || !form.IsCounter(s) {
		return nil
	}
	return queueOf(form.Counted(&form.Counter{Key: s.Key}, s, queue+":limiter:", "named bull:<queue>:limiter:<group>"), queue, c)
}

// blockedQueue is the count that worker.rateLimit writes.
const blockedQueue = "9007199254740991"

// takeQueue takes what holds for all workers of a queue of jobs.
func takeQueue(d *decode.Decoded, now limiter.Instant, own, beside []decode.Sample, _ decode.Settings) {
	most, limited := form.Count(beside[0].Fields["max"])
	millis, timed := form.Count(beside[0].Fields["duration"])
	if limited && timed && most > 0 && most <= limiter.MaxCount && millis > 0 && millis <= limiter.MaxWindow.Milliseconds() {
		d.Limit.Count, d.LimitFrom, d.Window, d.Guessed = most, model.LimitOfSibling, form.Milliseconds(millis), false
		if own[0].Exists() {
			d.Members = append(d.Members, beside[0].Key)
			form.Until(d, now, own[0].TTL, false)
		}
	}
	if own[0].Text == blockedQueue {
		d.State.Current, d.Partial, d.Span = 0, true, 0
		d.State.BlockedUntil = form.Expiry(now, own[0].TTL)
	}
}
