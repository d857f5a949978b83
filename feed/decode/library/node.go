package library

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

func bullMQ(s *decode.Sample, c decode.Context) *decode.Match {
	queue, ok := strings.CutSuffix(s.Key, ":limiter")
	if !ok || strings.Count(queue, ":") < 1 || !form.IsCounter(s) {
		return nil
	}
	m := counted(s, false, "", "named bull:<queue>:limiter")
	meta := form.Hash(queue+":meta", "max", "duration")
	m.Limiter = &form.Beside{Of: m.Limiter, Keys: func(limiter.Instant) []decode.Fetch { return meta }, Take: takeQueue}
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
	return queueOf(counted(s, false, queue+":limiter:", "named bull:<queue>:limiter:<group>"), queue, c)
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

func ratelimitJS(s *decode.Sample, c decode.Context) *decode.Match {
	if !c.Named && !strings.HasPrefix(s.Key, "ratelimit:") || s.TTL <= 0 {
		return nil
	}
	r := &form.Reader{
		Keys: []decode.Fetch{{Key: s.Key, Type: "hash", Pairs: mostPairs}}, Settings: decode.Settings{Algorithm: limiter.SlidingLog},
		Holds: "counts of one rule of ratelimit.js",
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) (ok bool) {
			d.State.Log, d.Window, ok = readBlocks(&got[0], now)
			return ok && got[0].TTL <= d.Window
		},
	}
	return r.MatchWhole(c, decode.Match{Prefix: form.PrefixOf(s.Key),
		Why: []string{"named ratelimit:<id>", "a hash of counts by interval, precision and block, and of their sum"}})
}

// readBlocks returns the requests of each block at its start, oldest first, and the interval.
func readBlocks(s *decode.Sample, now limiter.Instant) (log []limiter.Entry, interval time.Duration, ok bool) {
	var rule string
	var precision, total, sum int64
	for field := range s.Fields {
		parts := strings.Split(field, ":")
		if len(parts) != 3 || rule != "" && rule != parts[0]+":"+parts[1] {
			return nil, 0, false
		}
		seconds, timed := form.Count(parts[0])
		p, precise := form.Count(parts[1])
		if !timed || !precise || seconds <= 0 || p <= 0 || p > seconds || seconds > int64(limiter.MaxWindow/time.Second) {
			return nil, 0, false
		}
		rule, precision, interval = parts[0]+":"+parts[1], p, time.Duration(seconds)*time.Second
	}
	if rule == "" || !s.Whole {
		return nil, 0, false
	}
	for field, value := range s.Fields {
		n, counted := form.Count(value)
		block := strings.TrimPrefix(field, rule+":")
		switch number, numbered := form.Count(block); {
		case !counted:
			return nil, 0, false
		case block == "":
			total = n
		case block == "o":
		case !numbered || decode.UnitOf(float64(number)*float64(precision), now) != time.Second:
			return nil, 0, false
		default:
			sum += n
			log = append(log, limiter.Entry{At: limiter.Instant(number * precision * 1e6), Count: n})
		}
	}
	slices.SortFunc(log, func(a, b limiter.Entry) int { return cmp.Compare(a.At, b.At) })
	return log, interval, sum == total && sum >= 0 && s.Fields[rule+":o"] != ""
}

// ossRatelimit recognizes the three kinds of oss-ratelimit. What its analytics keep limits nothing.
func ossRatelimit(s *decode.Sample, c decode.Context) *decode.Match {
	id, ok := strings.CutPrefix(s.Key, ossPrefix)
	base, last, numbered := form.LastPart(s.Key, ':')
	if !c.Named && (!ok || id == "") || s.TTL <= 0 || last == "analytics" {
		return nil
	}
	switch s.Type {
	case "hash": // a state of libraries.yaml
		return nil
	case "zset":
		lives, ok := form.Newest(s, c.Now, time.Millisecond)
		if !ok || !form.BothEnds(s, func(e decode.Element) bool { return strings.HasPrefix(e.Member, decode.Score(e.Score)+":0.") }) {
			return nil
		}
		m := form.Logged(lives/2, convention.Free, ossPrefix, "named open-ratelimit:<id>", "a sorted set of <ms>:<fraction>")
		if !slices.Contains(decode.Periods[:], m.Window) { // a denied request set the expiry as well
			m.Window = 0
		}
		return m
	}
	index, ok := form.Count(last)
	w, _, fits := form.WindowOfIndex(index, c.Now)
	if !numbered || !ok || !fits || !form.IsCounter(s) || s.TTL > w {
		return nil
	}
	x := aligned(limiter.FixedWindow, w, form.Numbered(base+":", w, ""))
	x.Charged = true
	return x.Match(base, ossPrefix, "named open-ratelimit:<id>:<index of a window>", "an integer that expires within the window's length")
}

const ossPrefix = "open-ratelimit:"
