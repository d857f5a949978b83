package library

import (
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

func aspnetcore(s *decode.Sample, c decode.Context) *decode.Match {
	rest, ok := strings.CutPrefix(s.Key, "rl:")
	kind, name, more := strings.Cut(rest, ":")
	base, suffix, closed := strings.Cut(name, "}")
	if !ok || !more || !closed || !strings.HasPrefix(base, "{") {
		return nil
	}
	count := "rl:" + kind + ":" + base + "}"
	switch {
	case s.Type == "string" && kind == "fw" && (suffix == "" || suffix == ":exp"):
		return matchTwins(s, c, count, ":exp", fromFirst, "rl:fw:{", "its twin :exp is when both expire")
	case s.Type == "string" && kind == "tb" && (suffix == "" || suffix == ":ts"):
		bucket := decode.Settings{Algorithm: limiter.TokenBucket, NeedsBurst: true}
		bucket.Convention.Refill = limiter.RefillInterval
		return matchTwins(s, c, count, ":ts", bucket, "rl:tb:{", "its twin :ts is a millisecond of now")
	case s.Type == "zset" && suffix == "" && (kind == "sw" && s.TTL > 0 || kind == "cc" && s.TTL < 0):
		return matchASPNetLog(s, c, kind)
	}
	return nil
}

func matchASPNetLog(s *decode.Sample, c decode.Context, kind string) *decode.Match {
	if len(s.First) == 0 || len(s.Last) == 0 || !form.BothEnds(s, func(e decode.Element) bool {
		return decode.UnitOf(e.Score, c.Now) == time.Millisecond && e.Score == math.Trunc(e.Score)
	}) {
		return nil
	}
	m := &decode.Match{
		Kind: decode.Log, Settings: decode.Settings{Algorithm: limiter.SlidingLog}, Prefix: "rl:" + kind + ":{",
		Why: []string{"named rl:" + kind + ":{<key>}", "a sorted set of milliseconds"},
	}
	if kind == "cc" {
		m.Window = time.Minute
	}
	return m
}

// matchTwins returns the match of a number and, beside it, the millisecond from which, or to which, it counts.
func matchTwins(s *decode.Sample, c decode.Context, count, stamp string, how decode.Settings, prefix, why string) *decode.Match {
	r := &form.Reader{
		Keys: form.Texts(count, count+stamp), Settings: how, Holds: "two strings that agree, as those of its library do",
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
			n, ok := form.Count(got[0].Text)
			ms, numeric := form.Count(got[1].Text)
			at := limiter.Instant(ms * 1000)
			if !ok || !numeric || got[0].TTL <= 0 || got[1].TTL <= 0 || decode.UnitOf(float64(ms), now) != time.Millisecond {
				return false
			}
			if how.Algorithm == limiter.TokenBucket {
				form.SetTokens(d, float64(n), at, 0)
				return at.Sub(now) < clientAhead
			}
			d.State.Current, d.Span = n, got[0].TTL
			if d.Window > 0 {
				d.State.Start = at.Add(time.Millisecond - d.Window)
			} else {
				d.Ends = at.Add(time.Millisecond)
			}
			return got[1].Expiry(now).Sub(at).Abs() <= form.Latency
		},
	}
	return r.Match(s, c, decode.Match{Name: count, Prefix: prefix, Why: []string{"named " + prefix + "<key>}", why}})
}
