package library

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

// redisRate recognizes the two forms of redis_rate: that of its releases from 8 on, and the counters of those before.
func redisRate(s *decode.Sample, c decode.Context) *decode.Match {
	if m := redisRateTAT(s, c); m != nil {
		return m
	}
	base, last, _ := form.LastPart(s.Key, '-')
	index, ok := form.Count(last)
	w, usual, fits := form.WindowOfIndex(index, c.Now)
	if !ok || !fits || !usual || !form.IsCounter(s) || s.TTL > w || !c.Named && !strings.HasPrefix(base, "rate:") {
		return nil
	}
	x := aligned(limiter.FixedWindow, w, form.Numbered(base+"-", w, ""))
	x.Charged = true
	return x.Match(base, "rate:", "named rate:<key>-<index of a window>", "an integer that expires a window after the last request")
}

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

// The libraries whose state is a theoretical arrival time (TAT). Under a name of any other kind, a number with a fraction that
// is the instant of its own expiry, counted in seconds from 2017, is nothing else, and nanoseconds of now are so where the name does
// not say that it holds an expiry.
var (
	redisRateTAT = tatOf(func(s *decode.Sample) bool { return strings.HasPrefix(s.Key, "rate:") },
		tatSince(start2017), false, "rate:", "named rate:<key>", since2017)
	redisGCRA = tatOf(func(s *decode.Sample) bool {
		_, fraction, _ := strings.Cut(s.Text, ".")
		return len(fraction) >= 4
	}, tatSince(start2017), false, "", since2017)
	throttled = tatOf(holdsState, tatRoundedDown, true, "", "nanoseconds of now and of its own expiry, rounded down to seconds",
		"whole microseconds, as of the server's clock")
	redisCell = tatOf(holdsState, tatOfExpiry, false, "", "nanoseconds of now that are also when the key expires")
)

// readTAT reads a TAT; ok is false where the value is none, or its expiry does not agree.
type readTAT = func(s *decode.Sample, now limiter.Instant) (at limiter.Instant, ok bool)

// tatOf recognizes a TAT in a string that fits, or of which a rule names the library; see form.MatchTAT.
func tatOf(
	fits func(*decode.Sample) bool, read readTAT, forgets bool, prefix string, why ...string,
) func(*decode.Sample, decode.Context) *decode.Match {
	return func(s *decode.Sample, c decode.Context) *decode.Match {
		if !c.Named && !fits(s) {
			return nil
		}
		return form.MatchTAT(s, c, read, forgets, prefix, why...)
	}
}

const since2017 = "a time in seconds since 2017 that is also when the key expires"

// Where the times of redis_rate and of throttled-py begin, in seconds of the Unix epoch.
const (
	start2017 = 1483228800
	start2025 = 1735660800
)

// tatSince reads a double of seconds from a start, whose key expires with it, rounded up to a whole second.
// It is exact to a tenth of a microsecond, so that it is rounded down by one more, lest a request too many seems
// to be charged.
func tatSince(start int64) readTAT {
	return func(s *decode.Sample, now limiter.Instant) (limiter.Instant, bool) {
		v, ok := form.Number(s.Text)
		if !ok || v <= 0 || v > 1e10 || s.TTL <= 0 {
			return 0, false
		}
		at := limiter.Instant(start*1e6 + int64(v*1e6) - 1)
		early := s.Expiry(now).Sub(at)
		return at, early > -form.Latency && early < form.WholeSecond+form.Latency
	}
}

// tatRoundedDown reads nanoseconds whose key expires within the second before, or, right after
// an arrival that is nearly due, within the second after.
func tatRoundedDown(s *decode.Sample, now limiter.Instant) (limiter.Instant, bool) {
	at, ok := form.Nanoseconds(s.Text, now)
	late := at.Sub(s.Expiry(now))
	return at, ok && strings.HasSuffix(s.Text, "000") && s.TTL > 0 && late > -form.WholeSecond-form.Latency &&
		late < form.WholeSecond+form.Latency
}

// tatOfExpiry reads nanoseconds whose key expires with them.
func tatOfExpiry(s *decode.Sample, now limiter.Instant) (limiter.Instant, bool) {
	at, ok := form.Nanoseconds(s.Text, now)
	return at, ok && s.TTL > 0 && at.Sub(s.Expiry(now)).Abs() <= form.Latency
}

// holdsState says whether a key is not called as those are whose value is when they expire: locks,
// sessions and tokens.
func holdsState(s *decode.Sample) bool {
	key := strings.ToLower(s.Key)
	return !slices.ContainsFunc(expiryWords, func(word string) bool { return strings.Contains(key, word) })
}

var expiryWords = []string{"lock", "mutex", "lease", "sess", "token", "expir", "deadline", "otp"}

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

// leftBucket recognizes the two strings of the bucket that Stripe published: <base>.tokens and <base><stamp>, where base begins
// with a prefix, unless a rule names the library, and is closed by a brace or not.
func leftBucket(prefix, stamp string, braces, derive bool) func(*decode.Sample, decode.Context) *decode.Match {
	return func(s *decode.Sample, c decode.Context) *decode.Match {
		base, ok := strings.CutSuffix(s.Key, ".tokens")
		if !ok {
			base, ok = strings.CutSuffix(s.Key, stamp)
		}
		if _, numeric := form.Number(s.Text); !ok || !numeric || s.TTL <= 0 || strings.HasSuffix(base, "}") != braces ||
			!(c.Named && !derive) && !strings.HasPrefix(base, prefix) {
			return nil
		}
		id := collect.If(braces, "<id>}", "<user>")
		return form.LeftBucket(base+".tokens", base+stamp, derive).Match(s, c, decode.Match{Name: base + ".tokens", Prefix: prefix,
			Why: []string{"named " + prefix + id + ".tokens", "its twin holds a second of now"}})
	}
}

func stripe(s *decode.Sample, c decode.Context) *decode.Match {
	if s.Type == "string" {
		return leftBucket("request_rate_limiter.", ".timestamp", false, false)(s, c)
	}
	if s.TTL >= 0 || !c.Named && !strings.HasPrefix(s.Key, "concurrent_requests_limiter.") ||
		!form.BothEnds(s, func(e decode.Element) bool { return len(e.Member) <= 4 && form.IsSecond(e.Score, c.Now) }) { // random bytes
		return nil
	}
	return underWay("concurrent_requests_limiter.", "named concurrent_requests_limiter.<user>",
		"a sorted set of requests under way, by the second of their beginning")
}

// underWay returns the match of a sorted set with the beginning of each request under way.
func underWay(prefix string, why ...string) *decode.Match {
	return &decode.Match{Kind: decode.Log, Settings: decode.Settings{Algorithm: limiter.SlidingLog}, Prefix: prefix, Why: why}
}

func kong(s *decode.Sample, c decode.Context) *decode.Match {
	base, period, ok := form.LastPart(s.Key, ':')
	base, stamp, more := form.LastPart(base, ':')
	ms, numeric := form.Count(stamp)
	length, known := kongPeriods[period]
	if !ok || !more || !numeric || !known || s.TTL <= 0 || s.TTL > 366*day || !c.Named && !kongName.MatchString(base) {
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
	if _, ok := form.Count(s.Text); !ok {
		return nil
	}
	m := x.Match(base+":"+period, "ratelimit:", "named ratelimit:<route>:<service>:<id>:<start>:<period>",
		"the start is one of a "+period, "an integer that expires")
	m.Suffix = ":" + period // each has a limit of its own
	return m
}

// kongPeriods are the words for a period; months and years are those of the calendar.
var kongPeriods = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": day, "month": 30 * day, "year": 365 * day,
}

const day = 24 * time.Hour

// kongName is the beginning of a name: the prefix and two UUIDs.
var kongName = regexp.MustCompile(`^ratelimit:(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:){2}`)

// aligned returns counters of windows of one length that are aligned to the epoch.
func aligned(a limiter.Algorithm, window time.Duration, key func(limiter.Instant) string) *form.Windowed {
	return &form.Windowed{Settings: decode.Settings{Algorithm: a, Window: window}, Key: key}
}

// untilNext recognizes a counter whose name ends in the number of its window and that expires a second after it: what stands
// before the number, from begins on, which begins the name or follows a colon, and the windows.
func untilNext(s *decode.Sample, c decode.Context, begins string) (base string, from int, x *form.Windowed) {
	from = strings.Index(s.Key, begins)
	base, last, _ := form.LastPart(s.Key, ':')
	index, ok := form.Count(last)
	if from < 0 || from > 0 && s.Key[from-1] != ':' || !ok || s.Type == "string" && !form.IsCounter(s) {
		return "", 0, nil
	}
	w, ok := form.WindowUntil(index, s, c.Now)
	if !ok || len(base) < from+len(begins) {
		return "", 0, nil
	}
	x = aligned(limiter.FixedWindow, w, form.Numbered(base+":", w, ""))
	x.Before, x.How.Type = true, s.Type
	return base, from + len(begins), x
}

func gitlab(s *decode.Sample, c decode.Context) *decode.Match {
	base, from, x := untilNext(s, c, "application_rate_limiter:")
	if x == nil {
		return nil
	}
	x.Charged = true
	action, _, _ := strings.Cut(base[from:], ":")
	return x.Match(base, base[:from]+action+":", "named application_rate_limiter:<action>:<scope>:<index of a window>",
		"expires one second after that window")
}

func mastodon(s *decode.Sample, c decode.Context) *decode.Match {
	base, from, x := untilNext(s, c, "rate_limit:")
	if x == nil {
		return nil
	}
	account, family, _ := strings.Cut(base[from:], ":")
	if !form.IsNumber(account) || family == "" || strings.Contains(family, ":") {
		return nil
	}
	if f := mastodonFamilies[family]; f.Window == x.Settings.Window {
		x.Settings.Limit.Count, x.Settings.LimitFrom = f.Count, model.LimitOfName
	}
	m := x.Match(base, s.Key[:from], "named rate_limit:<account>:<family>:<index of a window>",
		"an integer that expires one second after that window")
	m.Suffix = ":" + family
	return m
}

var mastodonFamilies = map[string]limiter.Limit{
	"follows": {Count: 400, Window: day}, "statuses": {Count: 300, Window: 3 * time.Hour}, "reports": {Count: 400, Window: day},
}

func russellluo(s *decode.Sample, c decode.Context) *decode.Match {
	base, start, ok := form.StartSuffix(s, '@', c.Now)
	if !ok {
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
