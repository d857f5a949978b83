package library

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/redisstore"
	"ratescope/model/collect"
)

// randomUUID is one as 7d287dec-589d-42f9-b066-39510b224d81.
var randomUUID = collect.Regexp(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func rollingRateLimiter(s *decode.Sample, c decode.Context) *decode.Match {
	lives, ok := form.Newest(s, c.Now, time.Microsecond)
	if !ok || !form.BothEnds(s, func(e decode.Element) bool { return randomUUID().MatchString(e.Member) && !form.HasFraction(e) }) {
		return nil
	}
	window := (lives + form.ClockSlack).Truncate(time.Second) // the expiry is told a moment before the clock
	if oldest := decode.InstantIn(s.First[0].Score, time.Microsecond); !c.Named && c.Now.Sub(oldest) <= window/2 {
		return nil // it may live for longer than its window, as many that applications write
	}
	if window == 0 || lives-window > 100*time.Millisecond && !c.Named || !form.Spans(s, time.Microsecond, window) {
		return nil
	}
	return form.Logged(window, convention.Charged, form.PrefixOf(s.Key), "a sorted set of random UUIDs whose scores are microseconds",
		"it expires a whole number of seconds after its newest score")
}

func slidingWindowRateLimiter(s *decode.Sample, c decode.Context) *decode.Match {
	window, whole, ok := thousandth(s, c.Now)
	if !ok || !whole || !c.Named {
		return nil
	}
	return form.Logged(window, convention.Free, form.PrefixOf(s.Key), "a sorted set whose members are their scores, in microseconds",
		"it lives a thousand windows")
}

// thousandth returns the thousandth part of how long a log of microseconds lives, and whether it
// lives whole seconds; ok is false where s is none, or its members do not lie that close together.
func thousandth(s *decode.Sample, now limiter.Instant) (window time.Duration, whole, ok bool) {
	lives, ok := form.Newest(s, now, time.Microsecond)
	if !ok || !form.BothEnds(s, form.IsScore) {
		return 0, false, false
	}
	seconds := lives.Round(time.Second)
	window = seconds / 1000
	return window, (lives - seconds).Abs() <= form.ClockSlack, form.Spans(s, time.Microsecond, window)
}

// isThousandfold reports whether a log may be one that lives a thousand usual windows: its expiry
// is no usual window itself. The clock that the sample is compared with may lag behind the server.
func isThousandfold(s *decode.Sample, now limiter.Instant) bool {
	window, _, ok := thousandth(s, now)
	return ok && slices.Contains(decode.Periods[:], window) && !slices.Contains(decode.Periods[:], 1000*window)
}

func pyrateLimiter(s *decode.Sample, c decode.Context) *decode.Match {
	if s.TTL > 0 || !form.BothEnds(s, func(e decode.Element) bool { return isPyrateEntry(e, c.Now) }) {
		return nil
	}
	m := &decode.Match{Kind: decode.Log, Why: []string{"a sorted set without expiry",
		"its members are <item>:<6 random letters and digits>:<unit>, by the millisecond"}}
	m.Algorithm, m.Convention.Edge = limiter.SlidingLog, convention.Closed
	return m
}

// pyrateMember is one, of which the second part is random.
var pyrateMember = collect.Regexp(`(?s)^.+:([0-9A-Za-z]{6}):[1-9]\d{0,14}$`)

// isPyrateEntry says whether a member is a unit of a request. Six random letters and digits are
// hardly ever all digits or a word.
func isPyrateEntry(e decode.Element, now limiter.Instant) bool {
	found := pyrateMember().FindStringSubmatch(e.Member)
	return decode.UnitOf(e.Score, now) == time.Millisecond && !form.HasFraction(e) && found != nil && !form.IsNumber(found[1]) &&
		strings.Trim(found[1], "abcdefghijklmnopqrstuvwxyz") != ""
}

const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func counterSlidingWindow(s *decode.Sample, c decode.Context) *decode.Match {
	if s.TTL <= 0 || !onlyCounts(s) {
		return nil
	}
	return &decode.Match{Kind: decode.Stream, Settings: decode.Settings{Algorithm: limiter.StreamCounter},
		Why: []string{"a stream whose entries hold nothing but a count"}}
}

// onlyCounts says whether the last entry of a stream holds a count above zero and nothing but a
// running total beside it.
func onlyCounts(s *decode.Sample) bool {
	n, ok := form.Count(s.Entry["count"])
	_, total := s.Entry["total"]
	return ok && n > 0 && (len(s.Entry) == 1 || len(s.Entry) == 2 && total)
}

// ratescope recognizes the keys of the package limiter of this module.
func ratescope(s *decode.Sample, c decode.Context) *decode.Match {
	kind, why := ownForm(s, c)
	if kind == decode.None {
		return nil
	}
	m := &decode.Match{Kind: kind, Why: []string{why}}
	if m.Algorithm = ownAlgorithms[kind]; kind == decode.Bucket && s.Fields["level"] != "" {
		m.Algorithm = limiter.LeakyBucket
	}
	return m
}

var ownAlgorithms = map[decode.Kind]limiter.Algorithm{decode.Log: limiter.SlidingLog, decode.Stream: limiter.StreamCounter,
	decode.TAT: limiter.GCRA, decode.Bucket: limiter.TokenBucket}

// ownForm tells in which form of the package limiter s is, and why.
func ownForm(s *decode.Sample, c decode.Context) (decode.Kind, string) {
	now, named := c.Now, c.Named || strings.HasPrefix(s.Key, redisstore.DefaultPrefix)
	switch s.Type {
	case "zset":
		if named && s.TTL > 0 && form.BothEnds(s, func(e decode.Element) bool { return isOwnEntry(e, now) }) && !isThousandfold(s, now) {
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
