package library

import (
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

func redisRateLimiter(s *decode.Sample, c decode.Context) *decode.Match {
	id, ok := strings.CutPrefix(s.Key, "ratelimit:")
	if !ok || !form.IsCounter(s) {
		return nil
	}
	twin := form.Texts("ratelimittemp:" + id)
	m := counted(s, true, "ratelimit:", "named ratelimit:<key>", "its twin ratelimittemp:<key> holds 0 and expires later")
	m.Limiter = &form.Beside{Of: m.Limiter, Keys: func(limiter.Instant) []decode.Fetch { return twin },
		Take: func(d *decode.Decoded, _ limiter.Instant, own, beside []decode.Sample, _ decode.Settings) {
			d.Members, d.Span = form.Members(append(own, beside...)), max(d.Span, beside[0].TTL)
		}}
	if c.Named {
		return m
	}
	ttl := s.TTL
	m.Siblings = twin
	m.Confirm = func(got []decode.Sample) bool { return got[0].Text == "0" && got[0].TTL >= ttl-form.ClockSlack }
	return m
}

func goRedisstore(s *decode.Sample, c decode.Context) *decode.Match {
	longest := time.Duration(0) // the longest expiry seen
	r := &form.Reader{
		Keys:     form.Hash(s.Key, "s", "t", "k", "m", "i"),
		Settings: form.FromFirst,
		Holds:    "limiter of go-redisstore",
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
			d.Window, d.Guessed = 0, false
			if !readSethvargo(d, &got[0], now) {
				return false
			}
			if longest = max(longest, got[0].TTL); d.Window == 0 {
				d.Window, d.Guessed = firstWindow(longest, now, d.State.Start), true
			}
			return true
		},
	}
	return r.Match(s, c, decode.Match{Why: []string{"a hash of nothing but s, t, k, m and i", "s is nanoseconds of now", "k is at most m"}})
}

// readSethvargo reads what was taken of a limit in the window that began at the start, and its length, 0
// where that is not told.
func readSethvargo(d *decode.Decoded, s *decode.Sample, now limiter.Instant) bool {
	begin, isTime := form.Number(s.Fields["s"])
	tick, okTick := form.Count(s.Fields["t"])
	left, okLeft := form.Count(s.Fields["k"])
	limit, okLimit := form.Count(s.Fields["m"])
	interval, held := s.Fields["i"]
	fields := collect.If(held, 5, int64(4))
	if !isTime || !okTick || !okLeft || !okLimit || s.Length != fields || left > limit || limit > limiter.MaxCount || limit == 0 ||
		s.TTL <= 0 || decode.UnitOf(begin, now) != time.Nanosecond {
		return false
	}
	start := limiter.Instant(begin / 1e3)
	if held {
		i, ok := form.Whole(interval)
		d.Window = time.Duration(i).Truncate(time.Microsecond)
		if !ok || d.Window < limiter.MinWindow || d.Window > limiter.MaxWindow || tick > int64(now.Sub(start)/d.Window)+1 {
			return false
		}
		start = start.Add(time.Duration(tick) * d.Window)
	}
	d.State.Start, d.State.Current = start, limit-left
	d.Limit.Count, d.LimitFrom = limit, model.LimitOfKey
	return start <= now.Add(clientAhead) && (held || tick == 0)
}

// firstWindow tells the window of a key that is in its first one: a third of the expiry, which was set
// within that window, in whole seconds.
func firstWindow(longest time.Duration, now, start limiter.Instant) time.Duration {
	seconds := int64(math.Ceil((longest - time.Millisecond).Seconds()))
	w := time.Duration(seconds/3) * time.Second
	lives := now.Add(longest).Sub(start)
	if seconds%3 != 0 || lives < 3*w-form.Latency || lives > 4*w+form.Latency || w > limiter.MaxWindow {
		return 0
	}
	return w
}

func kong(s *decode.Sample, c decode.Context) *decode.Match {
	base, period, ok := form.LastPart(s.Key, ':')
	base, stamp, more := form.LastPart(base, ':')
	ms, numeric := form.Count(stamp)
	length, known := periods[period]
	_, counts := form.Count(s.Text)
	if !ok || !more || !numeric || !known || !counts || s.TTL <= 0 || s.TTL > 366*day || !c.Named && !kongName().MatchString(base) {
		return nil
	}
	x := aligned(limiter.FixedWindow, length, func(start limiter.Instant) string {
		return base + ":" + form.Decimal(start.Millis()) + ":" + period
	})
	x.Charged = true
	if length >= 30*day {
		x.Bounds = form.Calendar(length)
	}
	start := limiter.Instant(ms * 1000)
	if begin, _ := x.Bound(start); begin != start || start > c.Now.Add(clientAhead) {
		return nil
	}
	m := x.Match(base+":"+period, "ratelimit:", "named ratelimit:<route>:<service>:<id>:<start>:<period>",
		"the start is one of a "+period, "an integer that expires")
	m.Suffix = ":" + period // each has a limit of its own
	return m
}

// periods are the words for a period; months and years are Kong's, those of the calendar.
var periods = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": day, "month": 30 * day, "year": 365 * day,
}

const day = 24 * time.Hour

// kongName is the beginning of a name: the prefix and two UUIDs.
var kongName = collect.Regexp(`^ratelimit:(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:){2}`)

// aligned returns counters of windows of one length that are aligned to the epoch.
func aligned(a limiter.Algorithm, window time.Duration, key func(limiter.Instant) string) *form.Windowed {
	return &form.Windowed{Settings: decode.Settings{Algorithm: a, Window: window}, Key: key}
}

func russellluo(s *decode.Sample, c decode.Context) *decode.Match {
	base, start, ok := form.StartSuffix(s, c.Now)
	base, at := strings.CutSuffix(base, "@")
	if !ok || !at || base == "" {
		return nil
	}
	w := form.WrittenWindow(start, s, c.Now)
	if w == 0 {
		return nil
	}
	x := aligned(limiter.SlidingWindow, w, func(start limiter.Instant) string { return base + "@" + form.Decimal(int64(start)*1000) })
	x.Origin, x.Lags = form.YearOne, true
	return x.Match(base, "", "named <key>@<start of a window in nanoseconds>", "an integer that expires two windows after it was written")
}
