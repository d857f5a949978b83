package foreign

import (
	"math"
	"strconv"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

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
			at, err := strconv.ParseFloat(s.First[i].Member, 64)
			if err != nil || math.IsNaN(at) || math.Abs(at) > 1e11 {
				return Written{}, errHolds
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
	fetch: func(name string, _ *model.Target, _ limiter.Instant) []decode.Fetch {
		return []decode.Fetch{{Key: name, Type: "string"}, {Key: name + "/-1", Type: "string"}}
	},
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
