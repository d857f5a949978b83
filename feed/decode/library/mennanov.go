package library

import (
	"slices"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

func mennanov(s *decode.Sample, c decode.Context) *decode.Match {
	if s.Type == "zset" { // nothing in it but the form says whose it is
		if !c.Named || len(s.First) == 0 || decode.UnitOf(s.First[0].Score, c.Now) != time.Nanosecond {
			return nil
		}
		return underWay("", "a sorted set of requests under way, by the nanosecond of their beginning")
	}
	if base, start, ok := form.StartSuffix(s, 0, c.Now); ok && (c.Named || strings.HasSuffix(base, "}")) {
		return matchTruncated(s, c, base, start)
	}
	base, ok := strings.CutSuffix(s.Key, "last")
	if !ok {
		base, ok = strings.CutSuffix(s.Key, "available")
	}
	if !ok || !c.Named && !strings.HasSuffix(base, "}") {
		return nil
	}
	return matchMennanovBucket(s, c, base)
}

// matchTruncated returns the match of the counters of windows. Where the expiry is one that a
// fixed window and a sliding one of half its length both give, the window is told later.
func matchTruncated(s *decode.Sample, c decode.Context, base string, start limiter.Instant) *decode.Match {
	t := &truncated{base: base, start: start, fixed: form.TruncatedWindow(start, s, c.Now, 1),
		sliding: form.TruncatedWindow(start, s, c.Now, 2)}
	if t.fixed == 0 && t.sliding == 0 {
		return nil
	}
	m := &decode.Match{
		Name: base, Prefix: "{", Limiter: t,
		Why: []string{"named {<key>}<start of a window in nanoseconds>",
			"an integer that expires at the end of that window, or one window later"},
	}
	m.Algorithm = limiter.FixedWindow
	if t.fixed == 0 {
		m.Algorithm = limiter.SlidingWindow
	}
	return m
}

// truncated is a fixed or a sliding window of mennanov/limiters.
type truncated struct {
	base           string
	start          limiter.Instant // of the counter that was recognized
	fixed, sliding time.Duration   // the windows that it can be of; 0: it cannot
	seen           int64           // what that counter held
}

func (t *truncated) windows(algorithm limiter.Algorithm) *form.Windowed {
	x := aligned(algorithm, t.fixed, func(start limiter.Instant) string { return t.base + form.Decimal(int64(start)*1000) })
	x.Origin, x.Charged, x.Hides = form.YearOne, true, true
	if algorithm == limiter.SlidingWindow {
		x.Settings.Window, x.Settings.Convention.Rounding = t.sliding, limiter.RoundExact
		x.Settings.Convention.Denied = limiter.DeniedCharged
	}
	return x
}

// known returns the windows, nil while they can be both.
func (t *truncated) known() *form.Windowed {
	switch {
	case t.sliding == 0:
		return t.windows(limiter.FixedWindow)
	case t.fixed == 0:
		return t.windows(limiter.SlidingWindow)
	}
	return nil
}

// Fetch reads the counters, or what tells which they are: the counter itself, and those that a
// sliding window would have before and after it.
func (t *truncated) Fetch(now limiter.Instant) []decode.Fetch {
	if x := t.known(); x != nil {
		return x.Fetch(now)
	}
	x := t.windows(limiter.SlidingWindow)
	return []decode.Fetch{
		{Key: x.Key(t.start), Type: "string"}, {Key: x.Key(t.start.Add(-t.sliding)), Type: "string"},
		{Key: x.Key(t.start.Add(t.sliding)), Type: "string"}, {Key: x.Key(t.start.Add(t.fixed)), Type: "string"},
	}
}

// Decode counts, once the kind of window is told: a counter that is written in its second half is
// of a fixed window, and one that has another half a window beside it is of a sliding one.
func (t *truncated) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	if x := t.known(); x != nil {
		return x.Decode(now, got, given)
	}
	d := decode.Decoded{Charged: true, Type: got[0].Type, TTL: got[0].TTL, Members: form.Members(got), Notes: []model.Note{model.KindUnknown}}
	n, _ := form.Count(got[0].Text)
	switch {
	case given.Algorithm == limiter.FixedWindow, given.Algorithm == limiter.SlidingWindow:
		d.Algorithm = given.Algorithm
	case len(got) > 1 && got[1].Exists(), len(got) > 2 && got[2].Exists():
		d.Algorithm = limiter.SlidingWindow
	case t.seen > 0 && n > t.seen && now.Sub(t.start) > t.sliding+form.Latency, len(got) > 3 && got[3].Exists():
		d.Algorithm = limiter.FixedWindow
	}
	if now.Sub(t.start) > t.sliding+form.Latency { // in the second half, what it holds is what it held
		t.seen = n
	}
	switch d.Algorithm {
	case limiter.FixedWindow:
		t.sliding = 0
	case limiter.SlidingWindow:
		t.fixed = 0
	default:
		return d
	}
	return t.windows(d.Algorithm).Decode(now, t.current(now, got), given)
}

// current returns the samples that the windows, now known, would have fetched; what was not
// fetched is taken not to exist until the next reading.
func (t *truncated) current(now limiter.Instant, got []decode.Sample) []decode.Sample {
	var samples []decode.Sample
	for _, f := range t.known().Fetch(now) {
		if i := slices.IndexFunc(got, func(s decode.Sample) bool { return s.Key == f.Key }); i >= 0 {
			samples = append(samples, got[i])
		} else {
			samples = append(samples, decode.Sample{Key: f.Key, Type: "none"})
		}
	}
	return samples
}

// matchMennanovBucket returns the match of a token bucket or a leaky one, which has the first string alone. What the leaky
// one calls its capacity is how many may wait, so that one more is admitted at once.
func matchMennanovBucket(s *decode.Sample, c decode.Context, base string) *decode.Match {
	r := &form.Reader{Keys: form.Texts(base+"last", base+"available"), Holds: "bucket of mennanov/limiters",
		Settings: decode.Settings{Algorithm: limiter.TokenBucket, NeedsBurst: true}}
	m := r.Match(s, c, decode.Match{Name: base + "last", Prefix: "{",
		Why: []string{"named {<key>}last", "nanoseconds of now beside the whole tokens of {<key>}available, or alone"}})
	r.Read = func(d *decode.Decoded, now limiter.Instant, got []decode.Sample, given decode.Settings) bool {
		at, ok := form.Nanoseconds(got[0].Text, now)
		if !ok || got[0].TTL <= 0 {
			return false
		}
		if got[1].Exists() {
			left, ok := form.Count(got[1].Text)
			form.SetTokens(d, float64(left), at, form.Emission(given))
			return ok && got[1].TTL > 0 && at <= now.Add(clientAhead)
		}
		m.Algorithm, d.Algorithm = limiter.LeakyBucket, limiter.LeakyBucket
		if step := form.Emission(given); step > 0 && given.Limit.Burst > 0 {
			form.SetWater(d, float64(at-now)/step+1, now, step)
			form.Translate(d, given, limiter.Limit{Count: given.Limit.Count, Burst: given.Limit.Burst + 1, Window: given.Window})
		}
		return !got[1].Mismatch && (c.Named || at.Sub(now) < time.Hour)
	}
	return m
}
