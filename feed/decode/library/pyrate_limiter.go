package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// pyrateLimiter is PyrateLimiter: a sorted set of any name that never expires, with a member
// <item>:<6 random letters and digits>:<1…weight> for each unit, by the client's clock in whole
// milliseconds. Denied requests write nothing. Entries that left the longest window linger until
// they are cleared away, so that neither limit nor window can be told.
var pyrateLimiter = &decode.Library{
	Name: "pyrate-limiter", Version: "4.4.0", Published: true, Types: []string{"zset"},
	Silent: []string{"limits and windows, of which one limiter may have several", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if s.TTL > 0 || len(s.First) == 0 || len(s.Last) == 0 || !isPyrateEntry(s.First[0], c.Now) ||
			!isPyrateEntry(s.Last[len(s.Last)-1], c.Now) {
			return nil
		}
		m := &decode.Match{Kind: decode.Log, Why: []string{"a sorted set without expiry",
			"its members are <item>:<6 random letters and digits>:<unit>, by the millisecond"}}
		m.Algorithm, m.Convention.Edge = limiter.SlidingLog, limiter.EdgeClosed
		return m
	},
}

// isPyrateEntry says whether a member is a unit of a request. Six random letters and digits are
// hardly ever all digits or a word.
func isPyrateEntry(e decode.Element, now limiter.Instant) bool {
	front, unit, _ := form.LastPart(e.Member, ':')
	item, random, _ := form.LastPart(front, ':')
	n, ok := form.Count(unit)
	if !ok || n == 0 || item == "" || len(random) != 6 || decode.UnitOf(e.Score, now) != time.Millisecond ||
		e.Score != float64(int64(e.Score)) {
		return false
	}
	lower := strings.Trim(random, "abcdefghijklmnopqrstuvwxyz") == ""
	return strings.Trim(random, alphanumeric) == "" && !lower && !form.IsNumber(random)
}

const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
