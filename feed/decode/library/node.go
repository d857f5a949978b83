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
	m.Siblings = []decode.Fetch{{Key: queue + ":meta", Type: "hash", Fields: []string{"version"}},
		{Key: queue + ":id", Type: "string"}, {Key: queue + ":completed", Type: "zset"}, {Key: queue + ":stalled-check", Type: "string"}}
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
	var total, sum int64
	for field, value := range s.Fields {
		parts := strings.Split(field, ":")
		n, counted := form.Count(value)
		if len(parts) != 3 || !counted || rule != "" && rule != parts[0]+":"+parts[1] {
			return nil, 0, false
		}
		seconds, _ := form.Count(parts[0])
		precision, _ := form.Count(parts[1])
		number, numbered := form.Count(parts[2])
		rule, interval = parts[0]+":"+parts[1], time.Duration(seconds)*time.Second
		switch {
		case precision <= 0 || precision > seconds || seconds > int64(limiter.MaxWindow/time.Second):
			return nil, 0, false
		case parts[2] == "":
			total = n
		case parts[2] == "o":
		case !numbered || decode.UnitOf(float64(number)*float64(precision), now) != time.Second:
			return nil, 0, false
		default:
			sum += n
			log = append(log, limiter.Entry{At: limiter.Instant(number * precision * 1e6), Count: n})
		}
	}
	slices.SortFunc(log, func(a, b limiter.Entry) int { return cmp.Compare(a.At, b.At) })
	return log, interval, s.Whole && sum == total && sum >= 0 && s.Fields[rule+":o"] != ""
}

// Counters of a window with another key beside them, or with the end of their window in their value.

func ginRateLimit(s *decode.Sample, c decode.Context) *decode.Match {
	base, ok := strings.CutSuffix(s.Key, "hits")
	if !ok {
		base, ok = strings.CutSuffix(s.Key, "ts")
	}
	client, _, _ := strings.Cut(base, "/")
	if _, numeric := form.Count(s.Text); !ok || !numeric || s.TTL <= 0 || !c.Named && !form.IsAddress(client) {
		return nil
	}
	r := &form.Reader{Keys: form.Texts(base+"hits", base+"ts"), Settings: form.FromFirst, Read: readGin(),
		Holds: "counter of gin-rate-limit that agrees with its twin"}
	return r.Match(s, c, decode.Match{Name: base + "hits", Suffix: base[len(client):] + "hits",
		Why: []string{"named <address of a client><path>hits", "its twin ts is two windows before their expiry"}})
}

// readGin returns a function that reads the requests and the start of their window, and its length: half of the time
// from the stamp, rounded down to a second, to the expiry. A request that reached the server in the second after its stamp
// leaves a second more, which alone tells no limiter.
func readGin() func(*decode.Decoded, limiter.Instant, []decode.Sample, decode.Settings) bool {
	told := false
	return func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
		hits, ok := form.Count(got[0].Text)
		second, numeric := form.Count(got[1].Text)
		if !ok || !numeric || second > 1e11 || got[0].TTL <= 0 || (got[0].TTL-got[1].TTL).Abs() > 2*form.Latency {
			d.Window = 0
			return false
		}
		d.State.Current, d.State.Start = hits, limiter.Instant(second*1e6)
		const doubt = 5 * time.Millisecond // of the expiry
		whole := func(d time.Duration) int64 { return int64(d / time.Second) }
		lives := whole(got[1].Expiry(now).Sub(d.State.Start) + doubt)
		if lives%2 != 0 { // the stamp was taken at the end of a second
			lives = whole(got[1].Expiry(now).Sub(d.State.Start) - doubt)
		}
		told = told || lives%2 == 0
		d.Window = time.Duration(lives/2) * time.Second
		return told && lives >= 2 && now.Sub(d.State.Start) >= -form.Latency && d.Window <= limiter.MaxWindow
	}
}

func httprateRedis(s *decode.Sample, c decode.Context) *decode.Match {
	prefix, last, ok := form.LastPart(s.Key, ':')
	if !ok || !form.IsNumber(last) || last[0] == '0' || !c.Named && (prefix != "httprate" || len(last) < 14) || !form.IsCounter(s) {
		return nil
	}
	longest := time.Duration(0) // the longest expiry seen
	r := &form.Reader{
		Keys: form.Texts(s.Key), Holds: "count",
		Settings: decode.Settings{Algorithm: limiter.SlidingWindow, Convention: limiter.Convention{Rounding: convention.Nearest}},
		// At most what the counter holds counts, for it may be of a window long over.
		Read: func(d *decode.Decoded, _ limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
			if longest = max(longest, got[0].TTL); d.Window == 0 {
				if set := (longest + form.Latency).Truncate(time.Second); set%(3*time.Second) == 0 {
					d.Window, d.Guessed = set/3, true
				}
			}
			d.Partial, d.Notes = true, []model.Note{model.WindowUnknown}
			return form.IsCounter(&got[0])
		},
	}
	return r.Match(s, c, decode.Match{Prefix: prefix + ":", Why: []string{"named httprate:<hash of 64 bits>", "an integer that expires"}})
}

func laravel(s *decode.Sample, c decode.Context) *decode.Match {
	switch {
	case s.TTL <= 0:
		return nil
	case s.Type == "hash":
		start, window, _, ok := throttle(s)
		late := s.Expiry(c.Now).Sub(start.Add(2 * window))
		if !ok || s.Length != 3 || late <= -form.WholeSecond || late >= 2*form.WholeSecond { // the clock is the client's
			return nil
		}
		r := &form.Reader{Keys: form.Hash(s.Key, "start", "end", "count"), Settings: form.FromFirst, Charged: true, Hides: true,
			Holds: "start, end and count of a window",
			Read: func(d *decode.Decoded, _ limiter.Instant, got []decode.Sample, _ decode.Settings) (ok bool) {
				d.State.Start, d.Window, d.State.Current, ok = throttle(&got[0])
				return ok
			}}
		m := r.Match(s, c, decode.Match{Prefix: s.Key[:strings.LastIndexAny(s.Key, ":|_-")+1],
			Why: []string{"a hash of start, end and count", "it expires two windows after its start"}})
		m.Window = window
		return m
	}
	base, ok := strings.CutSuffix(s.Key, laravelTimer)
	if !ok && !c.Named && !laravelName(s.Key) || base == "" || ok && !isTimer(s, c.Now) || !ok && !form.IsCounter(s) {
		return nil
	}
	// It counts until the first of the two expires. Laravel lets an application charge denied
	// requests or not, so that what is beyond the limit was denied, and is not all that was.
	l := &form.Reader{Keys: form.Texts(base, base+laravelTimer), Settings: form.FromFirst, Either: true, Holds: "count",
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
			count, timer := &got[0], &got[1]
			if !count.Exists() || !timer.Exists() {
				d.State.Start = now
				if len(d.Members) > 0 { // the next request begins anew
					d.Ends = now
				}
				return true
			}
			n, ok := form.Signed(count.Text)
			ttl := count.TTL
			if timer.TTL > 0 {
				ttl = min(ttl, timer.TTL)
			}
			d.State.Current, d.TTL = max(n, 0), ttl
			form.Until(d, now, ttl, false)
			return ok
		}}
	m := &decode.Match{
		Name: base, Prefix: base[:strings.LastIndexAny(base, ":|-")+1], Limiter: l,
		Why:      []string{"a counter and <key>:timer, which expire together", "the timer holds the second in which both expire"},
		Siblings: l.Keys, Span: s.TTL,
		Confirm: func(got []decode.Sample) bool {
			return form.IsCounter(&got[0]) && isTimer(&got[1], c.Now) && (got[0].TTL-got[1].TTL).Abs() <= 2*form.Latency
		},
	}
	m.Algorithm = limiter.FixedWindow
	return m
}

const laravelTimer = ":timer"

// laravelName says whether a counter may have a timer beside it, so that it is read too: its name
// ends in a digest, or stands in a cache. Others are told by their timers.
func laravelName(key string) bool {
	last := key[strings.LastIndexAny(key, ":_-")+1:]
	return form.IsHex(last, 40) || form.IsHex(last, 32) || strings.Contains(key, "cache")
}

// isTimer says whether a sample is the end of a window: the second in which it expires.
func isTimer(s *decode.Sample, now limiter.Instant) bool {
	second, ok := form.Count(s.Text)
	if !ok || s.TTL <= 0 || !form.IsSecond(float64(second), now.Add(s.TTL)) {
		return false
	}
	late := s.Expiry(now).Sub(limiter.Instant(second * 1e6))
	return late > -form.WholeSecond && late < 2*form.WholeSecond // the clock is the client's
}

// throttle returns the window of Redis::throttle and its requests. It ends earlier than its key.
func throttle(s *decode.Sample) (start limiter.Instant, window time.Duration, n int64, ok bool) {
	from, sok := form.Count(s.Fields["start"])
	end, eok := form.Count(s.Fields["end"])
	n, nok := form.Count(s.Fields["count"])
	return limiter.Instant(from * 1e6), time.Duration(end-from) * time.Second, n,
		sok && eok && nok && from < 1e11 && end > from && end-from <= int64(limiter.MaxWindow/time.Second)
}
