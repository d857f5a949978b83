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

// ratelimitJS is ratelimit.js: the hash ratelimit:<id> holds for a rule of an interval in seconds,
// counted in blocks of a precision, <interval>:<precision>: (the sum), <interval>:<precision>:<block>
// (the requests of a block) and <interval>:<precision>:o (the oldest block). A block leaves an
// interval after its start. A denied request writes nothing. Hashes of several rules are not read.
var ratelimitJS = &decode.Library{
	Name: "ratelimit-js", Version: "1.8.0", Types: []string{"hash"},
	Silent: []string{"the limit", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if !c.Named && !strings.HasPrefix(s.Key, "ratelimit:") || s.TTL <= 0 {
			return nil
		}
		b := &blocks{key: s.Key}
		m := &decode.Match{
			Prefix: form.PrefixOf(s.Key), Limiter: b, Siblings: b.Fetch(c.Now),
			Why: []string{"named ratelimit:<id>", "a hash of counts by interval, precision and block, and of their sum"},
		}
		m.Algorithm = limiter.SlidingLog
		m.Confirm = func(got []decode.Sample) bool {
			_, window, ok := readBlocks(&got[0], c.Now)
			return ok && got[0].TTL <= window
		}
		return m
	},
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

// blocks are the blocks of one rule.
type blocks struct{ key string }

// Fetch reads the hash.
func (b *blocks) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: b.key, Type: "hash", Pairs: mostPairs}}
}

// Decode returns the blocks as a log with an entry at the start of each.
func (b *blocks) Decode(now limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL, Members: form.Members(got)}
	d.Algorithm = limiter.SlidingLog
	if !s.Exists() {
		return d
	}
	var ok bool
	if d.State.Log, d.Window, ok = readBlocks(s, now); !ok {
		d.Err = "holds no counts of one rule of ratelimit.js: correct its rule, or remove the key"
	}
	return d
}
