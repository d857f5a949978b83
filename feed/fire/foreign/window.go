package foreign

import (
	"math"
	"strconv"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// Counters that are named after their window. The instants are by the server's clock; the library
// uses its client's.
var (
	// INCRBY, and PEXPIRE with the first request of the window. Denied requests are counted too.
	upstashFixed = &Writer{
		Library: "upstash-ratelimit", Algorithm: limiter.FixedWindow, Charged: true, fetch: indexes(1), Named: true,
		Assumes: "without a cache of denials",
		write: func(r *Request) (Written, error) {
			s := &r.Held[0]
			if s.TTL == model.Forever { // a limiter with a cache, which uses other commands
				return Written{}, errHolds
			}
			w, err := counting(zero, "pexpire")(r)
			if err != nil {
				return w, err
			}
			n, _ := count(s)
			decide := func(n int64) limiter.Decision { return r.decide(n <= r.Target.Limit.Count, r.halves(n, 0)) }
			if w.Decision = decide(n + r.Cost); w.Counted != nil {
				w.Counted = decide
			}
			return w, nil
		},
	}
	// INCRBY, and PEXPIRE of two windows and a second with the first request of the window, unless
	// the weighted count has reached the limit. The request's cost is not included in this check,
	// so that a request that exceeds the limit is counted in full and denied.
	upstashSliding = &Writer{
		Library: "upstash-ratelimit", Algorithm: limiter.SlidingWindow, fetch: indexes(2), Named: true,
		Assumes: "without a cache of denials",
		write: func(r *Request) (Written, error) {
			current, previous, err := r.counts()
			if err != nil {
				return Written{}, err
			}
			window, limit := r.limit().Window.Milliseconds(), r.Target.Limit.Count
			gone := float64(r.At.Millis()%window) / float64(window)
			weighted := int64(math.Floor(float64((1 - gone) * float64(previous))))
			if weighted+current >= limit {
				return Written{Decision: r.decide(false, r.halves(current, previous))}, nil
			}
			current += r.Cost
			w := Written{Commands: [][]any{{"incrby", r.Held[0].Key, r.Cost}},
				Decision: r.decide(weighted+current <= limit, r.halves(current, previous))}
			if current == r.Cost {
				w.Commands = append(w.Commands, []any{"pexpire", r.Held[0].Key, 2*window + 1000})
			}
			return w, nil
		},
	}
)

// indexes returns a fetch of the counters <name>:<index> of the current window and of those before
// it, as many as windows.
func indexes(windows int) func(string, *model.Target, limiter.Instant) []decode.Fetch {
	return func(name string, t *model.Target, at limiter.Instant) (f []decode.Fetch) {
		w := max(window(t).Milliseconds(), 1)
		for n := range windows {
			f = append(f, decode.Fetch{Key: name + ":" + strconv.FormatInt(at.Millis()/w-int64(n), 10), Type: "string"})
		}
		return f
	}
}

// halves returns the state of a window of two clock-aligned counters.
func (r *Request) halves(current, previous int64) limiter.State {
	return limiter.State{Algorithm: r.Target.Algorithm, Start: r.At.Floor(r.limit().Window), Current: current, Previous: previous}
}

// russellluo is RussellLuo/slidingwindow, if it sends each request to Redis: counters named after the
// start of their window in nanoseconds, aligned like time.Truncate to Go's year one. Every admitted
// request sends INCRBY and EXPIRE of two windows; denied requests write nothing.
var russellluo = &Writer{
	Library: "russellluo-slidingwindow", Algorithm: limiter.SlidingWindow, Seconds: true, Named: true,
	Assumes: "to count in Redis at once, and not every 200 ms",
	fetch: func(name string, t *model.Target, at limiter.Instant) (f []decode.Fetch) {
		for _, start := range [...]limiter.Instant{truncated(at, window(t)), truncated(at, window(t)).Add(-window(t))} {
			f = append(f, decode.Fetch{Key: name + "@" + strconv.FormatInt(int64(start)*1000, 10), Type: "string"})
		}
		return f
	},
	write: func(r *Request) (Written, error) {
		current, previous, err := r.counts()
		if err != nil {
			return Written{}, err
		}
		w := r.limit().Window
		state := limiter.State{Algorithm: limiter.SlidingWindow, Start: truncated(r.At, w), Current: current, Previous: previous}
		state.PreviousStart = state.Start.Add(-w)
		left := float64(w-r.At.Sub(state.Start)) / float64(w)
		if int64(left*float64(previous))+current+r.Cost > r.Target.Limit.Count {
			return Written{Decision: r.decide(false, state)}, nil
		}
		state.Current += r.Cost
		return Written{
			Commands: [][]any{{"incrby", r.Held[0].Key, r.Cost}, {"expire", r.Held[0].Key, 2 * seconds(r)}},
			Decision: r.decide(true, state),
		}, nil
	},
}

// yearOne is the start of Go's calendar in microseconds of the Unix epoch.
const yearOne limiter.Instant = -62135596800 * 1e6

// truncated returns the start of the window of length w that contains an instant, like time.Truncate.
func truncated(at limiter.Instant, w time.Duration) limiter.Instant {
	return yearOne + (at - yearOne).Floor(w)
}

// laravelTimer is the suffix of the key with the timer.
const laravelTimer = ":timer"

// laravel is the counter of Laravel's RateLimiter as its middleware uses it. Denied requests are not
// counted. A second key, the timer, holds the end of the window in whole seconds, in the library by
// its client's clock.
var laravel = &Writer{
	Library: "laravel", Algorithm: limiter.FixedWindow, Single: true, Seconds: true, Beside: laravelTimer,
	Assumes: "to ask before it counts, as its middleware does",
	fetch:   twin("", laravelTimer),
	write: func(r *Request) (Written, error) {
		s, timer, lives := r.Held[0], &r.Held[1], seconds(r)
		n, err := count(&s)
		if err != nil {
			return Written{}, err
		}
		var w Written
		if n >= r.Target.Limit.Count {
			if timer.Exists() {
				return Written{Decision: r.decide(false, r.window(n, min(s.TTL, timer.TTL)))}, nil
			}
			w.Commands = append(w.Commands, []any{"del", s.Key})
			s, n = decode.Sample{Key: s.Key, Type: "none"}, 0
		}
		ends := time.Duration(lives) * time.Second
		if !timer.Exists() {
			w.Commands = append(w.Commands, []any{"setex", timer.Key, lives, int64(r.At)/1e6 + lives})
		} else {
			ends = timer.TTL
		}
		switch {
		case !s.Exists():
			w.Commands = append(w.Commands, []any{"setex", s.Key, lives, 0}, []any{"incrby", s.Key, 1})
		case n == 0: // the counter was reset to 0
			w.Commands = append(w.Commands, []any{"setex", s.Key, lives, 1})
		default:
			w.Commands = append(w.Commands, []any{"incrby", s.Key, 1})
			ends = min(ends, s.TTL)
		}
		w.Decision = r.decide(true, r.window(n+1, ends))
		return w, nil
	},
}

// mostListed is the largest limit of a list that is fired at, because each request reads as many
// instants.
const mostListed = 1000

// limitsMoving is the moving window of the library limits: a list of instants in seconds, the newest
// first, one for each unit of cost. An instant that is exactly a window old still counts. Denied
// requests write nothing. The instants are by the server's clock; the library uses its client's.
var limitsMoving = &Writer{
	Library: "limits", Algorithm: limiter.SlidingLog, Type: "list", Seconds: true,
	fetch: func(name string, t *model.Target, _ limiter.Instant) []decode.Fetch {
		return []decode.Fetch{{Key: name, Type: "list", Head: max(t.Limit.Count, 1)}}
	},
	write: func(r *Request) (Written, error) {
		s, l := &r.Held[0], r.limit()
		now := float64(r.At) / 1e6
		state := limiter.State{Algorithm: limiter.SlidingLog}
		for i := len(s.First) - 1; i >= 0; i-- {
			at, err := float(s.First[i].Member, 1e11)
			if err != nil {
				return Written{}, err
			}
			state.Log = append(state.Log, limiter.Entry{At: limiter.Instant(at * 1e6), Count: 1})
		}
		full := r.Cost > l.Count
		if at := l.Count - r.Cost; !full && at < int64(len(s.First)) {
			oldest, _ := strconv.ParseFloat(s.First[at].Member, 64)
			full = oldest >= now-l.Window.Seconds()
		}
		if full {
			return Written{Decision: r.decide(false, state)}, nil
		}
		stamp := ListedAs(r.At)
		push := []any{"lpush", s.Key}
		for range r.Cost {
			push = append(push, stamp)
		}
		state.Log = append(state.Log, limiter.Entry{At: r.At, Count: r.Cost})
		return Written{
			Commands: [][]any{push, {"ltrim", s.Key, 0, l.Count - 1}, {"expire", s.Key, seconds(r)}},
			Decision: r.decide(true, state),
		}, nil
	},
}

// ListedAs formats an instant as an element of the list: in seconds, with as many digits as a
// float64 needs.
func ListedAs(at limiter.Instant) string { return strconv.FormatFloat(float64(at)/1e6, 'f', -1, 64) }

// limitsSliding is the sliding window counter of the library limits. The current counter is created
// with an expiry of two windows. Once less than a window of that is left, the next request, even a
// denied one, renames it to be the previous counter.
var limitsSliding = &Writer{
	Library: "limits", Algorithm: limiter.SlidingWindow, Seconds: true, holder: renamed,
	fetch: twin("", "/-1"),
	write: func(r *Request) (Written, error) {
		l := r.limit()
		current, previous := r.Held[0], r.Held[1]
		n, before, err := r.counts()
		if err != nil {
			return Written{}, err
		}
		var w Written
		if current.TTL > 0 && current.TTL < l.Window {
			before, previous.TTL, previous.Type = n, current.TTL, "string"
			n, current.TTL = 0, current.TTL+l.Window
			w.Commands = append(w.Commands,
				[]any{"rename", current.Key, previous.Key},
				[]any{"set", current.Key, 0, "px", current.TTL.Milliseconds()})
		}
		weighted := int64(0)
		if previous.Exists() && previous.TTL > 0 {
			weighted = int64(math.Floor(float64(before) * float64(previous.TTL.Milliseconds()) / float64(l.Window.Milliseconds())))
		}
		allowed := weighted+n+r.Cost <= l.Count
		switch {
		case !allowed:
		case current.Exists():
			n += r.Cost
			w.Commands = append(w.Commands, []any{"incrby", current.Key, r.Cost})
		default:
			n, current.TTL, current.Type = r.Cost, 2*l.Window, "string"
			w.Commands = append(w.Commands, []any{"set", current.Key, r.Cost, "px", current.TTL.Milliseconds()})
		}
		w.Decision = r.decide(allowed, halves(r, n, current, before, previous))
		return w, nil
	},
}

// halves returns the state of a sliding window whose two counters have expiries of their own.
func halves(r *Request, n int64, current decode.Sample, before int64, previous decode.Sample) limiter.State {
	w := r.limit().Window
	s := limiter.State{Algorithm: limiter.SlidingWindow, Start: r.At, PreviousStart: r.At.Add(-w)}
	begun := func(ttl time.Duration) limiter.Instant { return r.At.Add(ttl - 2*w) }
	if current.Exists() {
		s.Current, s.Start = n, begun(current.TTL)
		s.PreviousStart = s.Start.Add(-w)
	}
	if previous.Exists() && previous.TTL > 0 {
		s.Previous, s.PreviousStart = before, begun(previous.TTL)
	}
	return s
}
