package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
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

// explainFailure turns the error of a decision into one sentence.
func (s *server) explainFailure(ctx context.Context, err error, about subject) error {
	text, key := err.Error(), about.key
	switch {
	case strings.Contains(text, "WRONGTYPE"):
		return s.wrongType(ctx, about)
	case strings.Contains(text, "not an integer"), scriptFailed(text):
		return fmt.Errorf("%w: key %q holds a value that is not a count: remove it, or choose the algorithm that keeps it", limiter.ErrWrongType, key)
	case strings.Contains(text, "increment or decrement would overflow"), strings.Contains(text, "running total is full"):
		return fmt.Errorf("%w: the counter of key %q is full: reset it", limiter.ErrWrongType, key)
	case s.plan.algorithm == limiter.StreamCounter && (strings.Contains(text, "Invalid stream ID") || strings.Contains(text, "syntax error")):
		return fmt.Errorf("%w: this server is older than Redis 6.2, which the stream counter needs: use a newer one, or another algorithm: %w", limiter.ErrNotOnStore, err)
	case strings.HasPrefix(text, "CROSSSLOT") || strings.Contains(text, "non local key"):
		return fmt.Errorf("%w: key %q lives in several slots of this cluster: give it a hash tag, as in {user:42}:api", limiter.ErrNotOnStore, key)
	}
	return failure(err)
}

// scriptFailed reports whether an error is one of Lua itself, to which only a value of another program
// can lead: no trouble of the server.
func scriptFailed(text string) bool {
	return strings.Contains(text, "attempt to ") || strings.Contains(text, "bad argument")
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

// otherState returns the WrongTypeError of a key that holds something else.
func (s *server) otherState(ctx context.Context, k ownKey) error {
	return &WrongTypeError{Key: k.name, Type: s.typeOf(ctx, k.name), Want: k.holds}
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
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

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
	case errors.Is(err, errNoConnection):
		return fmt.Errorf("the server cannot be reached: %w", err)
	case unreached(err) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled):
		return fmt.Errorf("the server cannot be reached: %w", err)
	case errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return fmt.Errorf("the request was not sent: %w", err)
	}
	return &unknownOutcome{cause: err}
}
