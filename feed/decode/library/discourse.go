package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

func discourse(s *decode.Sample, c decode.Context) *decode.Match {
	i := strings.Index(s.Key, ":l-rate-limit")
	w, ok := discourseWindow(s, c.Now)
	if i < 0 || !ok {
		return nil
	}
	m := &decode.Match{
		Prefix: s.Key[:i+1], Why: []string{"named l-rate-limit", "a list of whole seconds that expires two windows after the newest"},
		Limiter: &form.ListLog{Key: s.Key, Window: w, WindowOf: discourseWindow},
	}
	if base, kind, ok := form.LastPart(s.Key, ':'); ok {
		m.Prefix, m.Suffix = base[:strings.LastIndexByte(base, ':')+1], ":"+kind
	}
	m.Algorithm, m.Window = limiter.SlidingLog, w
	return m
}

// discourseWindow tells the window by the expiry, which is two windows after the newest element,
// whose second the client's clock had begun.
func discourseWindow(s *decode.Sample, now limiter.Instant) (time.Duration, bool) {
	if s.TTL <= 0 || len(s.First) == 0 {
		return 0, false
	}
	second, ok := form.Count(s.First[0].Member)
	if !ok || !form.IsSecond(float64(second), now) {
		return 0, false
	}
	for _, slack := range form.AroundNow {
		lives := int64(s.Expiry(now).Add(slack))/1e6 - second
		if lives >= 2 && lives%2 == 0 && time.Duration(lives/2) <= limiter.MaxWindow/time.Second {
			return time.Duration(lives/2) * time.Second, true
		}
	}
	return 0, false
}
