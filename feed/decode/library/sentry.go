package library

import (
	"fmt"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

func sentry(s *decode.Sample, c decode.Context) *decode.Match {
	switch {
	case s.Type == "zset":
		return matchUnderWay(s, c)
	case s.Type == "hash":
		return matchDrips(s, c)
	case strings.HasPrefix(s.Key, "rl:"):
		return matchSentryWindow(s, c)
	case strings.HasPrefix(s.Key, granulePrefix):
		return matchGranules(s, c)
	}
	return nil
}

// matchSentryWindow knows rl:<32 hexadecimal digits>[:<project>]:<index>, which expires a window
// after the last request.
func matchSentryWindow(s *decode.Sample, c decode.Context) *decode.Match {
	base, last, _ := form.LastPart(s.Key, ':')
	index, ok := form.Count(last)
	digest, rest, _ := strings.Cut(strings.TrimPrefix(base, "rl:"), ":")
	if !ok || !form.IsHex(digest, 32) || rest != "" && !form.IsNumber(rest) || !form.IsCounter(s) {
		return nil
	}
	w, ok := form.WindowWith(index+1, s.Expiry(c.Now))
	if !ok || s.TTL > w {
		return nil
	}
	x := aligned(limiter.FixedWindow, w, form.Numbered(base+":", w, ""))
	x.Before, x.Charged = true, true
	return x.Match(base, "rl:"+digest, "named rl:<digest>:<index of a window>", "an integer that expires in the window after that one")
}

const granulePrefix = "sliding-window-rate-limit:"

// mostGranules bounds what is read for one window.
const mostGranules = 64

// matchGranules knows sliding-window-rate-limit:<id>:<window>:<granularity>:<granule>, numbers of
// seconds all three but for the index.
func matchGranules(s *decode.Sample, c decode.Context) *decode.Match {
	base, last, _ := form.LastPart(s.Key, ':')
	front, g, _ := form.LastPart(base, ':')
	front, w, _ := form.LastPart(front, ':')
	index, ok := form.Count(last)
	size, sok := form.Count(g)
	window, wok := form.Count(w)
	if !ok || !sok || !wok || size == 0 || window < size || window/size > mostGranules || window > int64(limiter.MaxWindow/time.Second) ||
		!form.IsCounter(s) || front == "" {
		return nil
	}
	l := &granules{base: base + ":", window: time.Duration(window) * time.Second, size: time.Duration(size) * time.Second}
	now := int64(c.Now) / l.size.Microseconds()
	if index > now || index < now-2*window/size-2 || s.TTL > l.window {
		return nil
	}
	m := &decode.Match{
		Name: base, Prefix: granulePrefix, Suffix: ":" + w + ":" + g, Limiter: l,
		Why: []string{"named sliding-window-rate-limit:<id>:<window>:<granularity>:<granule>", "an integer that expires within that window"},
	}
	m.Algorithm, m.Window = limiter.SlidingLog, l.window
	return m
}

// granules is a sliding window that moves by granules: a counter each, named after its index. A
// request is counted in the granule before that of now, or, by older releases, in that of now.
type granules struct {
	base         string
	window, size time.Duration
	older        bool // what writes is an older release

	newest int64 // index of the first key that was fetched
}

// Fetch reads the granules of the window, the newest first.
func (g *granules) Fetch(now limiter.Instant) []decode.Fetch {
	g.newest = int64(now) / g.size.Microseconds()
	var all []decode.Fetch
	for i := range int64(g.window/g.size) + 1 {
		all = append(all, decode.Fetch{Key: fmt.Sprintf("%s%d", g.base, g.newest-i), Type: "string"})
	}
	return all
}

// Decode returns the granules as a log of which each entry leaves when its granule does.
func (g *granules) Decode(_ limiter.Instant, got []decode.Sample, _ decode.Settings) decode.Decoded {
	d := decode.Decoded{Type: "none", Members: form.Members(got)}
	d.Algorithm, d.Window = limiter.SlidingLog, g.window
	d.State.Log = []limiter.Entry{}
	g.older = g.older || got[0].Exists()
	for i := len(got) - 1; i >= 0; i-- {
		s := &got[i]
		if !s.Exists() {
			continue
		}
		n, ok := form.Count(s.Text)
		if !ok {
			d.Err = form.NoCount
			return d
		}
		d.Type, d.TTL = s.Type, max(d.TTL, s.TTL)
		at := g.newest - int64(i)
		if !g.older {
			at++
		}
		if n > 0 {
			d.State.Log = append(d.State.Log, limiter.Entry{At: limiter.Instant(at * g.size.Microseconds()), Count: n})
		}
	}
	return d
}

// matchDrips knows leaky_bucket_limiter:<key>: current_level at the second last_drip. Limit and
// window of the drips are not kept: the expiry is the time to empty, rounded up, and 2 s more. The limit
// that is given is its rate, the burst its size.
func matchDrips(s *decode.Sample, c decode.Context) *decode.Match {
	if !c.Named && !strings.HasPrefix(s.Key, "leaky_bucket_limiter:") || s.Length != 2 || s.TTL <= 0 ||
		!isRecent(s.Fields["last_drip"], c.Now, day) {
		return nil
	}
	r := &form.Reader{
		Keys: form.Hash(s.Key, "current_level", "last_drip"), Settings: decode.Settings{Algorithm: limiter.LeakyBucket, NeedsBurst: true},
		Holds: "level and time of a leaky bucket",
		Read: func(d *decode.Decoded, _ limiter.Instant, got []decode.Sample, given decode.Settings) bool {
			level, lok := form.Number(got[0].Fields["current_level"])
			at, aok := form.Number(got[0].Fields["last_drip"])
			form.SetWater(d, level, decode.InstantIn(min(at, 1e12), time.Second), form.Emission(given))
			return lok && aok && at < 1e12
		},
	}
	return r.Match(s, c, decode.Match{Prefix: "leaky_bucket_limiter:",
		Why: []string{"named leaky_bucket_limiter:<key>", "a hash of current_level and last_drip"}})
}

// matchUnderWay knows concurrent_limit:<client>: a member for each request under way, with the
// second of its start. One that is 30 s old is taken for lost.
func matchUnderWay(s *decode.Sample, c decode.Context) *decode.Match {
	if !strings.HasPrefix(s.Key, "concurrent_limit:") || s.TTL > 0 || len(s.First) == 0 ||
		decode.UnitOf(s.First[0].Score, c.Now) != time.Second {
		return nil
	}
	m := underWay("concurrent_limit:", "named concurrent_limit:<client>", "a sorted set of requests under way, by the second of their start")
	m.Window = 30 * time.Second
	return m
}
