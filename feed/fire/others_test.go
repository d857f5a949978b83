package fire

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// TestAmongOthers: what else was counted while an action fired is told from how much more a log held, and
// of what drains from when the key was as new. What stands beside the counts is none of them.
func TestAmongOthers(t *testing.T) {
	limit := limiter.Limit{Count: 60, Window: time.Minute} // one a second
	at := func(seconds float64) limiter.Instant { return limiter.Instant(seconds * 1e6) }
	log := func(members string) []savedKey {
		return []savedKey{
			keyHolding(strconv.Quote("k"), "zset, "+members+" members"),
			keyHolding(strconv.Quote(layout.DeniedKey("k")), "zset, 99 members"),
		}
	}
	charged := []charge{{at: at(10), cost: 1, used: 11, asNew: at(21)}, {at: at(11), cost: 1, used: 11, asNew: at(22)}}
	theirs := []charge{{at: at(10), cost: 1, used: 11, asNew: at(21)}, {at: at(12), cost: 1, used: 11, asNew: at(23)}} // drained as much as they took
	for name, c := range map[string]struct {
		algorithm     limiter.Algorithm
		before, after []savedKey
		charged       []charge
		asNew, now    limiter.Instant
		want          string // "" none
	}{
		"alone":                {algorithm: limiter.SlidingLog, before: log("10"), after: log("12"), charged: charged},
		"one more":             {algorithm: limiter.SlidingLog, before: log("10"), after: log("13"), charged: charged, want: "has written"},
		"some expired":         {algorithm: limiter.SlidingLog, before: log("10"), after: log("11"), charged: charged, want: "may have written"},
		"drains, alone":        {algorithm: limiter.GCRA, charged: charged, asNew: at(20), now: at(22)},
		"drains, as new since": {algorithm: limiter.GCRA, charged: charged, asNew: at(20), now: 0, want: "may have written"},
		"drains, between":      {algorithm: limiter.GCRA, charged: theirs, asNew: at(20), now: at(23), want: "between its requests"},
		"drains, before":       {algorithm: limiter.GCRA, charged: charged, asNew: at(19), now: at(22), want: "between its requests"},
		"drains, since":        {algorithm: limiter.GCRA, charged: charged, asNew: at(20), now: at(23), want: "since its last"},
	} {
		target := model.Target{Algorithm: c.algorithm, Limit: limit, LimitKnown: true, Window: limit.Window}
		got := amongOthers("k", target, entry{Before: c.before, AsNew: int64(c.asNew)}, entry{After: c.after}, c.charged, c.now)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want it to say %q", name, got, c.want)
		}
	}
}

// TestAmountIsOfCounters: a time that stands beside a counter moves by itself.
func TestAmountIsOfCounters(t *testing.T) {
	for library, keys := range map[string][2]string{"gin-rate-limit": {"192.0.2.1/hits", "192.0.2.1/ts"}, "laravel": {"app:login", "app:login:timer"}} {
		held := func(hits, second string) []savedKey {
			return []savedKey{
				keyHolding(strconv.Quote(keys[0]), "string, "+hits),
				keyHolding(strconv.Quote(keys[1]), "string, "+second),
			}
		}
		target := model.Target{Library: library, Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 5, Window: time.Hour}, LimitKnown: true, Window: time.Hour}
		charged := []charge{{at: 1, cost: 1, used: 2}, {at: 2, cost: 1, used: 3}}
		if got := amongOthers(keys[0], target, entry{Before: held("1", "1795000000")}, entry{After: held("3", "1795000001")}, charged, 0); got != "" {
			t.Errorf("%s: %s", library, got)
		}
	}
}

// TestExpiryIsNoRequestOfOthers: what expired while an action fired is told from what others wrote: in a log by what
// is newer than all that was there, in counters by their names and expiries.
func TestExpiryIsNoRequestOfOthers(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	key := func(name, holds string, expires int64, newer *int64) savedKey {
		k := keyHolding(strconv.Quote(name), holds)
		k.Digest, k.Expires, k.Newer = "", expires, newer
		if holds != "" {
			k.Digest = "x"
		}
		return k
	}
	const second = int64(1000)
	begun := time.Now().Truncate(time.Minute).Add(-time.Hour).UnixMilli()
	at := func(seconds int64) limiter.Instant { return limiter.Instant((begun + seconds*second) * 1000) }
	charged := []charge{{at: at(1), cost: 1, used: 3}, {at: at(70), cost: 1, used: 1}, {at: at(71), cost: 1, used: 2}}
	dear := []charge{{at: at(1), cost: 3, used: 3}, {at: at(2), cost: 4, used: 7}}
	window := func(seconds int64) string {
		return layout.Counter(limiter.FixedWindow, "k", layout.Layout{}, at(seconds).Floor(time.Minute))
	}
	for name, c := range map[string]struct {
		target        model.Target
		before, after []savedKey
		charged       []charge
		want          string // "" none
	}{
		"a log that was trimmed":           {model.Target{Algorithm: limiter.SlidingLog}, []savedKey{key("k", "zset, 9 members", 0, nil)}, []savedKey{key("k", "zset, 5 members", 0, n(2))}, charged[1:], ""},
		"and one request of others":        {model.Target{Algorithm: limiter.SlidingLog}, []savedKey{key("k", "zset, 9 members", 0, nil)}, []savedKey{key("k", "zset, 11 members", 0, n(3))}, charged[1:], "has written"},
		"a log that others removed from":   {model.Target{Algorithm: limiter.SlidingLog}, []savedKey{key("k", "zset, 9 members", 0, nil)}, []savedKey{key("k", "zset, 1 members", 0, n(1))}, charged[1:], "may have written"},
		"longer than the window":           {model.Target{Algorithm: limiter.SlidingLog}, []savedKey{key("k", "zset, 9 members", 0, nil)}, []savedKey{key("k", "zset, 3 members", 0, n(3))}, charged, "may have written"},
		"a stream":                         {model.Target{Algorithm: limiter.StreamCounter}, []savedKey{key("k", "stream, 9 entries", 0, nil)}, []savedKey{key("k", "stream, 2 entries", 0, n(3))}, charged, ""},
		"a stream, and others":             {model.Target{Algorithm: limiter.StreamCounter}, []savedKey{key("k", "stream, 9 entries", 0, nil)}, []savedKey{key("k", "stream, 8 entries", 0, n(7))}, dear, "has written"}, // 5 of theirs, 7 units of its own
		"a stream of units":                {model.Target{Algorithm: limiter.StreamCounter, Layout: layout.Layout{PerUnit: true}}, []savedKey{key("k", "stream, 9 entries", 0, nil)}, []savedKey{key("k", "stream, 8 entries", 0, n(7))}, dear, ""},
		"a list":                           {model.Target{Library: "limits", Algorithm: limiter.SlidingLog}, []savedKey{key("k", "list, 9 elements", 0, nil)}, []savedKey{key("k", "list, 9 elements", 0, n(3))}, charged, ""},
		"a counter whose window ended":     {model.Target{Library: "rate-limit-redis", Algorithm: limiter.FixedWindow}, []savedKey{key("k", "string, 2", begun+30*second, nil)}, []savedKey{key("k", "string, 2", begun+130*second, nil)}, charged, ""},
		"and others in the next":           {model.Target{Library: "rate-limit-redis", Algorithm: limiter.FixedWindow}, []savedKey{key("k", "string, 2", begun+30*second, nil)}, []savedKey{key("k", "string, 5", begun+130*second, nil)}, charged, "has written"}, // 3 more, as many as it was charged
		"a counter of the same window":     {model.Target{Library: "rate-limit-redis", Algorithm: limiter.FixedWindow}, []savedKey{key("k", "string, 2", begun+80*second, nil)}, []savedKey{key("k", "string, 5", begun+80*second, nil)}, charged, ""},
		"a counter that is gone":           {model.Target{Library: "rate-limit-redis", Algorithm: limiter.FixedWindow}, []savedKey{key("k", "string, 2", begun+30*second, nil)}, []savedKey{key("k", "", 0, nil)}, charged[:1], ""},
		"counters of windows":              {model.Target{Algorithm: limiter.FixedWindow}, []savedKey{key(window(1), "string, 2", begun+60*second, nil), key(window(70), "", 0, nil)}, []savedKey{key(window(1), "", 0, nil), key(window(70), "string, 2", begun+120*second, nil)}, charged, ""},
		"counters of windows, with others": {model.Target{Algorithm: limiter.FixedWindow}, []savedKey{key(window(1), "string, 2", begun+60*second, nil), key(window(70), "", 0, nil)}, []savedKey{key(window(1), "", 0, nil), key(window(70), "string, 5", begun+120*second, nil)}, charged, "has written"},
	} {
		c.target.Limit, c.target.LimitKnown, c.target.Window = limiter.Limit{Count: 60, Window: time.Minute}, true, time.Minute
		got := amongOthers("k", c.target, entry{Before: c.before}, entry{After: c.after}, c.charged, 0)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want it to say %q", name, got, c.want)
		}
	}
}

// keyHolding returns a key as a line of the audit file describes it in words.
func keyHolding(quoted, holds string) savedKey {
	k := savedKey{Key: quoted, Digest: "x", Holds: holds}
	k.fromWords()
	return k
}
