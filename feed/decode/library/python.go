package library

import (
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

func throttledPy(s *decode.Sample, c decode.Context) *decode.Match {
	i := strings.Index(s.Key, "throttled:v1:")
	if i < 0 || i > 0 && s.Key[i-1] != ':' {
		return nil
	}
	i += len("throttled:v1:")
	kind, _, _ := strings.Cut(s.Key[i:], ":")
	prefix := s.Key[:i] + kind + ":"
	const named = "named throttled:v1:<type>:<key>"
	switch {
	case s.Type == "string" && kind == "gcra":
		return form.MatchTAT(s, c, tatSince(start2025), false, prefix, named, "a time in seconds since 2025 that is also when the key expires")
	case s.Type == "string" && (kind == "fixed_window" || kind == "sliding_window"):
		return matchPeriod(s, c, kind == "sliding_window", prefix, named)
	case s.Type == "hash" && (kind == "token_bucket" || kind == "leaking_bucket"):
		return matchSeconds(s, c, kind == "leaking_bucket", prefix, named)
	}
	return nil
}

// matchPeriod knows the counter of a window, which lives for one window, or for three where the
// window before counts, too.
func matchPeriod(s *decode.Sample, c decode.Context, sliding bool, prefix, named string) *decode.Match {
	base, last, _ := form.LastPart(s.Key, ':')
	index, ok := form.Count(last)
	if !ok || !strings.HasSuffix(base, ":period") || !form.IsCounter(s) {
		return nil
	}
	lives := int64(1)
	if sliding {
		lives = 3
	}
	w, ok := form.WindowWith(index+lives, s.Expiry(c.Now))
	if !ok || s.TTL > time.Duration(lives)*w {
		return nil
	}
	x := aligned(limiter.FixedWindow, w, form.Numbered(base+":", w, ""))
	x.Before, x.Charged = true, !sliding
	if sliding {
		x.Settings.Algorithm = limiter.SlidingWindow
	}
	return x.Match(strings.TrimSuffix(base, ":period"), prefix, named, "the index of a window ends the name",
		"an integer that expires with that window's successors")
}

// matchSeconds returns the match of a bucket that comes back at whole seconds: floor(seconds × rate) units since
// the second of its last call. A token bucket holds what is left, a leaking bucket what is used.
func matchSeconds(s *decode.Sample, c decode.Context, leaks bool, prefix, named string) *decode.Match {
	r := &form.Reader{Keys: form.Hash(s.Key, "tokens", "last_refreshed"), Holds: "tokens and second of a bucket",
		Settings: decode.Settings{Algorithm: limiter.TokenBucket, NeedsBurst: !leaks}}
	if leaks {
		r.Settings.Algorithm = limiter.LeakyBucket
	}
	r.Read = func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool {
		s := &got[0]
		tokens, ok := form.Signed(s.Fields["tokens"])
		second, timed := form.Count(s.Fields["last_refreshed"])
		if !ok || !timed || second >= 1e11 || s.Length != 2 || s.TTL == 0 {
			return false
		}
		// It is brought to now, and its clock set so that the next unit comes back in the whole second in which it does.
		step, at := form.Emission(given), limiter.Instant(second*1e6)
		if step > 0 {
			passed := math.Max(float64(int64(now)/1e6-second), 0)
			back := math.Floor(passed * 1e6 / step)
			next := math.Ceil((back + 1) * step / 1e6)
			if at = limiter.Instant((float64(second)+next)*1e6 - step); leaks {
				back = -back
			}
			tokens += int64(math.Max(math.Min(back, limiter.MaxCount), -limiter.MaxCount))
		}
		level := max(tokens, 0)
		if burst := given.Limit.Burst; !leaks && burst > 0 {
			level = min(level, burst)
		}
		d.State.Level, d.State.Filled = float64(level), at
		return true
	}
	return r.Match(s, c, decode.Match{Prefix: prefix, Why: []string{named, "a hash of tokens and the second last_refreshed"}})
}
