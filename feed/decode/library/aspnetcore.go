package library

import (
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// aspnetcore is RedisRateLimiting of ASP.NET Core, whose keys are rl:<kind>:{<key>}. A fixed window,
// fw, counts until :exp, the millisecond of its end. A sliding one, sw, is a sorted set of
// milliseconds, whose expiry is a window and a millisecond after the last call. A token bucket, tb,
// holds what is LEFT, and :ts the millisecond of the last refill; tokens come a period at a time.
// Requests under way, cc, are a sorted set in which each counts as lost after a minute.
var aspnetcore = &decode.Library{
	Name: "aspnetcore-redis-rate-limiting", Version: "1.2.1", Published: true, Types: []string{"string", "zset"},
	Silent: []string{"the limit, and of a bucket the period", "denied requests, except how many a sliding window has seen in all"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		rest, ok := strings.CutPrefix(s.Key, "rl:")
		kind, name, more := strings.Cut(rest, ":")
		base, suffix, closed := strings.Cut(name, "}")
		if !ok || !more || !closed || !strings.HasPrefix(base, "{") {
			return nil
		}
		twins := &twins{count: "rl:" + kind + ":" + base + "}"}
		switch {
		case s.Type == "string" && kind == "fw" && (suffix == "" || suffix == ":exp"):
			twins.stamp, twins.algorithm = twins.count+":exp", limiter.FixedWindow
			return twins.match(c, "rl:fw:{", "its twin :exp is when both expire")
		case s.Type == "string" && kind == "tb" && (suffix == "" || suffix == ":ts"):
			twins.stamp, twins.algorithm = twins.count+":ts", limiter.TokenBucket
			return twins.match(c, "rl:tb:{", "its twin :ts is a millisecond of now")
		case s.Type == "zset" && suffix == "" && (kind == "sw" && s.TTL > 0 || kind == "cc" && s.TTL < 0):
			return matchASPNetLog(s, c, kind)
		}
		return nil
	},
}

// matchASPNetLog returns the match of a sorted set of milliseconds.
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

// twins is a number and, beside it, the millisecond from which, or to which, it counts.
type twins struct {
	count, stamp string
	algorithm    limiter.Algorithm
}

func (t *twins) match(c decode.Context, prefix string, why string) *decode.Match {
	return &decode.Match{
		Settings: decode.Settings{Algorithm: t.algorithm}, Name: t.count, Prefix: prefix,
		Why:     []string{"named " + prefix + "<key>}", why},
		Limiter: t, Siblings: t.Fetch(c.Now),
		Confirm: func(got []decode.Sample) bool {
			_, _, ok := t.read(got, c.Now)
			return ok
		},
	}
}

// Fetch reads both strings.
func (t *twins) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: t.count, Type: "string"}, {Key: t.stamp, Type: "string"}}
}

func (t *twins) read(got []decode.Sample, now limiter.Instant) (n int64, at limiter.Instant, ok bool) {
	n, ok = form.Count(got[0].Text)
	ms, numeric := form.Count(got[1].Text)
	at = limiter.Instant(ms * 1000)
	if !ok || !numeric || got[0].TTL <= 0 || got[1].TTL <= 0 || decode.UnitOf(float64(ms), now) != time.Millisecond {
		return 0, 0, false
	}
	if t.algorithm == limiter.FixedWindow {
		return n, at, got[1].Expiry(now).Sub(at).Abs() <= form.Latency
	}
	return n, at, at.Sub(now) < 5*time.Second
}

// Decode returns the window or the bucket.
func (t *twins) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := decode.Decoded{Type: got[0].Type, TTL: got[0].TTL, Members: form.Members(got)}
	d.Algorithm, d.Window = t.algorithm, given.Window
	if !got[0].Exists() {
		return d
	}
	n, at, ok := t.read(got, now)
	switch {
	case !ok:
		d.Err = "holds two strings that do not agree, so that they are no limiter of its library: correct its rule"
	case t.algorithm == limiter.FixedWindow:
		d.Convention.Alignment = limiter.AlignFirstRequest
		d.State.Current, d.Span = n, got[0].TTL
		if d.Window > 0 {
			d.State.Start = at.Add(time.Millisecond - d.Window)
		} else {
			d.Ends = at.Add(time.Millisecond)
		}
	default:
		d.Convention.Refill, d.NeedsBurst = limiter.RefillInterval, true
		form.SetTokens(&d, float64(n), at, 0)
	}
	return d
}
