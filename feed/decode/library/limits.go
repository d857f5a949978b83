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

// limits recognizes the keys of limits.
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
		m.Limiter = &renamedHalves{key: n.key, window: n.window, limit: n.amount}
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

// renamedHalves is a sliding window counter of two strings of which the previous one was the
// current one until it was renamed.
type renamedHalves struct {
	key    string
	window time.Duration
	limit  int64
}

// Fetch reads the current and the previous counter.
func (r *renamedHalves) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: r.key, Type: "string"}, {Key: r.key + "/-1", Type: "string"}}
}

// Decode renames in thought what the next request will rename: a current counter with less than a
// window left.
func (r *renamedHalves) Decode(now limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	d := decode.Decoded{PreviousKnown: true, Members: form.Members(got), Type: "none"}
	d.Algorithm, d.Window, d.Convention.Alignment = limiter.SlidingWindow, r.window, limiter.AlignFirstRequest
	d.Limit.Count, d.LimitFrom = r.limit, model.LimitOfName
	for i := range got {
		if got[i].Exists() {
			d.Type, d.TTL = got[i].Type, max(d.TTL, got[i].TTL)
			if _, ok := form.Count(got[i].Text); !ok {
				d.Err = form.NoCount
				return d
			}
		}
	}
	current, previous := got[0], got[1]
	d.State.Start, d.State.PreviousStart = now, now.Add(-r.window)
	if current.Exists() {
		d.State.Current, _ = form.Count(current.Text)
		d.State.Start = form.Expiry(now, current.TTL).Add(-2 * r.window)
		d.State.PreviousStart = d.State.Start.Add(-r.window)
	}
	if previous.Exists() {
		d.State.Previous, _ = form.Count(previous.Text)
		d.State.PreviousStart = form.Expiry(now, previous.TTL).Add(-2 * r.window)
	}
	return d
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
