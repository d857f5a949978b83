package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// upstash is @upstash/ratelimit, whose default prefix is @upstash/ratelimit. Its windows are strings
// <prefix>:<id>:<index>, by the client's clock; under another prefix they are those of many programs,
// unless what analytics record or a dynamic limit stands beside them, <prefix>:events:<hour> and
// <prefix>:dynamic:global. Over several regions they are hashes of a cost for each request. A fixed window expires
// a window after its first request, a sliding one two windows and a
// second after it, so that one look tells them apart; a cached fixed window never expires. Its token
// bucket is the hash <prefix>:<id> of tokens and refilledAt.
//
// A sliding window denies when floor(previous × what is left of it) + current reaches the limit, and
// an admitted request is charged in full; denied ones are free. Over several regions it does not
// round, and looks at the cost. A fixed window charges denied requests; a process that caches denials
// does not even ask.
var upstash = &decode.Library{
	Name: "upstash-ratelimit", Version: "2.2.0", Types: []string{"string", "hash"}, Fields: []string{"tokens", "refilledAt"},
	Silent: []string{"the limit, unless it is a dynamic one", "of buckets the size, the refill and the interval",
		"denied requests, unless analytics are on", "who is on the deny list"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if _, ok := s.Fields["refilledAt"]; ok {
			return upstashBucket(s, c)
		}
		return upstashWindow(s, c)
	},
}

// upstashWindow recognizes the counter of a window.
func upstashWindow(s *decode.Sample, c decode.Context) *decode.Match {
	base, last, _ := form.LastPart(s.Key, ':')
	index, ok := form.Count(last)
	if !ok || base == "" {
		return nil
	}
	w, usual, ok := form.WindowOfIndex(index, c.Now)
	sure := c.Named || strings.HasPrefix(base, model.UpstashPrefix)
	if !ok || !sure && !(usual && strings.Contains(base, ":")) {
		return nil
	}
	x := &upstashCounters{indexed: form.Indexed{Key: form.Suffixed(base + ":"), Window: w, How: form.TextCounter, Count: form.TextCount}}
	splits := upstashSplits(base)
	x.upstashName = splits[0]
	m := &decode.Match{Name: base, Prefix: x.prefix, Limiter: x, Why: []string{"named <prefix>:<id>:<index of a window>"}}
	m.Window = w
	switch lives := s.Expiry(c.Now).Sub(limiter.Instant(index) * limiter.Instant(w.Microseconds())); {
	case s.TTL == model.Forever:
		if !sure || s.Type != "string" {
			return nil
		}
		m.Why = append(m.Why, "no expiry, as a cached window")
	case lives >= w-upstashSlack && lives <= 2*w+upstashSlack:
		m.Why = append(m.Why, "it expires a window after its first request")
	case lives >= 2*w+time.Second-upstashSlack && lives <= 3*w+time.Second+upstashSlack:
		x.sliding = true
		m.Why = append(m.Why, "it expires two windows and a second after its first request")
	default:
		return nil
	}
	if !sure { // many programs number their windows
		m.Why = append(m.Why, "beside it are <prefix>:events:<hour> or <prefix>:dynamic:global")
	}
	if !sure || len(splits) > 1 {
		chosen := upstashTraces(splits, c.Now)
		m.Siblings, m.Confirm = chosen.siblings, func(got []decode.Sample) bool {
			name, ok := chosen.pick(got)
			x.upstashName, m.Prefix = name, name.prefix
			return ok || sure
		}
	}
	if m.Algorithm = limiter.FixedWindow; x.sliding {
		m.Algorithm = limiter.SlidingWindow
	}
	if s.Type == "hash" {
		if !sure {
			return nil
		}
		x.regions, x.indexed.How, x.indexed.Count = true, decode.Fetch{Type: "hash", Pairs: mostPairs}, sumOfCosts
		beside := m.Confirm
		m.Siblings = append([]decode.Fetch{{Key: s.Key, Type: "hash", Pairs: mostPairs}}, m.Siblings...)
		m.Confirm = func(got []decode.Sample) bool {
			_, ok := sumOfCosts(&got[0])
			return ok && got[0].Exists() && (beside == nil || beside(got[1:]))
		}
		return m
	}
	if _, ok := form.Signed(s.Text); !ok {
		return nil
	}
	return m
}

// upstashSlack is how far the clock of a client may be off the server's.
const upstashSlack = 400 * time.Millisecond

// upstashCounters are the counters of one identifier, with the dynamic limit and the events beside.
type upstashCounters struct {
	indexed form.Indexed
	upstashName
	sliding bool
	regions bool
	events  upstashEvents
}

// Fetch reads the counters, the dynamic limit, and what analytics recorded of the identifier.
func (u *upstashCounters) Fetch(now limiter.Instant) []decode.Fetch {
	all := append(u.indexed.Fetch(now), decode.Fetch{Key: u.dynamicKey(), Type: "string"})
	return append(all, u.events.fetch(u.prefix, u.id, now)...)
}

// Decode weighs the windows.
func (u *upstashCounters) Decode(now limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	d := u.indexed.Decode(now, got)
	d.Algorithm, d.Charged, d.Hides = limiter.FixedWindow, true, true
	if u.sliding {
		d.Algorithm, d.Charged = limiter.SlidingWindow, false
		if d.Convention.Rule = limiter.RuleBelow; u.regions {
			d.Convention.Rule, d.Convention.Rounding = limiter.RuleFits, limiter.RoundExact
		}
	}
	d.Partial = u.regions && !(complete(&got[0]) && complete(&got[1]))
	if most, ok := upstashLimit(&got[2]); ok {
		d.Limit.Count, d.LimitFrom, d.LimitKey = most, model.LimitOfSibling, u.dynamicKey()
	}
	d.Denied, d.NewlyDenied = u.events.take(now, u.indexed.Window, got[3:])
	return d
}

// upstashLimit reads the dynamic limit.
func upstashLimit(s *decode.Sample) (int64, bool) {
	n, ok := form.Count(s.Text)
	return n, ok && s.Exists() && n > 0 && n <= limiter.MaxCount
}

// mostPairs is about how many requests of several regions are read one by one.
const mostPairs = 1000

func complete(s *decode.Sample) bool { return !s.Exists() || s.Whole }

// sumOfCosts adds the costs in a hash whose fields are the random ids of requests.
func sumOfCosts(s *decode.Sample) (sum int64, ok bool) {
	for id, cost := range s.Fields {
		n, ok := form.Signed(cost)
		if !ok || len(id) != 16 || strings.IndexFunc(id, func(r rune) bool { return !isAlphanumeric(r) }) >= 0 {
			return 0, false
		}
		sum += n
	}
	return max(sum, 0), true
}

func isAlphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
