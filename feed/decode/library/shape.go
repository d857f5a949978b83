package library

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// counters are the words of a layout with a counter a window, whose key is named after the number of its window since 1970.
type counters struct {
	Index  string                   // what stands between the limiter's name and that number; "" in all other layouts
	Told   string                   // "now", "usual": that it is the number of now tells their length, which may have to be a usual one
	Slides bool                     // the window slides
	Limits map[string]limiter.Limit // those that the library has for names that end so
}

// window returns the match of the counter of a window.
func (k *state) window(s *decode.Sample, c decode.Context) *decode.Match {
	i := strings.LastIndex(s.Key, k.Index)
	if i < 0 || s.Type == "string" && !form.IsCounter(s) {
		return nil
	}
	index, ok := form.Count(s.Key[i+len(k.Index):])
	if !ok {
		return nil
	}
	var w time.Duration
	switch usual := true; {
	case k.Told != "":
		w, usual, ok = form.WindowOfIndex(index, c.Now)
		ok = ok && (usual || k.Told == "now")
	case k.Spans > 0:
		w, ok = form.WindowWith(index+k.Spans, s.Expiry(c.Now))
	default: // it expires a second after its window
		w, ok = form.WindowUntil(index, s, c.Now)
	}
	if !ok || k.Spans > 0 && s.TTL > time.Duration(k.Spans)*w {
		return nil
	}
	m, _, _ := k.named(s.Key[:i], c)
	if m == nil {
		return nil
	}
	x := aligned(limiter.FixedWindow, w, form.Numbered(s.Key[:i]+k.Index, w, ""))
	x.Before, x.Charged, x.How.Type = k.Told == "", k.Charged, s.Type
	if k.Slides {
		x.Settings.Algorithm = limiter.SlidingWindow
	}
	if limit := k.Limits[m.Suffix]; limit.Window == w {
		x.Settings.Limit.Count, x.Settings.LimitFrom = limit.Count, model.LimitOfName
	}
	m.Settings, m.Limiter = x.Settings, x
	return m
}

// logs are the words of a layout of a sorted set with the time of each request.
type logs struct {
	Log       time.Duration  // the unit of that; 0 in all other layouts
	Member    *regexp.Regexp // what members are like, of which a group is the score; none is anything
	Fractions *bool          // whether any of the times is not whole; none is either
	Seconds   bool           // the expiry is set to a window of whole seconds
	Blocked   string         // what follows the name in that of a key that denies everything until it expires; "" for none
	Lasts     time.Duration  // the window, where that is always the same; else the expiry tells it where the key has one
}

// log returns the match of a sorted set.
func (k *state) log(s *decode.Sample, c decode.Context) *decode.Match {
	if len(s.First) == 0 || len(s.Last) == 0 || k.Forever && s.TTL > 0 {
		return nil
	}
	ends := [...]decode.Element{s.First[0], s.Last[len(s.Last)-1]}
	if k.Fractions != nil && *k.Fractions != slices.ContainsFunc(ends[:], form.HasFraction) {
		return nil
	}
	for _, e := range ends {
		if decode.UnitOf(e.Score, c.Now) != k.Log || k.Member != nil && !k.member(e) {
			return nil
		}
	}
	lives, ok := form.Newest(s, c.Now, k.Log)
	m, _, _ := k.named(s.Key, c)
	if m == nil || k.Spans > 0 && !ok {
		return nil
	}
	m.Kind, m.Algorithm, m.Window = decode.Log, limiter.SlidingLog, k.Lasts
	if k.Spans > 0 {
		if m.Guessed = !k.Seconds; k.Seconds {
			lives = lives.Round(time.Second)
		}
		m.Window = decode.Tidy(lives / time.Duration(k.Spans))
		if k.Spans > 1 && !slices.Contains(decode.Periods[:], m.Window) { // a denied request set the expiry as well
			m.Window = 0
		}
	}
	if k.Blocked != "" {
		m.Blocks = s.Key + k.Blocked
	}
	if k.Charged {
		m.Convention.Denied = convention.Charged
	}
	return m
}

func (k *state) member(e decode.Element) bool {
	found := k.Member.FindStringSubmatch(e.Member)
	return found != nil && (len(found) == 1 || form.IsScore(decode.Element{Member: found[1], Score: e.Score}))
}

// arrival puts the theoretical arrival time (TAT) that a string holds into d. A double of seconds is exact to a tenth of a
// microsecond, so that it is rounded down by one more, lest a request too many seems to be charged.
func (k *state) arrival(d *decode.Decoded, now limiter.Instant, s *decode.Sample, given decode.Settings) bool {
	at, ok := form.Nanoseconds(s.Text, now)
	if k.TAT > time.Nanosecond {
		var v float64
		v, ok = form.Number(s.Text)
		at, ok = limiter.Instant(k.Since*1e6+int64(v*1e6)-1), ok && v > 0 && v <= 1e10
	}
	expiry := s.Expiry(now)
	late := expiry.Sub(at)
	if d.State.TAT = at; k.Early > 0 {
		d.State.TAT = forgotten(at, expiry, given)
	}
	return ok && s.TTL > 0 && late >= -k.Early-form.Latency && late <= k.Late+form.Latency
}

// forgotten returns the time at which a key that expires before its TAT says the same about the
// next request: with the key goes the backlog, so that it is admitted then at the latest.
func forgotten(at, expiry limiter.Instant, given decode.Settings) limiter.Instant {
	early := form.Emission(given) * float64(max(given.Limit.Burst, 1)-1)
	if given.Limit.Burst == 0 {
		early = form.Emission(given) * float64(max(given.Limit.Count, 1)-1)
	}
	if given.Limit.Count <= 0 || early >= 1<<52 {
		return at
	}
	return min(at, expiry+limiter.Instant(early))
}
