package library

import (
	"math"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
	"ratescope/model"
)

// goRedisstore is sethvargo/go-redisstore: a hash of any name with the fields s, the start in
// nanoseconds as a double, t, the windows since then, k, the tokens LEFT, m, the limit, and, from
// the second window on, i, the window in nanoseconds. Windows follow each other from the first
// request on. Each admitted request sets the expiry to three windows in whole seconds; a denied
// one changes nothing.
var goRedisstore = &decode.Library{
	Name: "go-redisstore", Version: "0.3.0", Types: []string{"hash"}, Fields: []string{"s", "t", "k", "m", "i"},
	Silent: []string{"denied requests", "the window, until the second one: it is told from the expiry"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		r := &sethvargo{key: s.Key}
		if _, _, ok := r.read(s, c.Now); !ok {
			return nil
		}
		return &decode.Match{
			Settings: decode.Settings{Algorithm: limiter.FixedWindow},
			Why:      []string{"a hash of nothing but s, t, k, m and i", "s is nanoseconds of now", "k is at most m"},
			Limiter:  r,
		}
	},
}

type sethvargo struct {
	key     string
	longest time.Duration // the longest expiry seen
}

// Fetch reads the hash.
func (se *sethvargo) Fetch(limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: se.key, Type: "hash", Fields: []string{"s", "t", "k", "m", "i"}}}
}

// read returns the tokens left of a limit in the window that began at start, and its length, 0
// where that is not told.
func (se *sethvargo) read(s *decode.Sample, now limiter.Instant) (d decode.Decoded, left int64, ok bool) {
	begin, isTime := form.Number(s.Fields["s"])
	tick, okTick := form.Count(s.Fields["t"])
	left, okLeft := form.Count(s.Fields["k"])
	limit, okLimit := form.Count(s.Fields["m"])
	interval, held := s.Fields["i"]
	fields := int64(4)
	if held {
		fields = 5
	}
	if !isTime || !okTick || !okLeft || !okLimit || s.Length != fields || left > limit || limit > limiter.MaxCount || limit == 0 ||
		s.TTL <= 0 ||
		decode.UnitOf(begin, now) != time.Nanosecond {
		return d, 0, false
	}
	start := limiter.Instant(begin / 1e3)
	if held {
		i, ok := form.Whole(interval)
		d.Window = time.Duration(i).Truncate(time.Microsecond)
		if !ok || d.Window < limiter.MinWindow || d.Window > limiter.MaxWindow || tick > int64(now.Sub(start)/d.Window)+1 {
			return d, 0, false
		}
		start = start.Add(time.Duration(tick) * d.Window)
	}
	if start > now.Add(5*time.Second) || !held && tick != 0 {
		return d, 0, false
	}
	d.State.Start, d.State.Current = start, limit-left
	d.Limit.Count, d.LimitFrom = limit, model.LimitOfKey
	return d, left, true
}

// Decode counts what was taken in the window.
func (se *sethvargo) Decode(now limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	s := &got[0]
	d, _, ok := se.read(s, now)
	d.Algorithm, d.Convention.Alignment, d.Type, d.TTL = limiter.FixedWindow, limiter.AlignFirstRequest, s.Type, s.TTL
	if !s.Exists() {
		return d
	}
	d.Members = form.Members(got)
	if !ok {
		d.Err = "holds a hash that is no limiter of go-redisstore: correct its rule"
		return d
	}
	se.longest = max(se.longest, s.TTL)
	if d.Window == 0 {
		d.Window, d.Guessed = se.window(now, d.State.Start), true
	}
	return d
}

// window tells the window of a key that is in its first one: a third of the expiry, which was set
// within that window, in whole seconds.
func (se *sethvargo) window(now, start limiter.Instant) time.Duration {
	seconds := int64(math.Ceil((se.longest - time.Millisecond).Seconds()))
	w := time.Duration(seconds/3) * time.Second
	lives := now.Add(se.longest).Sub(start)
	if seconds%3 != 0 || lives < 3*w-form.Latency || lives > 4*w+form.Latency || w > limiter.MaxWindow {
		return 0
	}
	return w
}
