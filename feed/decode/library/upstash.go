package library

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

func upstash(s *decode.Sample, c decode.Context) *decode.Match {
	if _, ok := s.Fields["refilledAt"]; ok {
		return upstashBucket(s, c)
	}
	return upstashWindow(s, c)
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
	if !ok && sure { // a second window keeps it, and a second more
		w, usual, ok = form.WindowOfIndex(index+1, c.Now)
	}
	if !ok || !sure && !(usual && strings.Contains(base, ":")) {
		return nil
	}
	windows := aligned(limiter.FixedWindow, w, form.Numbered(base+":", w, ""))
	windows.Before, windows.Charged, windows.Hides, windows.Count = true, true, true, givenBack
	splits := upstashSplits(base)
	x := &upstashBeside{upstashName: splits[0]}
	m := &decode.Match{Name: base, Prefix: x.prefix, Why: []string{"named <prefix>:<id>:<index of a window>"}}
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
		windows.Settings.Algorithm, windows.Charged = limiter.SlidingWindow, false
		windows.Settings.Convention.Rule = convention.Below
		m.Why = append(m.Why, "it expires two windows and a second after its first request")
	default:
		return nil
	}
	if !sure { // many programs number their windows
		m.Why = append(m.Why, "beside it are <prefix>:events:<hour> or <prefix>:dynamic:global")
	}
	x.choose(m, splits, sure, c.Now)
	regions := s.Type == "hash"
	m.Algorithm = windows.Settings.Algorithm
	m.Limiter = x.beside(windows, func(d *decode.Decoded, own []decode.Sample, most int64, _ decode.Settings) {
		if d.PreviousKnown = true; regions {
			d.ReadWhole(!slices.ContainsFunc(own[:2], func(s decode.Sample) bool { return s.Exists() && !s.Whole }))
			if d.Algorithm == limiter.SlidingWindow {
				d.Convention.Rule, d.Convention.Rounding = convention.Fits, convention.Exact
			}
		}
		if most > 0 {
			d.Limit.Count, d.LimitFrom, d.LimitKey = most, model.LimitOfSibling, x.dynamicKey()
		}
	})
	if regions {
		if !sure {
			return nil
		}
		windows.How, windows.Count = decode.Fetch{Type: "hash", Pairs: mostPairs}, sumOfCosts
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

// upstashBeside is what stands beside the keys of one identifier: the dynamic limit, and the events.
type upstashBeside struct {
	upstashName
	events upstashEvents
}

// beside returns a limiter of the identifier. take is given the samples of its own keys and the dynamic limit, 0
// where there is none.
func (u *upstashBeside) beside(
	of decode.Limiter, take func(d *decode.Decoded, own []decode.Sample, most int64, given decode.Settings),
) decode.Limiter {
	return &form.Beside{
		Of: of,
		Keys: func(now limiter.Instant) []decode.Fetch {
			return append(form.Texts(u.dynamicKey()), u.events.fetch(u.prefix, u.id, now)...)
		},
		Take: func(d *decode.Decoded, now limiter.Instant, own, beside []decode.Sample, given decode.Settings) {
			most, ok := form.Count(beside[0].Text)
			if !ok || most > limiter.MaxCount {
				most = 0
			}
			take(d, own, most, given)
			d.Denied, d.NewlyDenied = u.events.take(now, d.Window, beside[1:])
		},
	}
}

// givenBack reads a counter of which more may have been given back than was taken.
func givenBack(s *decode.Sample) (int64, bool) {
	if !s.Exists() {
		return 0, true
	}
	n, ok := form.Signed(s.Text)
	return max(n, 0), ok
}

// mostPairs is about how many requests of several regions are read one by one.
const mostPairs = 1000

// sumOfCosts adds the costs in a hash whose fields are the random ids of requests.
func sumOfCosts(s *decode.Sample) (sum int64, ok bool) {
	for id, cost := range s.Fields {
		n, ok := form.Signed(cost)
		if !ok || len(id) != 16 || strings.Trim(id, alphanumeric) != "" {
			return 0, false
		}
		sum += n
	}
	return max(sum, 0), true
}

// upstashName is what the keys of one limiter have in common: its prefix, with the colon behind it,
// and the identifier.
type upstashName struct{ prefix, id string }

// upstashMostSplits bounds at how many colons a name is split: a prefix of a person's own may hold
// some, and identifiers as well.
const upstashMostSplits = 4

// upstashSplits returns the ways to read what the keys of one limiter have in common, at least one.
func upstashSplits(base string) (all []upstashName) {
	if id, ok := strings.CutPrefix(base, model.UpstashPrefix); ok {
		return []upstashName{{model.UpstashPrefix, id}}
	}
	for i := range len(base) {
		if base[i] == ':' && len(all) < upstashMostSplits {
			all = append(all, upstashName{base[:i+1], base[i+1:]})
		}
	}
	if all == nil {
		return []upstashName{{"", base}}
	}
	return all
}

// choose has the keys beside the limiter, which no other program writes, tell which of several names is right: the one with the
// longest prefix beside which there is one; else the first, where the limiter is sure without them.
func (u *upstashBeside) choose(m *decode.Match, names []upstashName, sure bool, now limiter.Instant) {
	if sure && len(names) == 1 {
		return
	}
	for _, n := range names { // what analytics record, and the dynamic limit
		m.Siblings = append(m.Siblings, decode.Fetch{Key: upstashEventsKey(n.prefix, now), Type: "zset"},
			decode.Fetch{Key: n.dynamicKey(), Type: "string"})
	}
	m.Confirm = func(got []decode.Sample) bool {
		last := -1
		for i := range got {
			if got[i].Exists() {
				last = i / 2
			}
		}
		u.upstashName = names[max(last, 0)]
		m.Prefix = u.prefix
		return sure || last >= 0
	}
}

// dynamicKey returns the string that holds the limit of all identifiers, where there is one.
func (n *upstashName) dynamicKey() string { return n.prefix + model.UpstashDynamic }

// upstashBucket recognizes the token bucket of @upstash/ratelimit: tokens were left at refilledAt, a
// time in milliseconds, from which on a batch of tokens comes each interval. A denied request writes
// nothing.
func upstashBucket(s *decode.Sample, c decode.Context) *decode.Match {
	splits := upstashSplits(s.Key)
	b := &upstashBeside{upstashName: splits[0]}
	bucket := &form.Reader{Keys: form.Hash(s.Key, "tokens", "refilledAt"), Holds: "token bucket of @upstash/ratelimit",
		Settings: decode.Settings{Algorithm: limiter.TokenBucket, Convention: limiter.Convention{Refill: convention.Interval}, NeedsBurst: true},
		Read: func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool {
			s := &got[0]
			tokens, ok := form.Signed(s.Fields["tokens"])
			ms, timed := form.Count(s.Fields["refilledAt"])
			form.SetBatches(d, given, float64(tokens), limiter.Instant(ms*1000), now)
			return ok && timed && s.Length == 2 && s.TTL > 0 && decode.UnitOf(float64(ms), now) == time.Millisecond
		}}
	m := bucket.Match(s, c, decode.Match{Prefix: b.prefix, Why: []string{"a hash of tokens and refilledAt, in milliseconds", "it expires"}})
	if m == nil {
		return nil
	}
	// Of the limit that a rule gives, the count is what comes back each window, the interval, and the burst is the
	// size, unless a dynamic limit says it.
	m.Limiter = b.beside(bucket, func(d *decode.Decoded, _ []decode.Sample, most int64, given decode.Settings) {
		if most > 0 && given.LimitFrom != model.NoLimit {
			d.Limit, d.LimitFrom, d.LimitKey = given.Limit, model.LimitOfSibling, b.dynamicKey()
			d.Limit.Burst = most
		}
	})
	b.choose(m, splits, true, c.Now)
	return m
}

// upstashEvents follows what analytics record: a sorted set for each hour,
// <prefix>:events:<start of the hour in milliseconds>, whose members are the JSON of an identifier
// and what became of its requests, with their number as the score. Members with a place, as on
// Vercel, are not read.
type upstashEvents struct {
	hour    limiter.Instant
	on      bool            // analytics were seen
	asked   limiter.Instant // when it was looked for them
	waiting bool            // the samples hold them
	begun   limiter.Instant // of the counts
	total   int64           // denied in this hour
	steps   []eventStep     // within the last window, oldest first
}

type eventStep struct {
	at limiter.Instant
	n  int64
}

// upstashEventsEvery is how often to look whether analytics are on.
const upstashEventsEvery = 10 * time.Second

// fetch returns what to read: nothing while there are no analytics and it was looked for them lately.
func (e *upstashEvents) fetch(prefix, id string, now limiter.Instant) []decode.Fetch {
	name, err := json.Marshal(id)
	if e.waiting = err == nil && (e.on || e.asked == 0 || now.Sub(e.asked) >= upstashEventsEvery); !e.waiting {
		return nil
	}
	e.asked = now
	member := func(fate string) string { return `{"identifier":` + string(name) + `,"success":` + fate + `}` }
	return []decode.Fetch{{
		Key: upstashEventsKey(prefix, now), Type: "zset", Scores: []string{member("false"), member(`"denied"`)},
	}}
}

// upstashEventsKey returns the key of the hour that holds now.
func upstashEventsKey(prefix string, now limiter.Instant) string {
	return prefix + "events:" + strconv.FormatInt(now.Floor(time.Hour).Millis(), 10)
}

// take returns how many requests were denied in the last window, known once a whole one was watched
// or nothing was ever denied in it, and how many since the call before.
func (e *upstashEvents) take(now limiter.Instant, window time.Duration, got []decode.Sample) (denied model.Count, fresh int64) {
	if !e.waiting || len(got) == 0 {
		return model.Count{}, 0
	}
	if e.on = e.on || got[0].Exists(); !e.on {
		return model.Count{}, 0
	}
	total := int64(0)
	for _, n := range got[0].Scores {
		if n > 0 && n < 1<<53 {
			total += int64(n)
		}
	}
	hour := now.Floor(time.Hour)
	if e.begun == 0 {
		e.begun, e.hour, e.total = now, hour, total
		if total == 0 && now.Sub(hour) >= window { // the set of this hour says so
			e.begun = now.Add(-window)
		}
	}
	if hour != e.hour {
		e.hour, e.total = hour, 0
	}
	if fresh = max(total-e.total, 0); fresh > 0 {
		e.steps = append(e.steps, eventStep{now, fresh})
	}
	e.total = total
	for len(e.steps) > 0 && e.steps[0].at <= now.Add(-window) {
		e.steps = e.steps[1:]
	}
	for _, s := range e.steps {
		denied.N += s.n
	}
	denied.Known = window > 0 && now.Sub(e.begun) >= window
	return denied, fresh
}
