package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
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
		windows.Settings.Convention.Rule = limiter.RuleBelow
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
	regions := s.Type == "hash"
	m.Algorithm = windows.Settings.Algorithm
	m.Limiter = x.beside(windows, func(d *decode.Decoded, own []decode.Sample, most int64, _ decode.Settings) {
		if d.PreviousKnown = true; regions {
			if d.Partial = !(complete(&own[0]) && complete(&own[1])); d.Algorithm == limiter.SlidingWindow {
				d.Convention.Rule, d.Convention.Rounding = limiter.RuleFits, limiter.RoundExact
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
func (u *upstashBeside) beside(of decode.Limiter, take func(d *decode.Decoded, own []decode.Sample, most int64, given decode.Settings)) decode.Limiter {
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

func complete(s *decode.Sample) bool { return !s.Exists() || s.Whole }

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
