package library

import (
	"math"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// throttledPy is throttled-py: throttled:v1:<type>:<key>, to which the two kinds of windows add
// :period:<index>. Its fixed window counts denied requests; the others write nothing then. Its
// buckets come back in whole seconds of the server's clock. GCRA counts from 1735660800.
var throttledPy = &decode.Library{
	Name: "throttled-py", Version: "3.3.1", Published: true, Types: []string{"string", "hash"}, Fields: []string{"tokens", "last_refreshed"},
	Silent: []string{"the limit", "the window of buckets and of GCRA", "denied requests, but those of a fixed window"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		i := strings.Index(s.Key, "throttled:v1:")
		if i < 0 || i > 0 && s.Key[i-1] != ':' {
			return nil
		}
		i += len("throttled:v1:")
		kind, _, _ := strings.Cut(s.Key[i:], ":")
		prefix := s.Key[:i] + kind + ":"
		const named = "named throttled:v1:<type>:<key>"
		switch {
		case s.Type == "string" && kind == "gcra":
			return form.MatchTAT(s, c, tatSince2025, prefix, named, "a time in seconds since 2025 that is also when the key expires")
		case s.Type == "string" && (kind == "fixed_window" || kind == "sliding_window"):
			return matchPeriod(s, c, kind == "sliding_window", prefix, named)
		case s.Type == "hash" && (kind == "token_bucket" || kind == "leaking_bucket"):
			_, _, ok := refreshed(s)
			if !ok || s.Length != 2 || s.TTL == 0 {
				return nil
			}
			b := &secondsBucket{key: s.Key, leaks: kind == "leaking_bucket"}
			m := &decode.Match{Prefix: prefix, Limiter: b, Why: []string{named, "a hash of tokens and the second last_refreshed"}}
			m.Algorithm = b.algorithm()
			return m
		}
		return nil
	},
}

// start2025 is where throttled-py's times begin, in seconds of the Unix epoch.
const start2025 = 1735660800

func tatSince2025(s *decode.Sample, now limiter.Instant) (limiter.Instant, bool) {
	v, ok := form.Number(s.Text)
	if !ok || v <= 0 || v > 1e10 || s.TTL <= 0 {
		return 0, false
	}
	at := limiter.Instant(math.Round((v + start2025) * 1e6))
	early := s.Expiry(now).Sub(at)
	return at, early > -form.Latency && early < form.WholeSecond+form.Latency
}

// matchPeriod knows the counter of a window, which lives for one window, or for three where the
// window before counts, too.
func matchPeriod(s *decode.Sample, c decode.Context, sliding bool, prefix, named string) *decode.Match {
	base, last, _ := form.LastPart(s.Key, ':')
	index, ok := form.Count(last)
	if !ok || !strings.HasSuffix(base, ":period") || !form.IsCounter(s) {
		return nil
	}
	lives := int64(1)
	if sliding {
		lives = 3
	}
	w, ok := form.WindowWith(index+lives, s.Expiry(c.Now))
	if !ok || s.TTL > time.Duration(lives)*w {
		return nil
	}
	l := &form.WindowCounter{Name: form.EndsWithIndex(base + ":"), Window: w, Sliding: sliding, Charged: !sliding}
	return l.Match(strings.TrimSuffix(base, ":period"), prefix, named, "the index of a window ends the name",
		"an integer that expires with that window's successors")
}

// secondsBucket is a bucket that comes back at whole seconds: floor(seconds × rate) units since
// the second of its last call. A token bucket holds what is left, a leaking bucket what is used.
type secondsBucket struct {
	key   string
	leaks bool
}

func (b *secondsBucket) algorithm() limiter.Algorithm {
	if b.leaks {
		return limiter.LeakyBucket
	}
	return limiter.TokenBucket
}

// Fetch reads both fields.
func (b *secondsBucket) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: b.key, Type: "hash", Fields: []string{"tokens", "last_refreshed"}}}
}

func refreshed(s *decode.Sample) (tokens, second int64, ok bool) {
	tokens, tok := form.Signed(s.Fields["tokens"])
	second, sok := form.Count(s.Fields["last_refreshed"])
	return tokens, second, tok && sok && second < 1e11
}

// Decode brings the bucket to now, and sets its clock so that the next unit comes back in the
// whole second in which it does.
func (b *secondsBucket) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL, Members: form.Members(got)}
	d.Algorithm, d.Window, d.NeedsBurst = b.algorithm(), given.Window, !b.leaks
	if !s.Exists() {
		return d
	}
	tokens, second, ok := refreshed(s)
	if !ok {
		d.Err = "holds no tokens and second of a bucket: correct its rule"
		return d
	}
	step := form.Emission(given)
	at := limiter.Instant(second * 1e6)
	if step > 0 {
		passed := math.Max(float64(int64(now)/1e6-second), 0)
		back := math.Floor(passed * 1e6 / step)
		next := math.Ceil((back + 1) * step / 1e6)
		if at = limiter.Instant((float64(second)+next)*1e6 - step); b.leaks {
			back = -back
		}
		tokens += int64(math.Max(math.Min(back, limiter.MaxCount), -limiter.MaxCount))
	}
	level := max(tokens, 0)
	if burst := given.Limit.Burst; !b.leaks && burst > 0 {
		level = min(level, burst)
	}
	d.State.Level, d.State.Filled = float64(level), at
	return d
}
