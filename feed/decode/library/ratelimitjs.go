package library

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

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
