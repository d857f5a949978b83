package foreign

import (
	"strings"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// nestThrottler is the Redis storage of @nestjs/throttler: INCR, and PEXPIRE if the counter has no
// expiry. The first request above the limit sets a block for blockDuration, by default a window.
// While the block exists, all requests are denied and counted.
var nestThrottler = &Writer{
	Library: "nest-throttler-storage-redis", Algorithm: limiter.FixedWindow, Charged: true, Single: true, Beside: blockedSuffix, Blocks: true,
	Assumes: "without a blockDuration of its own",
	fetch: func(name string, _ *model.Target, _ limiter.Instant) []decode.Fetch {
		return []decode.Fetch{{Key: name, Type: "string"}, {Key: strings.TrimSuffix(name, hitsSuffix) + blockedSuffix, Type: "string"}}
	},
	write: func(r *Request) (Written, error) {
		hits, blocked := &r.Held[0], &r.Held[1]
		w, err := counting(unending, "pexpire")(r)
		if err != nil {
			return w, err
		}
		w.Counted = nil // the decision depends on the block too
		n, _ := count(hits)
		ttl, over := hits.TTL, n+1 > r.Target.Limit.Count
		if ttl <= 0 {
			ttl = r.limit().Window
		}
		state := r.window(n+1, ttl)
		switch {
		case blocked.Exists():
			state.BlockedUntil = r.At.Add(max(blocked.TTL, 0))
		case over:
			w.Commands = append(w.Commands, []any{"set", blocked.Key, 1, "px", r.limit().Window.Milliseconds()})
			state.BlockedUntil = r.At.Add(r.limit().Window)
		}
		w.Decision = r.decide(!over && !blocked.Exists(), state)
		return w, nil
	},
}

// Suffixes of a throttler's two keys: the counter and the block.
const (
	hitsSuffix    = ":hits"
	blockedSuffix = ":blocked"
)
