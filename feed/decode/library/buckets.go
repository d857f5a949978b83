package library

import (
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

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
	fields := int64(4)
	if held {
		fields = 5
	}
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
		id := map[bool]string{true: "<id>}", false: "<user>"}[braces]
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
