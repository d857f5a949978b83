package library

import (
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
)

// ratescope is the package limiter of this module. Counters are known by their names alone; see
// decode.ByName. Here are the layouts whose names the caller chooses: a stream of counts, a bucket
// of two fields, and a theoretical arrival time with a fraction of a microsecond. A log whose members
// are their scores, and a time without a fraction, are what the scripts of others write, too: they are
// known under the prefix that the package gives names by default, or where a rule names the library.
var ratescope = &decode.Library{
	Name: model.OwnLibrary, Types: []string{"zset", "stream", "hash", "string"}, Fields: []string{"tokens", "level", "at"},
	Silent: []string{"the limit", "denied requests, unless they are recorded in <key>:denied"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		kind, why := ownForm(s, c)
		if kind == decode.None {
			return nil
		}
		m := &decode.Match{Kind: kind, Why: []string{why}}
		switch kind {
		case decode.Log:
			m.Algorithm = limiter.SlidingLog
		case decode.Stream:
			m.Algorithm = limiter.StreamCounter
		case decode.TAT:
			m.Algorithm = limiter.GCRA
		case decode.Bucket:
			if m.Algorithm = limiter.TokenBucket; s.Fields["level"] != "" {
				m.Algorithm = limiter.LeakyBucket
			}
		}
		return m
	},
}

// ownForm tells in which form of the package limiter s is, and why.
func ownForm(s *decode.Sample, c decode.Context) (decode.Kind, string) {
	now, named := c.Now, c.Named || strings.HasPrefix(s.Key, redisstore.DefaultPrefix)
	switch s.Type {
	case "zset":
		if named && s.TTL > 0 && len(s.First) > 0 && len(s.Last) > 0 && isOwnEntry(s.First[0], now) && isOwnEntry(s.Last[0], now) &&
			!isThousandfold(s, now) {
			return decode.Log, "a sorted set whose members are their scores, in microseconds"
		}
	case "stream":
		if id, ok := decode.ParseID(s.EntryID); ok && s.TTL > 0 && onlyCounts(s) && id.Fine() != id.At() {
			return decode.Stream, "a stream whose entries hold a count and its running total"
		}
	case "hash":
		m, ok := decode.ParseMoment(s.Fields["at"])
		if !ok || s.Length != 2 || s.TTL <= 0 || decode.UnitOf(float64(m.At), now) != time.Microsecond {
			return decode.None, ""
		}
		for _, field := range [...]string{"tokens", "level"} {
			if _, ok := form.Count(s.Fields[field]); ok {
				return decode.Bucket, "a hash of " + field + " and a time in microseconds"
			}
		}
	case "string":
		m, ok := decode.ParseMoment(s.Text)
		switch {
		case !ok || s.TTL <= 0 || decode.UnitOf(float64(m.At), now) != time.Microsecond:
		case m.Parts > 1:
			return decode.TAT, "a time in microseconds with a fraction"
		case named && m.At <= s.Expiry(now).Add(form.Latency) &&
			s.Expiry(now).Sub(m.At) <= limiter.MaxWindow:
			return decode.TAT, "named " + redisstore.DefaultPrefix + "<key>, a time in microseconds at which its key is still there"
		}
	}
	return decode.None, ""
}

// isOwnEntry says whether a member of a sorted set is an entry of a log: its score in
// microseconds, and a number after a dash where one microsecond saw several.
func isOwnEntry(e decode.Element, now limiter.Instant) bool {
	stamp, number, several := strings.Cut(e.Member, "-")
	n, err := strconv.ParseInt(stamp, 10, 64)
	if nth, ok := form.Count(number); several && (!ok || nth == 0) {
		return false
	}
	return err == nil && float64(n) == e.Score && decode.UnitOf(e.Score, now) == time.Microsecond
}
