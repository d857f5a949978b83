package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// mennanov is mennanov/limiters, whose keys are a prefix of the program's, often in braces, and
// a suffix. FixedWindow and SlidingWindow keep <prefix><start in nanoseconds>, aligned by
// time.Truncate, which expire at the end of the window, and one window after it; the former
// counts the first denied request of each process, the latter all of them. TokenBucket keeps
// <prefix>last, the instant of the last refill, and <prefix>available, the whole tokens LEFT.
// LeakyBucket keeps <prefix>last alone, the instant at which the last request in line may run.
var mennanov = &decode.Library{
	Name: "mennanov-limiters", Version: "1.11.0", Types: []string{"string", "zset"},
	Silent: []string{"the limit, and of buckets the rate, too", "denied requests, except those that windows count with the others",
		"when a request under way counts as lost"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if s.Type == "zset" {
			return matchConcurrent(s, c)
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
		b := &mennanovBucket{base: base}
		m := &decode.Match{
			Settings: decode.Settings{Algorithm: limiter.TokenBucket}, Name: base + "last", Prefix: "{",
			Why:     []string{"named {<key>}last", "nanoseconds of now beside the whole tokens of {<key>}available, or alone"},
			Limiter: b, Siblings: b.Fetch(c.Now),
		}
		m.Confirm = func(got []decode.Sample) bool {
			at, _, leaky, ok := b.read(got, c.Now)
			if leaky {
				m.Algorithm = limiter.LeakyBucket
			}
			return ok && (c.Named || at.Sub(c.Now) < time.Hour)
		}
		return m
	},
}

// matchConcurrent returns the match of the requests under way, each with the nanosecond of its
// beginning, in a key that never expires; nothing in it but the form says whose it is.
func matchConcurrent(s *decode.Sample, c decode.Context) *decode.Match {
	if !c.Named || len(s.First) == 0 || decode.UnitOf(s.First[0].Score, c.Now) != time.Nanosecond {
		return nil
	}
	return &decode.Match{
		Kind: decode.Log, Settings: decode.Settings{Algorithm: limiter.SlidingLog},
		Why: []string{"a sorted set of requests under way, by the nanosecond of their beginning"},
	}
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
	x := &form.Windowed{Origin: form.YearOne, Charged: true, Hides: true, Key: func(start limiter.Instant) string {
		return t.base + form.Decimal(int64(start)*1000)
	}}
	x.Settings.Algorithm = algorithm
	if x.Settings.Window = t.fixed; algorithm == limiter.SlidingWindow {
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
		return t.windows(d.Algorithm).Decode(now, t.current(now, got), given)
	case limiter.SlidingWindow:
		t.fixed = 0
		return t.windows(d.Algorithm).Decode(now, t.current(now, got), given)
	}
	return d
}

// current returns the samples that the windows, now known, would have fetched; what was not
// fetched is taken not to exist until the next reading.
func (t *truncated) current(now limiter.Instant, got []decode.Sample) []decode.Sample {
	var samples []decode.Sample
	for _, f := range t.known().Fetch(now) {
		s := decode.Sample{Key: f.Key, Type: "none"}
		for _, g := range got {
			if g.Key == f.Key {
				s = g
			}
		}
		samples = append(samples, s)
	}
	return samples
}

// mennanovBucket is a token bucket or a leaky one.
type mennanovBucket struct{ base string }

// Fetch reads both strings of a token bucket; a leaky one has the first alone.
func (b *mennanovBucket) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: b.base + "last", Type: "string"}, {Key: b.base + "available", Type: "string"}}
}

func (b *mennanovBucket) read(got []decode.Sample, now limiter.Instant) (at limiter.Instant, left int64, leaky, ok bool) {
	at, ok = form.Nanoseconds(got[0].Text, now)
	if !ok || got[0].TTL <= 0 {
		return 0, 0, false, false
	}
	if !got[1].Exists() {
		return at, 0, true, !got[1].Mismatch
	}
	left, ok = form.Count(got[1].Text)
	return at, left, false, ok && got[1].TTL > 0 && at <= now.Add(5*time.Second)
}

// Decode returns the bucket. What the leaky one calls its capacity is how many may wait, so that
// one more is admitted at once.
func (b *mennanovBucket) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	d := decode.Decoded{Type: got[0].Type, TTL: got[0].TTL, Members: form.Members(got)}
	d.Algorithm, d.Window, d.NeedsBurst = limiter.TokenBucket, given.Window, true
	if !got[0].Exists() {
		return d
	}
	at, left, leaky, ok := b.read(got, now)
	if !ok {
		d.Err = "holds no bucket of mennanov/limiters: correct its rule, or remove the key"
		return d
	}
	if !leaky {
		form.SetTokens(&d, float64(left), at, form.Emission(given))
		return d
	}
	d.Algorithm = limiter.LeakyBucket
	if step := form.Emission(given); step > 0 && given.Limit.Burst > 0 {
		form.SetWater(&d, float64(at-now)/step+1, now, step)
		form.Translate(&d, given, limiter.Limit{Count: given.Limit.Count, Burst: given.Limit.Burst + 1, Window: given.Window})
	}
	return d
}
