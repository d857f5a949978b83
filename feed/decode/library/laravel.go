package library

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// laravel is Laravel's RateLimiter and its middleware on a Redis cache: a counter <key>, and
// <key>:timer with the second in which the window ends, both with an expiry of the window, set
// with the first request: that relation names it, whatever the prefixes of connection and cache
// are. The middleware denies without counting; an application that counts first charges denied
// requests, too. Redis::throttle, which ThrottleRequestsWithRedis uses, keeps a hash of start, end
// and count instead, which expires after two windows and counts denied requests.
var laravel = &decode.Library{
	Name: "laravel", Version: "8.83.26", Types: []string{"string", "hash"}, Fields: []string{"start", "end", "count"},
	Silent: []string{"the limit", "the window of a counter, but for the longest expiry", "denied requests, but those of Redis::throttle"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if s.Type == "hash" {
			return matchLaravelThrottle(s, c)
		}
		if s.TTL <= 0 {
			return nil
		}
		base, ok := strings.CutSuffix(s.Key, laravelTimer)
		if !ok && !c.Named && !laravelName(s.Key) || base == "" {
			return nil
		}
		l := &timedCounter{counter: form.Counter{Key: base}}
		if ok && !isTimer(s, c.Now) || !ok && !form.IsCounter(s) {
			return nil
		}
		m := &decode.Match{
			Name: base, Prefix: base[:strings.LastIndexAny(base, ":|-")+1], Limiter: l,
			Why:      []string{"a counter and <key>:timer, which expire together", "the timer holds the second in which both expire"},
			Siblings: l.Fetch(c.Now), Span: s.TTL,
			Confirm: func(got []decode.Sample) bool {
				return form.IsCounter(&got[0]) && isTimer(&got[1], c.Now) && (got[0].TTL-got[1].TTL).Abs() <= 2*form.Latency
			},
		}
		m.Algorithm = limiter.FixedWindow
		return m
	},
}

const laravelTimer = ":timer"

// laravelName says whether a counter may have a timer beside it, so that it is read too: its name
// ends in a digest, or stands in a cache. Others are told by their timers.
func laravelName(key string) bool {
	last := key[strings.LastIndexAny(key, ":_-")+1:]
	return form.IsHex(last, 40) || form.IsHex(last, 32) || strings.Contains(key, "cache")
}

// isTimer says whether a sample is the end of a window: the second in which it expires.
func isTimer(s *decode.Sample, now limiter.Instant) bool {
	second, ok := form.Count(s.Text)
	if !ok || s.TTL <= 0 || !form.IsSecond(float64(second), now.Add(s.TTL)) {
		return false
	}
	late := s.Expiry(now).Sub(limiter.Instant(second * 1e6))
	return late > -form.WholeSecond && late < 2*form.WholeSecond // the clock is the client's
}

// timedCounter is a counter that counts while the timer beside it lives.
type timedCounter struct{ counter form.Counter }

// Fetch reads the counter and its timer.
func (c *timedCounter) Fetch(now limiter.Instant) []decode.Fetch {
	return append(c.counter.Fetch(now), decode.Fetch{Key: c.counter.Key + laravelTimer, Type: "string"})
}

// Decode counts until the first of the two expires. Laravel lets an application charge denied
// requests or not, so that what is beyond the limit was denied, and is not all that was.
func (c *timedCounter) Decode(now limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	s := got[0]
	if timer := &got[1]; s.Exists() && !timer.Exists() {
		s = decode.Sample{Key: s.Key, Type: "none"} // the next request begins anew
	} else if timer.Exists() && timer.TTL > 0 {
		s.TTL = min(s.TTL, timer.TTL)
	}
	d := c.counter.Decode(now, []decode.Sample{s}, given)
	d.Members = form.Members(got)
	if len(d.Members) > 0 && d.Type == "none" {
		d.Type, d.TTL = "string", max(got[0].TTL, got[1].TTL)
		d.Ends = now
	}
	return d
}

// matchLaravelThrottle knows a hash of start, end and count that was given an expiry of two
// windows in the second of its start.
func matchLaravelThrottle(s *decode.Sample, c decode.Context) *decode.Match {
	start, end, _, ok := throttleFields(s)
	if !ok || s.Length != 3 || s.TTL <= 0 {
		return nil
	}
	late := s.Expiry(c.Now).Sub(limiter.Instant((start + 2*(end-start)) * 1e6))
	if late <= -form.WholeSecond || late >= 2*form.WholeSecond { // the clock is the client's
		return nil
	}
	m := &decode.Match{
		Prefix: s.Key[:strings.LastIndexAny(s.Key, ":|_-")+1], Limiter: &throttleHash{key: s.Key},
		Why: []string{"a hash of start, end and count", "it expires two windows after its start"},
	}
	m.Algorithm, m.Window = limiter.FixedWindow, time.Duration(end-start)*time.Second
	return m
}

func throttleFields(s *decode.Sample) (start, end, n int64, ok bool) {
	start, sok := form.Count(s.Fields["start"])
	end, eok := form.Count(s.Fields["end"])
	n, nok := form.Count(s.Fields["count"])
	return start, end, n, sok && eok && nok && start < 1e11 && end > start && end-start <= int64(limiter.MaxWindow/time.Second)
}

// throttleHash is a fixed window in a hash.
type throttleHash struct{ key string }

// Fetch reads the three fields.
func (h *throttleHash) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: h.key, Type: "hash", Fields: []string{"start", "end", "count"}}}
}

// Decode counts the requests until the end, which is earlier than the expiry.
func (h *throttleHash) Decode(_ limiter.Instant, got []decode.Sample, given decode.Settings) decode.Decoded {
	s := &got[0]
	d := decode.Decoded{Type: s.Type, TTL: s.TTL, Members: form.Members(got), Charged: true, Hides: true}
	d.Algorithm, d.Convention.Alignment, d.Window = limiter.FixedWindow, limiter.AlignFirstRequest, given.Window
	if !s.Exists() {
		return d
	}
	start, end, n, ok := throttleFields(s)
	if !ok {
		d.Err = "holds no start, end and count of a window: correct its rule"
		return d
	}
	d.Window = time.Duration(end-start) * time.Second
	d.State.Start, d.State.Current = limiter.Instant(start*1e6), n
	return d
}
