package library

import (
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model/collect"
)

func apisix(s *decode.Sample, c decode.Context) *decode.Match {
	switch {
	case s.TTL <= 0:
	case s.Type == "zset":
		return matchLimitConn(s, c)
	case strings.HasPrefix(s.Key, countPlugin) && strings.HasSuffix(s.Key, ".counter"):
		return matchAPISIXSliding(s, c)
	}
	return nil
}

const countPlugin = "plugin-limit-count:"

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
	x.Capped, x.Settings.Convention.Rounding, x.Settings.Convention.Rule = true, convention.Exact, convention.Below
	return x.Match(base, countPlugin, "named "+countPlugin+"<resource>:<version>:<key>.<index of a window>.counter",
		"an integer that expires two windows after that index began")
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
		Limiter: &form.Reader{Settings: decode.Settings{Algorithm: limiter.SlidingLog}, Read: readLimitConn,
			At: func(now limiter.Instant) []decode.Fetch { // those that are not lost, and when the first of them will be
				return []decode.Fetch{{Key: s.Key, Type: "zset", Ends: form.FewPermits,
					Counts: []decode.Range{{Min: "(" + decode.Score(float64(now)/1e6), Max: "+inf"}}}}
			}},
	}
}

// readLimitConn reads a log of the requests under way, as if each had begun a window before it is lost.
func readLimitConn(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool {
	if len(got[0].Counts) == 0 {
		return false
	}
	p := form.Permits{Left: got[0].Counts[0]}
	for _, e := range got[0].First {
		if lost := decode.InstantIn(e.Score, time.Second); lost > now && decode.UnitOf(e.Score, now) == time.Second {
			p.Add(lost.Add(-given.Window), 1)
		}
	}
	d.State.Log = p.Log(now)
	return true
}

func envoyRatelimit(s *decode.Sample, c decode.Context) *decode.Match {
	base, last, ok := form.LastPart(s.Key, '_')
	second, numeric := form.Count(last)
	if !ok || !numeric || second < 1e9 || second > 1e11 || !form.IsCounter(s) || !c.Named && !descriptor().MatchString(base) {
		return nil
	}
	e := &form.Undecided{Start: limiter.Instant(second * 1e6), Slack: form.WholeSecond, Fits: fitsEnvoy}
	for _, unit := range envoyUnits {
		x := aligned(limiter.FixedWindow, unit, func(start limiter.Instant) string { return base + "_" + form.Decimal(int64(start)/1e6) })
		x.Charged = true
		if begun, _ := x.Bound(e.Start); begun == e.Start && fitsEnvoy(x, begun, s, c.Now) {
			e.Left = append(e.Left, x)
		}
	}
	if e.Left == nil {
		return nil
	}
	return &decode.Match{
		Settings: decode.Settings{Algorithm: limiter.FixedWindow},
		Name:     base, Why: []string{"named <domain>_<key>_<value>_<start>, with a key of Envoy's descriptors",
			"an integer whose expiry is a unit from that start"},
		Limiter: e,
	}
}

// descriptor is a name <domain>_<key>_<value>, with what Envoy calls its descriptors where a configuration gives no key.
var descriptor = collect.Regexp(`(?s)._(remote_address|masked_remote_address|generic_key|header_match|source_cluster|` +
	`destination_cluster|query_parameter_value_match|query_parameters|rate_limit)_.`)

// envoyUnits are the units of a limit, shortest first.
var envoyUnits = [...]time.Duration{
	time.Second, time.Minute, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// jitter is by how much an expiry exceeds the unit at most.
const jitter = 300 * time.Second

// fitsEnvoy says whether a counter of that start and expiry may be of a unit. Since the unit ended nothing has set the expiry.
func fitsEnvoy(x *form.Windowed, start limiter.Instant, s *decode.Sample, now limiter.Instant) bool {
	unit, age := x.Settings.Window, now.Sub(start)
	return age >= -form.WholeSecond && s.TTL <= unit+jitter-max(age-unit, 0)+form.WholeSecond && s.TTL >= unit-max(age, 0)-form.WholeSecond
}
