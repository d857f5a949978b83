package redisstore

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
)

const (
	verbTake = "evalsha"
	verbPeek = "evalsha_ro"
)

// decisionCmd is the call of a script, whose answer is whole numbers with spaces between
// them. A client that repeats what timed out would charge a request twice, so it asks
// not to be repeated.
type decisionCmd struct {
	redis.StringCmd // a value, which saves an allocation a decision
	script          *script
	room            [16]any // for the words of the command, which saves another one
}

func newDecisionCmd(ctx context.Context, text *script, args []any) *decisionCmd {
	return new(decisionCmd).set(ctx, text, args)
}

// set makes c the call of a script with the words args, for which c may have the room.
func (c *decisionCmd) set(ctx context.Context, text *script, args []any) *decisionCmd {
	c.StringCmd, c.script = *redis.NewStringCmd(ctx, args...), text
	return c
}

// NoRetry is what go-redis asks before it sends a command again.
func (c *decisionCmd) NoRetry() bool { return true }

// Clone keeps that promise for the copies that a client makes.
func (c *decisionCmd) Clone() redis.Cmder {
	if inner, ok := c.StringCmd.Clone().(*redis.StringCmd); ok {
		return &clonedCmd{inner}
	}
	return c
}

// clonedCmd is a copy of a decisionCmd.
type clonedCmd struct{ *redis.StringCmd }

// NoRetry keeps the promise of the original.
func (c *clonedCmd) NoRetry() bool { return true }

// Clone keeps that promise for copies of copies.
func (c *clonedCmd) Clone() redis.Cmder {
	if inner, ok := c.StringCmd.Clone().(*redis.StringCmd); ok {
		return &clonedCmd{inner}
	}
	return c
}

// subject is what a call is about, for the sentence that says why it failed.
type subject struct {
	key     string
	limits  []limiter.Limit
	several bool // limits with keys of their own
}

// run sends the command. A server that does not know the script, after a restart, a
// failover or SCRIPT FLUSH, has decided nothing: it gets the text, once.
func (s *Store) run(ctx context.Context, cmd *decisionCmd, about subject, act action) (string, error) {
	err := s.client.Process(ctx, cmd)
	if err == nil {
		return cmd.Val(), nil
	}
	switch {
	case strings.HasPrefix(err.Error(), "NOSCRIPT"):
	case act == looks && unknownCommand(err):
		s.noReadOnly.Store(true)
	default:
		return "", s.explainFailure(ctx, err, about)
	}
	cmd = s.reload(ctx, cmd, act)
	if err = s.client.Process(ctx, cmd); err != nil {
		return "", s.explainFailure(ctx, err, about)
	}
	return cmd.Val(), nil
}

// reload is the same call with the script's text, which the server keeps from then on.
func (s *Store) reload(ctx context.Context, cmd *decisionCmd, act action) *decisionCmd {
	args := append([]any(nil), cmd.Args()...)
	args[0], args[1] = "eval", cmd.script.text()
	if act == looks && !s.noReadOnly.Load() {
		args[0] = "eval_ro"
	}
	return newDecisionCmd(ctx, cmd.script, args)
}

func unknownCommand(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), "unknown command")
}
