package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/convention"
)

// WrongTypeError is the error of a key that holds anything else than a state of the algorithm.
type WrongTypeError struct {
	Key  string // the name on the server, raw
	Type string // its Redis type; "" if unknown
	Want string // the state that the algorithm keeps there, in words
}

// Error returns one sentence. The key in it is quoted, so that it is safe on a terminal.
func (e *WrongTypeError) Error() string {
	holds := "a " + e.Type
	switch {
	case e.Type == "":
		holds = "something else"
	case strings.Contains(e.Want, e.Type):
		holds += " of another program"
	}
	return fmt.Sprintf("key %q holds %s and not %s: choose the algorithm that fits it, another key, or a prefix", e.Key, holds, e.Want)
}

// Is makes errors.Is(err, limiter.ErrWrongType) true.
func (e *WrongTypeError) Is(target error) bool { return target == limiter.ErrWrongType }

// unknownOutcome wraps the reason why no answer came in limiter.ErrUnknownOutcome.
type unknownOutcome struct{ cause error }

func (e *unknownOutcome) Error() string {
	return fmt.Sprintf("no answer came, so the request may or may not have been counted: %v", e.cause)
}

func (e *unknownOutcome) Unwrap() []error { return []error{limiter.ErrUnknownOutcome, e.cause} }

func (s *server) explainFailure(ctx context.Context, err error, about subject) error {
	text, key := err.Error(), about.key
	switch {
	case strings.Contains(text, "WRONGTYPE"):
		return s.wrongType(ctx, about)
	case strings.Contains(text, "not an integer"), strings.Contains(text, "attempt to "), strings.Contains(text, "bad argument"):
		// An error of Lua itself is no trouble of the server: only a value of another program can lead to it.
		return fmt.Errorf("%w: key %q holds a value that is not a count: remove it, or choose the algorithm that keeps it",
			limiter.ErrWrongType, key)
	case strings.Contains(text, "increment or decrement would overflow"), strings.Contains(text, "running total is full"),
		strings.Contains(text, "exhausted the last possible ID"):
		return fmt.Errorf("%w: the counter of key %q is full: reset it", limiter.ErrWrongType, key)
	case s.plan.algorithm == limiter.StreamCounter && (strings.Contains(text, "Invalid stream ID") ||
		strings.Contains(text, "syntax error")):
		return fmt.Errorf("%w: this server is older than Redis 6.2, which the stream counter needs: use a newer one, "+
			"or another algorithm: %w",
			limiter.ErrNotOnStore, err)
	case strings.HasPrefix(text, "CROSSSLOT") || strings.Contains(text, "non local key"):
		return fmt.Errorf("%w: key %q lives in several slots of this cluster: give it a hash tag, as in {user:42}:api",
			limiter.ErrNotOnStore, key)
	}
	return failure(err)
}

// wrongType returns the WrongTypeError of a decision. It asks the server which of the keys is
// concerned; without an answer, the error has no Type.
func (s *server) wrongType(ctx context.Context, about subject) error {
	s.known.forget(about)
	unknown := &WrongTypeError{Key: about.key, Want: s.plan.form.holds}
	now := limiter.Instant(0)
	if s.plan.namedByWindow() {
		var err error
		if now, err = s.now(ctx, about.key); err != nil {
			return unknown
		}
	}
	var keys []ownKey
	for i, l := range about.limits {
		key := about.key
		if len(about.states) > 0 {
			key = about.states[i]
		}
		keys = append(keys, s.plan.keys(key, l, now)...)
	}
	for _, k := range append(keys, s.plan.keysBeside(about.key)...) {
		kind := s.typeOf(ctx, k.name)
		if kind != "" && kind != k.kind {
			return &WrongTypeError{Key: k.name, Type: kind, Want: k.holds}
		}
		if kind != "" && unknown.Type == "" {
			unknown = &WrongTypeError{Key: k.name, Type: kind, Want: k.holds}
		}
	}
	return unknown
}

// typeOf returns the Redis type of a key; "" if the key does not exist or no answer comes.
func (s *server) typeOf(ctx context.Context, name string) string {
	cmd := redis.NewStatusCmd(ctx, "type", name)
	if s.client.Process(ctx, cmd) != nil || cmd.Val() == "none" {
		return ""
	}
	return cmd.Val()
}

// unreached reports whether an error says that nothing was sent, because there was no connection.
func unreached(err error) bool {
	network, ok := errors.AsType[*net.OpError](err)
	return ok && network.Op == "dial"
}

// ringDown is in the error of a ring's client that has found no node up.
const ringDown = "all ring shards are down"

// failure wraps an error of the client. After an error reply, and after an error before anything was
// sent, nothing was charged. All other errors are limiter.ErrUnknownOutcome.
func failure(err error) error {
	var answered redis.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		return fmt.Errorf("the server refused: %w", err)
	case errors.Is(err, errNotSent):
		return err
	case errors.Is(err, errNoConnection), strings.Contains(err.Error(), ringDown),
		unreached(err) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled):
		return fmt.Errorf("the server cannot be reached: %w", err)
	case errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return fmt.Errorf("the request was not sent: %w", err)
	}
	return &unknownOutcome{cause: err}
}

// The first number of a reply. The scripts contain these numbers.
const (
	replyDenied     = 0
	replyAdmitted   = 1
	replyNoTotals   = -1 // a stream holds entries without running totals
	replyReadOn     = -2 // the sum that the caller sent is too old
	replyStartAnew  = -3 // the stream was replaced since the caller summed it
	replyNoCount    = -4 // an entry of a stream has no count
	replyTooMany    = -5 // a stream of units is too long to be trimmed at once
	replyForeign    = -6 // a key holds what this library does not keep there
	maxReplyNumbers = 6  // greatest number of numbers for one limit
)

// Instants that a key may hold, in microseconds: from 2001, so that a count or a number of seconds is
// not taken for an instant, to 2255, the last one that a number in Lua represents exactly.
const (
	earliest = 1_000_000_000_000_000
	latest   = 1 << 53
)

// reply is a script's answer to one request, with the limit and the settings of the request.
type reply struct {
	code    int64
	now     limiter.Instant
	values  [maxReplyNumbers]int64 // after the code and the instant; an array, which stays off the heap
	blocked limiter.Instant
	limit   *prepared
	settings
}

// numbers appends the numbers of a script's reply to vals. It fails if the text is not a list of
// whole numbers.
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

// decode turns the text of a script's reply into a decision. n is the cost of the request.
func (s *server) decode(ctx context.Context, about subject, p *prepared, n int64, peeked bool, text string) (limiter.Decision, error) {
	var all [maxReplyNumbers]int64
	vals, err := numbers(all[:0], text)
	if err != nil {
		return limiter.Decision{}, err
	}
	if len(vals) > 0 && vals[0] < 0 {
		return limiter.Decision{}, s.refusal(ctx, about, vals[0])
	}
	if !peeked {
		s.known.learn(about)
	}
	return s.plan.decodeNumbers(p, n, peeked, vals, nil)
}

// decodeNumbers turns the numbers of a script's reply into a decision. log holds the entries of a stream without
// totals, in which a decision that was not charged has to look for those that leave; else it is nil.
func (s *plan) decodeNumbers(p *prepared, n int64, peeked bool, vals []int64, log []limiter.Entry) (limiter.Decision, error) {
	r, err := s.replyOf(vals)
	if err != nil {
		return limiter.Decision{}, err
	}
	r.limit = p
	found := s.form.decode(r)
	found.At, found.Allowed, found.Peeked, found.BlockedUntil, found.Log = r.now, r.code == replyAdmitted, peeked, r.blocked, log
	return s.algorithm.Explain(s.convention, p.limit, n, found), nil
}

// replyOf reads the numbers that the replies of all algorithms have in common, and keeps the others
// in values. It fails if their number is not the algorithm's.
func (s *plan) replyOf(vals []int64) (reply, error) {
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

// refusal returns the error for the code of a script that could not decide.
func (s *server) refusal(ctx context.Context, about subject, code int64) error {
	switch code {
	case replyForeign:
		return s.wrongType(ctx, about)
	case replyTooMany:
		return fmt.Errorf("%w: stream %q holds more than %d entries, which is too many for a stream of units: use running totals",
			limiter.ErrNotOnStore, about.key, mostUnits)
	case replyNoTotals:
		return fmt.Errorf("%w: stream %q holds entries without running totals, so another program keeps it: use the layout for streams "+
			"without totals", limiter.ErrWrongType, about.key)
	case replyNoCount:
		return fmt.Errorf("%w: stream %q holds an entry without a count: remove it, or watch another key", limiter.ErrWrongType, about.key)
	}
	return fmt.Errorf("the script for %s answered the code %d, which is not one of its own", s.plan.algorithm, code)
}

// decodeFixed reads the count and the window's start. For a window that begins with its first request
// the script returns the end in place of the start.
func decodeFixed(r reply) limiter.Reply {
	found := limiter.Reply{Current: r.values[0]}
	switch mark := limiter.Instant(r.values[1]); {
	case mark <= 0:
	case r.convention.Alignment == convention.FirstRequest:
		found.Start = mark.Add(-r.limit.limit.Window)
		if r.convention.Edge == convention.Closed {
			found.Start = found.Start.Add(-time.Microsecond)
		}
	default:
		found.Start = mark
	}
	return found
}

// decodeSliding reads the counts of the current and the previous window, and the current start.
func decodeSliding(r reply) limiter.Reply {
	return limiter.Reply{Current: r.values[0], Previous: r.values[1], Start: max(limiter.Instant(r.values[2]), 0)}
}

// decodeGCRA reads the theoretical arrival time, in microseconds and a fraction of one.
func decodeGCRA(r reply) limiter.Reply {
	return limiter.Reply{Arrival: limiter.Instant(r.values[0]), Part: r.values[1], Parts: r.limit.den}
}

// decodeUsed reads the units used, and of a log the instants of the entry that must leave before the next
// request is admitted and of the newest one, of a bucket that of the latest refill and its fraction.
func decodeUsed(r reply) limiter.Reply {
	at, last := limiter.Instant(r.values[1]), r.values[2]
	return limiter.Reply{Used: r.values[0], Leaves: at, Newest: limiter.Instant(last), Arrival: at, Part: last, Parts: r.limit.den}
}
