package library

import (
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

func limits(s *decode.Sample, c decode.Context) *decode.Match {
	n, ok := limitsName(s.Key)
	if !ok || s.TTL <= 0 {
		return nil
	}
	m := &decode.Match{Name: n.key, Prefix: n.prefix, Suffix: n.suffix, Why: []string{"named <id>/<amount>/<multiples>/<granularity>"}}
	m.Window, m.Limit.Count, m.LimitFrom = n.window, n.amount, model.LimitOfName
	switch {
	case s.Type == "list":
		if len(s.First) == 0 || !isRecent(s.First[0].Member, c.Now, n.window) || s.Length > n.amount || s.TTL > n.window {
			return nil
		}
		m.Algorithm, m.Convention.Edge = limiter.SlidingLog, limiter.EdgeClosed
		m.Limiter = &form.ListLog{Key: n.key, Edge: limiter.EdgeClosed, Window: n.window, Limit: n.amount, From: model.LimitOfName}
		m.Why = append(m.Why, "a list of times within that window")
	case n.braces && form.IsCounter(s) && s.TTL <= 2*n.window:
		m.Algorithm = limiter.SlidingWindow
		halves := decode.Settings{Algorithm: limiter.SlidingWindow, Window: n.window, LimitFrom: model.LimitOfName}
		halves.Convention.Alignment, halves.Limit.Count = limiter.AlignFirstRequest, n.amount
		m.Limiter = &form.Reader{Keys: form.Texts(n.key, n.key+"/-1"), Either: true, Settings: halves, Holds: "count", Read: renamedHalves}
		m.Why = append(m.Why, "an integer that expires within two of its windows")
	case !n.braces && form.IsCounter(s) && s.TTL <= n.window:
		m.Algorithm = limiter.FixedWindow
		m.Limiter = &form.Counter{Key: n.key, Charged: true, Window: n.window, Limit: n.amount, From: model.LimitOfName}
		m.Why = append(m.Why, "an integer that expires within that window")
	default:
		return nil
	}
	return m
}

// limitsKey is what the name of a key says.
type limitsKey struct {
	key            string // without /-1
	prefix, suffix string // of the limits that share amount and window
	amount         int64
	window         time.Duration
	braces         bool
}

var granularities = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour,
	"day": 24 * time.Hour, "month": 30 * 24 * time.Hour, "year": 360 * 24 * time.Hour,
}

// limitsName reads a name from its end: what identifies the client may hold slashes of its own.
func limitsName(key string) (n limitsKey, ok bool) {
	n.key = strings.TrimSuffix(key, "/-1")
	name, closed := strings.CutSuffix(n.key, "}")
	if n.braces = closed && strings.Contains(name, "{"); n.braces != closed || !n.braces && n.key != key {
		return n, false
	}
	rest := name
	var parts [3]string
	for i := 2; i >= 0; i-- {
		if rest, parts[i], ok = form.LastPart(rest, '/'); !ok {
			return n, false
		}
	}
	amount, aok := form.Count(parts[0])
	multiples, mok := form.Count(parts[1])
	unit := granularities[parts[2]]
	if !aok || !mok || unit == 0 || amount <= 0 || amount > limiter.MaxCount || multiples <= 0 || multiples > int64(limiter.MaxWindow/unit) ||
		!strings.Contains(rest, "/") {
		return n, false
	}
	n.amount, n.window = amount, time.Duration(multiples)*unit
	n.prefix, n.suffix = rest[:strings.IndexByte(rest, '/')+1], n.key[len(rest):]
	return n, true
}

// clientAhead is how far a client's clock may be off the server's.
const clientAhead = 5 * time.Second

// renamedHalves reads a sliding window counter of two strings of which the previous one was the
// current one until it was renamed: also what the next request will rename, a current counter with less than a
// window left.
func renamedHalves(d *decode.Decoded, now limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
	d.PreviousKnown = true
	d.State.Start, d.State.PreviousStart = now, now.Add(-d.Window)
	good := true
	for i, n := range []*int64{&d.State.Current, &d.State.Previous} {
		if !got[i].Exists() {
			continue
		}
		var ok bool
		*n, ok = form.Count(got[i].Text)
		good = good && ok
		start := form.Expiry(now, got[i].TTL).Add(-2 * d.Window)
		if d.State.PreviousStart = start; i == 0 {
			d.State.Start, d.State.PreviousStart = start, start.Add(-d.Window)
		}
	}
	return good
}

// isRecent says whether text is a time in seconds of the window before now.
func isRecent(text string, now limiter.Instant, window time.Duration) bool {
	v, ok := strconv.ParseFloat(text, 64)
	if ok != nil || decode.UnitOf(v, now) != time.Second {
		return false
	}
	age := now.Sub(decode.InstantIn(v, time.Second))
	return age > -clientAhead && age < window+clientAhead
}
