package library

import (
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

func apisix(s *decode.Sample, c decode.Context) *decode.Match {
	switch {
	case s.TTL <= 0:
	case s.Type == "hash":
		return matchLimitReq(s, c)
	case s.Type == "zset":
		return matchLimitConn(s, c)
	case strings.HasPrefix(s.Key, countPlugin+"v1:"): // a counter of libraries.yaml
	case strings.HasPrefix(s.Key, countPlugin) && strings.HasSuffix(s.Key, ".counter"):
		return matchAPISIXSliding(s, c)
	case strings.HasPrefix(s.Key, strings.TrimSuffix(countPlugin, ":")) && strings.Contains(s.Key, ":"):
		return matchCountLeft(s)
	}
	return nil
}

const countPlugin = "plugin-limit-count:"

func matchCountLeft(s *decode.Sample) *decode.Match {
	if _, ok := form.Signed(s.Text); !ok {
		return nil
	}
	return &decode.Match{
		Settings: decode.Settings{Algorithm: limiter.FixedWindow}, Prefix: "plugin-limit-count",
		Why:     []string{"named plugin-limit-count<resource or group>:<key>", "an integer that expires, of what is left"},
		Span:    s.TTL,
		Limiter: &form.Counter{Key: s.Key, Charged: true, Left: true},
	}
}

// matchAPISIXSliding returns the match of the counter of a window of a sliding one: its length is
// the one that people choose of which index is the current window, or the one before it.
func matchAPISIXSliding(s *decode.Sample, c decode.Context) *decode.Match {
	base, last, _ := form.LastPart(strings.TrimSuffix(s.Key, ".counter"), '.')
	index, ok := form.Count(last)
	if _, counts := form.Count(s.Text); !ok || !counts || index == 0 {
		return nil
	}
	w := time.Duration(0)
	for _, u := range decode.Periods {
		start := limiter.Instant(index) * limiter.Instant(u.Microseconds())
		if age := c.Now.Sub(start); index < 1<<32 && age >= -form.WholeSecond && age < 3*u && s.TTL <= 2*u+form.Latency &&
			s.TTL >= 2*u-age-form.WholeSecond {
			w = u
			break
		}
	}
	if w == 0 {
		return nil
	}
	x := aligned(limiter.SlidingWindow, w, form.Numbered(base+".", w, ".counter"))
	x.Capped, x.Settings.Convention.Rounding, x.Settings.Convention.Rule = true, limiter.RoundExact, limiter.RuleBelow
	return x.Match(base, countPlugin, "named "+countPlugin+"<resource>:<version>:<key>.<index of a window>.counter",
		"an integer that expires two windows after that index began")
}

// matchLimitReq returns the match of the water of limit-req. The plugin's burst is what may wait, so that one more is admitted.
func matchLimitReq(s *decode.Sample, c decode.Context) *decode.Match {
	if !c.Named && !strings.HasPrefix(s.Key, "limit_req:") {
		return nil
	}
	r := &form.Reader{
		Keys: form.Hash(s.Key, "excess", "last"), Settings: decode.Settings{Algorithm: limiter.LeakyBucket}, Holds: "state of limit-req",
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool {
			excess, ok := form.Number(got[0].Fields["excess"])
			ms, numeric := form.Count(got[0].Fields["last"])
			form.SetWater(d, excess/1000+1, limiter.Instant(ms*1000), form.Emission(given))
			return ok && numeric && excess >= 0 && got[0].Length == 2 && got[0].TTL > 0 &&
				decode.UnitOf(float64(ms), now) == time.Millisecond
		},
		Limit: func(d *decode.Decoded, given decode.Settings) {
			form.Translate(d, given, limiter.Limit{Count: given.Limit.Count, Burst: min(given.Limit.Burst, limiter.MaxCount-1) + 1,
				Window: given.Window})
		},
	}
	return r.Match(s, c, decode.Match{Prefix: "limit_req:",
		Why: []string{"named limit_req:<resource>:<version>:<key>", "a hash of nothing but excess and last, a time in milliseconds"}})
}

func matchLimitConn(s *decode.Sample, c decode.Context) *decode.Match {
	if !c.Named && !strings.HasPrefix(s.Key, "limit_conn:") || len(s.Last) == 0 {
		return nil
	}
	last := s.Last[len(s.Last)-1].Score
	if last != math.Trunc(last) || decode.UnitOf(last, c.Now) != time.Second {
		return nil
	}
	return &decode.Match{
		Settings: decode.Settings{Algorithm: limiter.SlidingLog}, Prefix: "limit_conn:",
		Why: []string{"named limit_conn:<resource>:<version>:<key>",
			"a sorted set of requests under way, by the second at which each counts as lost"},
		Limiter: &limitConn{s.Key},
	}
}

type limitConn struct{ key string }

// Fetch counts those that are not lost, and reads when the first of them will be.
func (l *limitConn) Fetch(now limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: l.key, Type: "zset", Ends: form.FewPermits,
		Counts: []decode.Range{{Min: "(" + decode.Score(float64(now)/1e6), Max: "+inf"}}}}
}

// Decode returns a log of the requests under way, as if each had begun a window before it is lost.
func (l *limitConn) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL, Members: form.Members(got)}
	d.Algorithm, d.Window = limiter.SlidingLog, given.Window
	if !s.Exists() || len(s.Counts) == 0 {
		return d
	}
	p := form.Permits{Left: s.Counts[0]}
	for _, e := range s.First {
		if lost := decode.InstantIn(e.Score, time.Second); lost > now && decode.UnitOf(e.Score, now) == time.Second {
			p.Add(lost.Add(-given.Window), 1)
		}
	}
	d.State.Log = p.Log(now)
	return d
}
