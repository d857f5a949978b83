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

// decisionCmd is the call of a script, whose answer is whole numbers separated by spaces. The
// client must not repeat it after a timeout, because the request could be charged twice.
type decisionCmd struct {
	redis.StringCmd // not a pointer, which saves an allocation for each decision
	script          *script
	room            [16]any // holds the arguments, which saves another allocation
}

func newDecisionCmd(ctx context.Context, text *script, args []any) *decisionCmd {
	return new(decisionCmd).set(ctx, text, args)
}

// set makes c the call of a script with args, which may be a slice of c.room.
func (c *decisionCmd) set(ctx context.Context, text *script, args []any) *decisionCmd {
	c.StringCmd, c.script = *redis.NewStringCmd(ctx, args...), text
	return c
}

// NoRetry tells go-redis not to send the command again.
func (c *decisionCmd) NoRetry() bool { return true }

// Clone returns a copy that is not sent again either.
func (c *decisionCmd) Clone() redis.Cmder {
	if inner, ok := c.StringCmd.Clone().(*redis.StringCmd); ok {
		return &clonedCmd{inner}
	}
	return c
}

// clonedCmd is a copy of a decisionCmd.
type clonedCmd struct{ *redis.StringCmd }

// NoRetry tells go-redis not to send the command again.
func (c *clonedCmd) NoRetry() bool { return true }

// Clone returns a copy that is not sent again either.
func (c *clonedCmd) Clone() redis.Cmder {
	if inner, ok := c.StringCmd.Clone().(*redis.StringCmd); ok {
		return &clonedCmd{inner}
	}
	return c
}

// subject is the key and the limits of a call, for its errors.
type subject struct {
	key    string
	limits []limiter.Limit
	states []string // of several limits, the names of their states; else the key is
}

// run sends a command. If the server does not know the script, after a restart, a failover or SCRIPT
// FLUSH, it has decided nothing, and run sends the script's text once.
func (s *server) run(ctx context.Context, cmd *decisionCmd, about subject, act action) (string, error) {
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

// reload returns the same call with the script's text, which the server then keeps.
func (s *server) reload(ctx context.Context, cmd *decisionCmd, act action) *decisionCmd {
	args := append([]any(nil), cmd.Args()...)
	args[0], args[1] = "eval", cmd.script.text()
	if act == looks && !s.noReadOnly.Load() {
		args[0] = "eval_ro"
	}
	return newDecisionCmd(ctx, cmd.script, args)
}

// unknownCommand reports whether the server does not know a command.
func unknownCommand(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), "unknown command")
}
