package foreign

import (
	"errors"
	"strings"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

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
		fetch: func(name string, _ *model.Target, _ limiter.Instant) []decode.Fetch {
			return []decode.Fetch{{Key: name, Type: "string"}, {Key: strings.TrimSuffix(name, "hits") + ginTime, Type: "string"}}
		},
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
			w.Commands = append(w.Commands, []any{"incr", hits.Key}, []any{"set", stamp.Key, now},
				[]any{"expire", hits.Key, 2 * seconds(r)}, []any{"expire", stamp.Key, 2 * seconds(r)})
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
