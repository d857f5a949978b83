package foreign

import (
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
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
			return r.counting([]any{"incr", s.Key})
		},
	}
	// SET 0 EX NX, then INCRBY. The keys do not show whether exceeding the limit starts a block, and
	// none is written.
	rateLimiterFlexible = &Writer{
		Library: "rate-limiter-flexible", Algorithm: limiter.FixedWindow, Charged: true, Seconds: true, fetch: one,
		Assumes: "without a block after the limit",
		write: func(r *Request) (Written, error) {
			s := &r.Held[0]
			return r.counting([]any{"set", s.Key, 0, "ex", seconds(r), "nx"}, []any{"incrby", s.Key, r.Cost})
		},
	}
	// INCR, and PEXPIRE with the first request.
	fastifyRateLimit = &Writer{
		Library: "fastify-rate-limit", Algorithm: limiter.FixedWindow, Charged: true, Single: true, fetch: one,
		Assumes: "without continueExceeding and exponentialBackoff",
		write: func(r *Request) (Written, error) {
			return r.incremented(r.Held[0].Exists(), []any{"pexpire", r.Held[0].Key, r.limit().Window.Milliseconds()})
		},
	}
	// INCRBY, and PEXPIRE if the counter holds only this request afterwards.
	ulule = &Writer{
		Library: "ulule-limiter", Algorithm: limiter.FixedWindow, Charged: true, fetch: one,
		write: func(r *Request) (Written, error) {
			n, err := count(&r.Held[0])
			if err != nil {
				return Written{}, err
			}
			return r.incremented(n != 0, []any{"pexpire", r.Held[0].Key, r.limit().Window.Milliseconds()})
		},
	}
	// INCRBY, and EXPIRE if the counter holds only this request afterwards. The elastic form of
	// versions before 5 renews the expiry with every request, which the keys do not show.
	limitsFixed = &Writer{
		Library: "limits", Algorithm: limiter.FixedWindow, Charged: true, Seconds: true, fetch: one,
		Assumes: "without elastic expiry",
		write: func(r *Request) (Written, error) {
			n, err := count(&r.Held[0])
			if err != nil {
				return Written{}, err
			}
			return r.incremented(n != 0, []any{"expire", r.Held[0].Key, seconds(r)})
		},
	}
	// INCR, and PEXPIRE if the counter has no expiry.
	honoRateLimiter = &Writer{
		Library: "hono-rate-limiter", Algorithm: limiter.FixedWindow, Charged: true, Single: true, fetch: one,
		Assumes: "without resetExpiryOnChange",
		write: func(r *Request) (Written, error) {
			s := &r.Held[0]
			if strings.HasPrefix(s.Text, "{") {
				return Written{}, errReadAddWrite
			}
			return r.incremented(s.TTL > 0, []any{"pexpire", s.Key, r.limit().Window.Milliseconds()})
		},
	}
	// INCRBY, and EXPIRE if the counter holds only this request afterwards.
	goZeroPeriod = &Writer{
		Library: "go-zero", Algorithm: limiter.FixedWindow, Charged: true, Single: true, Seconds: true, fetch: one,
		Assumes: "without Align",
		write: func(r *Request) (Written, error) {
			n, err := count(&r.Held[0])
			if err != nil {
				return Written{}, err
			}
			return r.incremented(n != 0, []any{"expire", r.Held[0].Key, seconds(r)})
		},
	}
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
			w, err := r.incremented(s.TTL > 0, []any{"pexpire", s.Key, r.limit().Window.Milliseconds()})
			w.Counted = nil // the commands depend on the counter's value
			return w, err
		},
	}
)

// one is the fetch of a limiter in a single string.
func one(name string, _ *model.Target, _ limiter.Instant) []decode.Fetch {
	return []decode.Fetch{{Key: name, Type: "string"}}
}

// seconds returns the window in whole seconds.
func seconds(r *Request) int64 { return int64(r.limit().Window / time.Second) }

// incremented adds the cost to the counter, and sets its expiry with the command expire unless
// running is set.
func (r *Request) incremented(running bool, expire []any) (Written, error) {
	incr := []any{"incrby", r.Held[0].Key, r.Cost}
	if running {
		return r.counting(incr)
	}
	n, err := count(&r.Held[0])
	if err != nil {
		return Written{}, err
	}
	return r.counted(n+r.Cost, r.limit().Window, incr, expire)
}

// counting returns a request whose commands add the cost to the counter. Its expiry stays, or is
// that of a new window.
func (r *Request) counting(commands ...[]any) (Written, error) {
	s := &r.Held[0]
	n, err := count(s)
	if err != nil {
		return Written{}, err
	}
	ttl := s.TTL
	if !s.Exists() {
		ttl = r.limit().Window
	}
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
