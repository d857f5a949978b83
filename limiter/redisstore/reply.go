package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// The first number of a reply. The scripts are written with these numbers; a reply in the
// brief form begins with a second of the server's clock instead, which is above all.
const (
	replyDenied     = 0
	replyAdmitted   = 1
	replyNoTotals   = -1 // a stream holds entries without running totals
	replyReadOn     = -2 // the sum that the caller sent is too old
	replyStartAnew  = -3 // the stream was replaced since the caller summed it
	replyNoCount    = -4 // an entry of a stream has no count
	replyTooMany    = -5 // a stream of units is too long to be trimmed at once
	replyForeign    = -6 // a key holds what this library does not keep there
	maxReplyNumbers = 6  // about one limit
)

// Instants that a key may hold: from 2001 on, so that no count or number of seconds is taken
// for one, to 2255, the last that a number of Lua holds exactly.
const (
	earliest = 1_000_000_000_000_000
	latest   = 1 << 53
)

// reply is what a script said about one request, with what it was asked.
type reply struct {
	code    int64
	now     limiter.Instant
	values  [maxReplyNumbers]int64 // after the code and the instant; an array, which stays off the heap
	blocked limiter.Instant
	peeked  bool
	limit   *prepared
	settings
}

// numbers appends the numbers of a script's reply.
func numbers(vals []int64, text string) ([]int64, error) {
	for text != "" {
		word, rest, _ := strings.Cut(text, " ")
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the script answered %q, which is not a list of whole numbers", text)
		}
		vals, text = append(vals, v), rest
	}
	return vals, nil
}

// decode turns a script's reply into the whole decision.
func (s *Store) decode(ctx context.Context, about subject, p *prepared, n int64, peeked bool, text string) (limiter.Decision, error) {
	var all [maxReplyNumbers]int64
	vals, err := numbers(all[:0], text)
	if err != nil {
		return limiter.Decision{}, err
	}
	if len(vals) > 0 && vals[0] < 0 {
		return limiter.Decision{}, s.refusal(ctx, about, vals[0])
	}
	if !peeked {
		s.known.learn(about.key, nil)
	}
	return s.decodeNumbers(p, n, peeked, vals)
}

func (s *Store) decodeNumbers(p *prepared, n int64, peeked bool, vals []int64) (limiter.Decision, error) {
	r, err := s.replyOf(vals)
	if err != nil {
		return limiter.Decision{}, err
	}
	r.peeked, r.limit = peeked, p
	found := s.form.decode(r)
	found.At, found.Allowed, found.Peeked, found.BlockedUntil = r.now, r.code == replyAdmitted, peeked, r.blocked
	return limiter.Explain(s.algorithm, s.convention, p.limit, n, found), nil
}

// replyOf takes the numbers of a reply apart, which are what every algorithm's begin with.
func (s *Store) replyOf(vals []int64) (reply, error) {
	if len(vals) > 1 && vals[0] > replyAdmitted { // brief: admitted at a second and its microsecond
		vals[0], vals[1] = replyAdmitted, vals[0]*1_000_000+vals[1]
	}
	r, want := reply{settings: s.settings}, s.form.values
	switch {
	case s.convention.Block > 0 && len(vals) == want+1:
		r.blocked, vals = limiter.Instant(vals[want]), vals[:want]
	case len(vals) == want-s.form.usual:
		vals = append(vals, 0)[:want]
	}
	if len(vals) != want {
		return reply{}, fmt.Errorf("the script for %s answered %d values instead of %d", s.algorithm, len(vals), want)
	}
	if vals[1] < 0 || vals[1] > latest {
		return reply{}, fmt.Errorf("the script for %s answered the instant %d, which no clock shows", s.algorithm, vals[1])
	}
	r.code, r.now = vals[0], limiter.Instant(vals[1])
	copy(r.values[:], vals[2:])
	return r, nil
}

// refusal is the error of a script that could not decide.
func (s *Store) refusal(ctx context.Context, about subject, code int64) error {
	switch code {
	case replyForeign:
		return s.wrongType(ctx, about)
	case replyTooMany:
		return fmt.Errorf("%w: stream %q holds more than %d entries, which is too many for a stream of units: use running totals", limiter.ErrNotOnStore, about.key, mostUnits)
	case replyNoTotals:
		return fmt.Errorf("%w: stream %q holds entries without running totals, so another program keeps it: use the layout for streams without totals", limiter.ErrWrongType, about.key)
	case replyNoCount:
		return fmt.Errorf("%w: stream %q holds an entry without a count: remove it, or watch another key", limiter.ErrWrongType, about.key)
	}
	return fmt.Errorf("the script for %s answered the code %d, which is not one of its own", s.algorithm, code)
}

// decodeFixed reads count and start; a window that began with its first request answers
// its end instead.
func decodeFixed(r reply) limiter.Reply {
	found := limiter.Reply{Current: r.values[0]}
	switch mark := limiter.Instant(r.values[1]); {
	case mark <= 0:
	case r.convention.Alignment == limiter.AlignFirstRequest:
		found.Start = mark.Add(-r.limit.limit.Window)
		if r.convention.Edge == limiter.EdgeClosed {
			found.Start = found.Start.Add(-time.Microsecond)
		}
	default:
		found.Start = mark
	}
	return found
}

// decodeSliding reads the current count, the previous one, and the start.
func decodeSliding(r reply) limiter.Reply {
	return limiter.Reply{Current: r.values[0], Previous: r.values[1], Start: max(limiter.Instant(r.values[2]), 0)}
}

// decodeLog reads what is used, the entry that has to leave first, and the newest one.
func decodeLog(r reply) limiter.Reply {
	return limiter.Reply{Used: r.values[0], Leaves: limiter.Instant(r.values[1]), Newest: limiter.Instant(r.values[2])}
}

// decodeGCRA reads the TAT and the part of a microsecond that it is later.
func decodeGCRA(r reply) limiter.Reply {
	return limiter.Reply{Arrival: limiter.Instant(r.values[0]), Part: r.values[1], Parts: r.limit.den}
}

// decodeBucket reads what is used, and the last refill.
func decodeBucket(r reply) limiter.Reply {
	return limiter.Reply{Used: r.values[0], Arrival: limiter.Instant(r.values[1]), Part: r.values[2], Parts: r.limit.den}
}
