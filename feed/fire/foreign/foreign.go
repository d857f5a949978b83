// Package foreign knows how clients of other libraries write one request: which commands change
// the keys, and whether the request is admitted, by that library's own arithmetic. It computes
// commands and sends nothing; feed/fire does, in a transaction of its own that holds only while
// the keys are as they were read. Scripts of libraries are not copied: what is written is their
// effect, which fixtures recorded by the libraries themselves hold it to, value by value.
//
// What a process of the library remembers beside Redis (denials in memory, an insurance limiter)
// is not there for a request from here, as it is not for one from another process.
package foreign

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// Writer writes the requests of one library at one form of limiter. It is safe for concurrent use.
type Writer struct {
	// Library is the name that decode.Library has, Algorithm that of the limiter.
	Library   string
	Algorithm limiter.Algorithm
	// Single is set where the library's requests have no cost: each counts once.
	Single bool
	// Charged is set where denied requests are counted, too.
	Charged bool
	// Seconds is set where the library keeps windows of whole seconds alone.
	Seconds bool
	// Beside is how the name of a key ends that stands beside the counter and counts nothing: a time, or a
	// block; "" there is none.
	Beside string
	// Named is set where each window has a counter of its own, which has its name.
	Named bool
	// Blocks is set where the key beside the counter denies everything while it exists.
	Blocks bool
	// Assumes says, as the end of a clause, how the limiter must have been made for its requests to
	// be written so, where its keys do not tell; "" nothing.
	Assumes string
	// fetch returns what to read of the limiter of that name for a request at an instant.
	fetch func(name string, t *model.Target, at limiter.Instant) []decode.Fetch
	// write works out a request.
	write func(r *Request) (Written, error)
	// holder says which key counts a request still; nil where that is the first one of fetch, which has
	// the name of its window or expires a window after it was made.
	holder func(c Counted) (n int, ok bool)
	// refund works out how units are given back to a limiter that drains; nil of others, which Refund must not
	// be called for.
	refund func(r *Request, units int64) (Written, error)
}

// Request is one request that is about to be written.
type Request struct {
	Target *model.Target
	Cost   int64
	At     limiter.Instant // the server's clock when the keys were read
	Held   []decode.Sample // what they held, in the order of Fetch
}

// Written is what a request does.
type Written struct {
	// Commands change the keys, in this order and at once; none where the library writes nothing.
	Commands [][]any
	Decision limiter.Decision
	// Counted, where it is not nil, returns the decision from the answer of the last command, which
	// is what a counter then holds. The commands are right whatever the counter holds, as long as
	// its key exists: a key that others count at all the time can be fired at, too.
	Counted func(n int64) limiter.Decision
}

// writers are the forms of limiter at which requests are fired, with the version of the library
// that decode.Library names.
var writers = []*Writer{
	rateLimitRedis, rateLimiterFlexible, fastifyRateLimit, ulule, increx, limitsFixed, limitsMoving, limitsSliding,
	redisRate, throttled, upstashFixed, upstashSliding, laravel, goZero, goZeroPeriod, springGateway, stripe,
	honoRateLimiter, fastapiLimiter, ginRateLimit, redisCell, russellluo, nestThrottler,
}

// For returns the writer of requests at t; nil where no exact one is known.
func For(t *model.Target) *Writer {
	if t.Library == "" || t.Library == model.OwnLibrary {
		return nil
	}
	for _, w := range writers {
		if w.Library == t.Library && w.Algorithm == t.Algorithm {
			return w
		}
	}
	return nil
}

// All returns every writer. The list must not be changed.
func All() []*Writer { return writers }

// Check says in one sentence, without the key, why requests of a cost cannot be written at t, or
// returns nil.
func (w *Writer) Check(t *model.Target, cost int64) error {
	window := window(t)
	switch {
	case w.Single && cost != 1:
		return fmt.Errorf("requests of %s have no cost, each counts once: leave --cost out", w.Library)
	case w.Seconds && window%time.Second != 0:
		return fmt.Errorf("a window of %v is none that %s can keep, which counts whole seconds: correct its rule", window, w.Library)
	case w == limitsMoving && t.Limit.Count > mostListed:
		return fmt.Errorf("a limit of %d is kept as a list that each request would have to read: nothing is fired above %d", t.Limit.Count, mostListed)
	}
	return nil
}

// Fetch returns what has to be read before a request at the instant at. The name is that of the
// reading, for which Target.Base stands in where it is another one.
func (w *Writer) Fetch(name string, t *model.Target, at limiter.Instant) []decode.Fetch {
	if t.Base != "" {
		name = t.Base
	}
	return w.fetch(name, t, at)
}

// Keys returns the Redis keys that requests may write from an instant on, for two windows.
func (w *Writer) Keys(name string, t *model.Target, at limiter.Instant) (keys []string) {
	seen := map[string]bool{}
	for n := range 3 {
		for _, f := range w.Fetch(name, t, at.Add(time.Duration(n)*window(t))) {
			if !seen[f.Key] {
				seen[f.Key] = true
				keys = append(keys, f.Key)
			}
		}
	}
	return keys
}

// errHolds is the error of a key that does not hold what the library keeps there.
var errHolds = errors.New("the key holds something else than its library keeps there: look at it with ratescope peek")

// Write works out what a request does to what r holds.
func (w *Writer) Write(r *Request) (Written, error) {
	for i := range r.Held {
		if r.Held[i].Mismatch {
			return Written{}, errHolds
		}
	}
	return w.write(r)
}

// window is the window of a target.
func window(t *model.Target) time.Duration { return max(t.Limit.Window, t.Window) }

// limit returns the limit with its window.
func (r *Request) limit() limiter.Limit {
	l := r.Target.Limit
	l.Window = window(r.Target)
	return l
}

// count returns the whole number that a sample holds, 0 where the key does not exist.
func count(s *decode.Sample) (int64, error) {
	if !s.Exists() {
		return 0, nil
	}
	n, err := strconv.ParseInt(s.Text, 10, 64)
	if err != nil || n > limiter.MaxCount || n < -limiter.MaxCount {
		return 0, errHolds
	}
	return n, nil
}

// decide returns the decision about a request: whether it was admitted is the library's word, what
// is left after it and the waits are those of the state it leaves.
func (r *Request) decide(allowed bool, s limiter.State) limiter.Decision {
	l, c := r.limit(), r.Target.Convention
	d := s.Peek(r.At, l, c, 0)
	d.Allowed, d.Cost, d.RetryAfter = allowed, r.Cost, 0
	if !allowed {
		if d.RetryAfter = s.Peek(r.At, l, c, r.Cost).RetryAfter; d.RetryAfter == 0 {
			d.RetryAfter = time.Microsecond // its own arithmetic said no
		}
	}
	return d
}
