package foreign

import (
	"errors"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
)

// Counters whose expiry is set with the first request and ends the window.
var (
	// SET 1 PX if the counter does not exist or never expires, else INCR.
	rateLimitRedis = &Writer{
		Library: "rate-limit-redis", Algorithm: limiter.FixedWindow, Charged: true, Single: true, fetch: one,
		write: func(r *Request) (Written, error) {
			s := &r.Held[0]
			if s.TTL <= 0 {
				return r.counted(1, r.limit().Window, []any{"set", s.Key, 1, "px", r.limit().Window.Milliseconds()})
			}
			return r.more([]any{"incr", s.Key})
		},
	}
	// SET 0 EX NX, then INCRBY. The keys do not show whether exceeding the limit starts a block, and
	// none is written.
	rateLimiterFlexible = &Writer{
		Library: "rate-limiter-flexible", Algorithm: limiter.FixedWindow, Charged: true, Seconds: true, fetch: one,
		Assumes: "without a block after the limit",
		write: func(r *Request) (Written, error) {
			s := &r.Held[0]
			return r.more([]any{"set", s.Key, 0, "ex", seconds(r), "nx"}, []any{"incrby", s.Key, r.Cost})
		},
	}
	// INCR, and PEXPIRE with the first request.
	fastifyRateLimit = &Writer{Library: "fastify-rate-limit", Algorithm: limiter.FixedWindow, Charged: true, Single: true, fetch: one,
		Assumes: "without continueExceeding and exponentialBackoff", write: counting(missing, "pexpire")}
	// INCRBY, and PEXPIRE if the counter holds only this request afterwards.
	ulule = &Writer{Library: "ulule-limiter", Algorithm: limiter.FixedWindow, Charged: true, fetch: one, write: counting(zero, "pexpire")}
	// INCRBY, and EXPIRE if the counter holds only this request afterwards. The elastic form of
	// versions before 5 renews the expiry with every request, which the keys do not show.
	limitsFixed = &Writer{
		Library: "limits", Algorithm: limiter.FixedWindow, Charged: true, Seconds: true, fetch: one, write: counting(zero, "expire"),
		Assumes: "without elastic expiry",
	}
	// INCR, and PEXPIRE if the counter has no expiry.
	honoRateLimiter = &Writer{
		Library: "hono-rate-limiter", Algorithm: limiter.FixedWindow, Charged: true, Single: true, fetch: one,
		Assumes: "without resetExpiryOnChange",
		write: func(r *Request) (Written, error) {
			if strings.HasPrefix(r.Held[0].Text, "{") {
				return Written{}, errReadAddWrite
			}
			return counting(unending, "pexpire")(r)
		},
	}
	// INCRBY, and EXPIRE if the counter holds only this request afterwards.
	goZeroPeriod = &Writer{Library: "go-zero", Algorithm: limiter.FixedWindow, Charged: true, Single: true, Seconds: true, fetch: one,
		Assumes: "without Align", write: counting(zero, "expire")}
	// INCREX with UBOUND and ENX: a request above the limit changes nothing.
	increx = &Writer{
		Library: "increx", Algorithm: limiter.FixedWindow, fetch: one,
		write: func(r *Request) (Written, error) {
			s := &r.Held[0]
			n, err := count(s)
			if err != nil {
				return Written{}, err
			}
			if n+r.Cost > r.Target.Limit.Count {
				return Written{Decision: r.decide(false, r.window(n, s.TTL))}, nil
			}
			w, err := counting(unending, "pexpire")(r)
			w.Counted = nil // the commands depend on the counter's value
			return w, err
		},
	}
)

// one is the fetch of a limiter in a single string.
func one(name string, _ *model.Target, _ limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: name, Type: "string"}}
}

// twin returns the fetch of a limiter in two strings. The name of the second one ends in other than in cut.
func twin(cut, other string) func(string, *model.Target, limiter.Instant) []decode.Fetch {
	return func(name string, _ *model.Target, _ limiter.Instant) []decode.Fetch {
		return []decode.Fetch{{Key: name, Type: "string"}, {Key: strings.TrimSuffix(name, cut) + other, Type: "string"}}
	}
}

func seconds(r *Request) int64 { return int64(r.limit().Window / time.Second) }

// When a request begins a window, by the counter that it finds, which holds n.
var (
	missing  = func(s *decode.Sample, _ int64) bool { return !s.Exists() }
	zero     = func(_ *decode.Sample, n int64) bool { return n == 0 }
	unending = func(s *decode.Sample, _ int64) bool { return s.TTL <= 0 }
)

// counting returns the write of a counter that counts every request: it adds the cost, and sets the expiry with the
// command expire if the request begins a window.
func counting(begins func(s *decode.Sample, n int64) bool, expire string) func(*Request) (Written, error) {
	return func(r *Request) (Written, error) {
		s := &r.Held[0]
		n, err := count(s)
		incr := []any{"incrby", s.Key, r.Cost}
		switch {
		case err != nil:
			return Written{}, err
		case !begins(s, n):
			return r.more(incr)
		case expire == "expire":
			return r.counted(n+r.Cost, r.limit().Window, incr, []any{expire, s.Key, seconds(r)})
		}
		return r.counted(n+r.Cost, r.limit().Window, incr, []any{expire, s.Key, r.limit().Window.Milliseconds()})
	}
}

// more returns a request whose commands add the cost to the counter. Its expiry stays, or is
// that of a new window.
func (r *Request) more(commands ...[]any) (Written, error) {
	s := &r.Held[0]
	n, err := count(s)
	if err != nil {
		return Written{}, err
	}
	ttl := collect.If(!s.Exists(), r.limit().Window, s.TTL)
	w, err := r.counted(n+r.Cost, ttl, commands...)
	if s.Exists() {
		w.Counted = func(n int64) limiter.Decision { return r.decide(n <= r.Target.Limit.Count, r.window(n, ttl)) }
	}
	return w, err
}

// counted returns a request after which the counter holds n and expires in ttl. It is admitted if
// n is at most the limit, and counted in any case.
func (r *Request) counted(n int64, ttl time.Duration, commands ...[]any) (Written, error) {
	return Written{Commands: commands, Decision: r.decide(n <= r.Target.Limit.Count, r.window(n, ttl))}, nil
}

// window returns the state of a counter that holds n and expires in ttl.
func (r *Request) window(n int64, ttl time.Duration) limiter.State {
	s := limiter.State{Algorithm: limiter.FixedWindow, Start: r.At, Current: max(n, 0)}
	if ttl > 0 {
		s.Start = r.At.Add(ttl - r.limit().Window)
	}
	return s
}

// Counters that are read first, and written only if the request is admitted. Denied requests
// change nothing.
var (
	// GET, then SET 1 PX if there is no counter, else INCRBY if it is below the limit.
	fastapiLimiter = &Writer{
		Library: "fastapi-limiter", Algorithm: limiter.FixedWindow, Single: true, fetch: one,
		write: func(r *Request) (Written, error) {
			s, l := &r.Held[0], r.limit()
			n, err := count(s)
			switch {
			case err != nil:
				return Written{}, err
			case !s.Exists():
				return r.counted(1, l.Window, []any{"set", s.Key, 1, "px", l.Window.Milliseconds()})
			case n >= l.Count:
				return Written{Decision: r.decide(false, r.window(n, s.TTL))}, nil
			}
			return r.counted(n+1, s.TTL, []any{"incrby", s.Key, 1})
		},
	}
	// A second key holds the second of the last admitted request, at which the window begins. Both
	// keys expire two windows after that request.
	ginRateLimit = &Writer{
		Library: "gin-rate-limit", Algorithm: limiter.FixedWindow, Single: true, Seconds: true, Beside: ginTime, holder: sinceLast,
		fetch: twin("hits", ginTime),
		write: func(r *Request) (Written, error) {
			hits, stamp := &r.Held[0], &r.Held[1]
			n, last, err := r.counts()
			if err != nil {
				return Written{}, err
			}
			now := int64(r.At) / 1e6
			if !stamp.Exists() {
				last = now
			}
			var w Written
			if last+seconds(r) <= now {
				n, last = 0, now
				w.Commands = append(w.Commands, []any{"set", hits.Key, 0})
			}
			state := limiter.State{Algorithm: limiter.FixedWindow, Start: limiter.Instant(last * 1e6), Current: n}
			if n >= r.Target.Limit.Count {
				w.Decision = r.decide(false, state)
				return w, nil
			}
			state.Start, state.Current = limiter.Instant(now*1e6), n+1
			expiry := r.At.Millis() + 2000*seconds(r) // by which the key is known, however long the commands are on their way
			w.Commands = append(w.Commands, []any{"incr", hits.Key}, []any{"set", stamp.Key, now},
				[]any{"pexpireat", hits.Key, expiry}, []any{"pexpireat", stamp.Key, expiry})
			w.Decision = r.decide(true, state)
			return w, nil
		},
	}
)

// ginTime is the suffix of the second key.
const ginTime = "ts"

// errReadAddWrite is the error of a limiter whose library reads, adds and writes in separate steps,
// so that the library could overwrite a request from here.
var errReadAddWrite = errors.New("the key is JSON of hono-rate-limiter's UnstorageStore, which reads, adds and writes one after the " +
	"other: a request from here could be lost in between, so that none is fired")

// nestThrottler is the Redis storage of @nestjs/throttler: INCR, and PEXPIRE if the counter has no expiry. The first request above
// the limit sets a block for blockDuration, by default a window. While the block exists, all requests are denied and counted.
var nestThrottler = &Writer{
	Library: "nest-throttler-storage-redis", Algorithm: limiter.FixedWindow, Charged: true, Single: true, Beside: blockedSuffix,
	Blocks:  true,
	Assumes: "without a blockDuration of its own",
	fetch:   twin(hitsSuffix, blockedSuffix),
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
