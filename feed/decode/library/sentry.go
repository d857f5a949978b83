package library

import (
	"slices"
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
	long, step := time.Duration(window)*time.Second, time.Duration(size)*time.Second
	now := int64(c.Now) / step.Microseconds()
	if index > now || index < now-2*window/size-2 || s.TTL > long {
		return nil
	}
	m := &decode.Match{
		Name: base, Prefix: granulePrefix, Suffix: ":" + w + ":" + g, Limiter: granules(base+":", long, step),
		Why: []string{"named sliding-window-rate-limit:<id>:<window>:<granularity>:<granule>", "an integer that expires within that window"},
	}
	m.Algorithm, m.Window = limiter.SlidingLog, long
	return m
}

// granules returns a sliding window that moves by granules: a counter each, named after its index, of which each entry of the log
// leaves when its granule does. A request is counted in the granule before that of now, or, by older releases, in that of now.
func granules(base string, window, size time.Duration) *form.Reader {
	older := false // what writes is an older release
	index := func(now limiter.Instant) int64 { return int64(now) / size.Microseconds() }
	return &form.Reader{
		Settings: decode.Settings{Algorithm: limiter.SlidingLog, Window: window}, Either: true, Holds: "count",
		At: func(now limiter.Instant) (all []decode.Fetch) { // the newest first
			for i := range int64(window/size) + 1 {
				all = append(all, form.Texts(base+form.Decimal(index(now)-i))...)
			}
			return all
		},
		Read: func(d *decode.Decoded, _ limiter.Instant, got []decode.Sample, _ decode.Settings) bool {
			older = older || got[0].Exists()
			for _, s := range slices.Backward(got) {
				n, ok := form.Count(s.Text)
				if s.Exists() && !ok {
					return false
				}
				_, last, _ := form.LastPart(s.Key, ':')
				at, _ := form.Count(last)
				if !older {
					at++
				}
				if n > 0 {
					d.State.Log = append(d.State.Log, limiter.Entry{At: limiter.Instant(at * size.Microseconds()), Count: n})
				}
			}
			return true
		},
	}
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
