package limiter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

const (
	verbTake = "evalsha"
	verbPeek = "evalsha_ro"
)

// decisionCmd is the call of a script, whose answer is whole numbers with spaces between
// them. A client that repeats what timed out would charge a request twice, so it asks
// not to be repeated.
type decisionCmd struct {
	*redis.StringCmd
	script *script
}

func newDecisionCmd(ctx context.Context, s *script, args []any) *decisionCmd {
	return &decisionCmd{redis.NewStringCmd(ctx, args...), s}
}

// NoRetry is what go-redis asks before it sends a command again.
func (c *decisionCmd) NoRetry() bool { return true }

// Clone keeps that promise for the copies that a client makes.
func (c *decisionCmd) Clone() redis.Cmder {
	if inner, ok := c.StringCmd.Clone().(*redis.StringCmd); ok {
		return &decisionCmd{inner, c.script}
	}
	return c
}

// subject is what a call is about, for the sentence that says why it failed.
type subject struct {
	key    string
	limit  Limit
	others []Limit // of several together, with keys of their own
}

// run sends the command. A server that does not know the script, after a restart, a
// failover or SCRIPT FLUSH, has decided nothing: it gets the text, once.
func (r *Redis) run(ctx context.Context, cmd *decisionCmd, about subject, act action) (string, error) {
	err := r.client.Process(ctx, cmd)
	if err == nil {
		return cmd.Val(), nil
	}
	switch {
	case strings.HasPrefix(err.Error(), "NOSCRIPT"):
	case act == looks && unknownCommand(err):
		r.noReadOnly.Store(true)
	default:
		return "", r.explainFailure(ctx, err, about)
	}
	cmd = r.reload(ctx, cmd, act)
	if err = r.client.Process(ctx, cmd); err != nil {
		return "", r.explainFailure(ctx, err, about)
	}
	return cmd.Val(), nil
}

// reload is the same call with the script's text, which the server keeps from then on.
func (r *Redis) reload(ctx context.Context, cmd *decisionCmd, act action) *decisionCmd {
	args := append([]any(nil), cmd.Args()...)
	args[0], args[1] = "eval", cmd.script.text
	if act == looks && !r.noReadOnly.Load() {
		args[0] = "eval_ro"
	}
	return newDecisionCmd(ctx, cmd.script, args)
}

func unknownCommand(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), "unknown command")
}

// explainFailure says in one sentence what went wrong with a decision.
func (r *Redis) explainFailure(ctx context.Context, err error, about subject) error {
	text, key := err.Error(), about.key
	switch {
	case strings.HasPrefix(text, "WRONGTYPE") || strings.Contains(text, "WRONGTYPE"):
		return r.wrongType(ctx, about)
	case strings.Contains(text, "not an integer") || strings.Contains(text, "arithmetic on"):
		return fmt.Errorf("%w: key %q holds a value that is not a count: remove it, or choose the algorithm that keeps it", ErrWrongType, key)
	case strings.Contains(text, "increment or decrement would overflow"):
		return fmt.Errorf("%w: the counter of key %q is full: reset it", ErrBadRequest, key)
	case r.algorithm == StreamCounter && (strings.Contains(text, "Invalid stream ID") || strings.Contains(text, "syntax error")):
		return fmt.Errorf("%w: this server is older than Redis 6.2, which the stream counter needs: use a newer one, or another algorithm: %w", ErrNotOnStore, err)
	case strings.HasPrefix(text, "CROSSSLOT") || strings.Contains(text, "non local key"):
		return fmt.Errorf("key %q lives in several slots of this cluster: give it a hash tag, as in {user:42}:api", key)
	}
	return failure(err)
}

// wrongType finds out which of the keys of a decision holds what. The look is a courtesy:
// without it the sentence says less.
func (r *Redis) wrongType(ctx context.Context, about subject) error {
	key := about.key
	unknown := &WrongTypeError{Key: key, Want: wants[r.algorithm]}
	now := Instant(0)
	if r.mainKey(key) != key {
		var err error
		if now, err = r.now(ctx); err != nil {
			return unknown
		}
	}
	var names []string
	if about.others == nil {
		names = r.names(key, []int64{about.limit.micros()}, now)
	}
	for _, l := range about.others {
		names = append(names, r.names(partKey(key, l), []int64{l.micros()}, now)...)
	}
	for _, name := range names {
		if e := r.holdsOther(ctx, name, wants[r.algorithm]); e != nil {
			return e
		}
	}
	if r.denials {
		if e := r.holdsOther(ctx, DeniedKey(key), "the stream that denials are recorded in"); e != nil {
			return e
		}
	}
	if r.convention.Block > 0 {
		if e := r.holdsOther(ctx, BlockedKey(key), "the end of a block (a string)"); e != nil {
			return e
		}
	}
	return unknown
}

// holdsOther asks for the type of one key, and returns nil when it is the wanted one.
func (r *Redis) holdsOther(ctx context.Context, name, want string) error {
	cmd := redis.NewStatusCmd(ctx, "type", name)
	if r.client.Process(ctx, cmd) != nil {
		return nil
	}
	if kind := cmd.Val(); kind != "none" && !strings.Contains(want, kind) {
		return &WrongTypeError{Key: name, Type: kind, Want: want}
	}
	return nil
}

// wants says what an algorithm keeps, with the word that TYPE uses for it.
var wants = [...]string{
	Unknown:       "a value",
	FixedWindow:   "the counter (a string) that a fixed window keeps",
	SlidingLog:    "the sorted set (a zset) that a sliding log keeps",
	SlidingWindow: "the counter (a string) that a sliding window keeps",
	StreamCounter: "the stream that a stream counter keeps",
	GCRA:          "the arrival time (a string) that GCRA keeps",
	TokenBucket:   "the hash that a token bucket keeps",
	LeakyBucket:   "the hash that a leaky bucket keeps",
}

// failure sorts an error of the client. What the server answered is known: nothing was
// charged. What failed before anything was sent is known as well. All else is not.
func failure(err error) error {
	var answered redis.Error
	var network *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		return fmt.Errorf("the server refused: %w", err)
	case errors.As(err, &network) && network.Op == "dial":
		return fmt.Errorf("the server cannot be reached: %w", err)
	case errors.Is(err, errNotSent):
		return err
	case errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return fmt.Errorf("the request was not sent: %w", err)
	}
	return &unknownOutcome{cause: err}
}

// Call returns the words of the command with which Redis decides about one request, EVAL
// with the whole script, as it would be sent to a server that has not seen the script
// yet. Nothing is sent. It is for people who want to read it or try it by hand.
func Call(a Algorithm, key string, limit Limit, n int64, opts ...Option) ([]string, error) {
	r, err := newRedis(nil, a, opts)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	b, err := r.check(ctx, key, limit, n)
	if err != nil {
		return nil, err
	}
	cmd := r.reload(ctx, r.command(ctx, key, b, n, charges), charges)
	words := make([]string, 0, len(cmd.Args()))
	for _, arg := range cmd.Args() {
		words = append(words, fmt.Sprint(arg))
	}
	words[0] = "EVAL"
	return words, nil
}
