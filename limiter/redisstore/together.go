package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

const (
	maxTogether = 16   // decisions that one script makes, while the server answers no other client
	checkEvery  = 1024 // batches after which it is checked again where the keys are
	checkedKeys = 64
)

// together makes decisions of a batch in one call of a script, which takes a server about two thirds of
// the time. Their keys must be on one server: a proxy that spreads keys may send the call to the
// server of the first one. So scripts say for a number of keys which server they run on, and only
// where it is one do decisions go together.
type together struct {
	client  *redis.Client // nil if it is not that of one server
	named   func(key string) string
	batches atomic.Uint32
	state   atomic.Int32
}

// States of together.
const (
	apart    int32 = iota // it is not known that one server has all keys
	withText              // it is, and the server may not know the scripts
	byDigest
	never // several have them, or the server does not say so
)

const serverID = "return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')"

// check finds out now and then whether one server has all keys.
func (t *together) check() {
	if t.client == nil || t.batches.Add(1)%checkEvery != 1 || t.state.Load() == never {
		return
	}
	ctx, pipe, names := context.Background(), t.client.Pipeline(), make([]string, checkedKeys)
	for i := range names {
		names[i] = t.named("server of " + strconv.Itoa(i))
		pipe.Eval(ctx, serverID, names[i:i+1])
	}
	pipe.Eval(ctx, serverID, names) // which a cluster of one node refuses too
	cmds, err := pipe.Exec(ctx)
	var refused redis.Error
	switch {
	case err != nil && !errors.As(err, &refused):
		t.state.Store(apart)
	case slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return c.Err() != nil || c.(*redis.Cmd).Val() != cmds[0].(*redis.Cmd).Val() }):
		t.state.Store(never)
	default:
		t.state.Store(withText)
	}
}

// group is decisions under one limit that are made in one call.
type group struct {
	calls []*decisionCmd
	cmd   *decisionCmd
}

// queue puts the commands of a batch into a pipeline, and returns the groups among them.
func (t *together) queue(ctx context.Context, pipe redis.Pipeliner, batch []*call) (groups []*group) {
	state, open := t.state.Load(), map[*prepared]*group{}
	for _, c := range batch {
		d, _ := c.cmd.(*decisionCmd)
		if d == nil || d.lean == nil || state == apart || state == never {
			_ = pipe.Process(ctx, c.cmd) // queues it; the outcome is on the command
			continue
		}
		g := open[d.lean]
		if g == nil || len(g.calls) == maxTogether {
			g = &group{}
			open[d.lean], groups = g, append(groups, g)
		}
		g.calls = append(g.calls, d)
	}
	text := len(groups) > 0 && t.state.CompareAndSwap(withText, byDigest)
	for _, g := range groups {
		if g.cmd = g.calls[0]; len(g.calls) > 1 {
			g.cmd = join(ctx, g.calls, text)
		}
		_ = pipe.Process(ctx, g.cmd)
	}
	return groups
}

// join returns the command that makes several decisions.
func join(ctx context.Context, calls []*decisionCmd, text bool) *decisionCmd {
	limit := calls[0].lean
	args := []any{verbTake, limit.together.write().sha, 0}
	if text {
		args = []any{"eval", limit.together.write().text, 0}
	}
	for _, c := range calls {
		args = append(args, c.Args()[3:len(c.Args())-len(limit.leanArgs)]...)
	}
	args[2] = len(args) - 3
	return newDecisionCmd(ctx, limit.together, append(args, limit.leanArgs...))
}

// errApart is the error of a decision that was not made together with others. It begins as the
// reply to an unknown script, so that the decision is sent by itself.
var errApart = errors.New("NOSCRIPT the decision is to be made by itself")

// refusedError is the error reply to one of several decisions.
type refusedError string

func (e refusedError) Error() string { return string(e) }

// RedisError implements redis.Error.
func (refusedError) RedisError() {}

// answer gives each decision of a group its own answer.
func (t *together) answer(g *group) {
	text, err := g.cmd.Result()
	switch {
	case redis.HasErrorPrefix(err, "NOSCRIPT"):
		t.state.CompareAndSwap(byDigest, withText)
		err = errApart
	case redis.HasErrorPrefix(err, "NOPERM"), redis.HasErrorPrefix(err, "CROSSSLOT"), redis.HasErrorPrefix(err, "MOVED"):
		t.state.Store(apart)
		err = errApart
	}
	for _, c := range g.calls {
		own, rest, _ := strings.Cut(text, "\n")
		if reason, failed := strings.CutPrefix(own, "!"); err == nil && failed {
			c.SetErr(refusedError(reason))
		} else {
			c.SetVal(own)
			c.SetErr(err)
		}
		text = rest
	}
}
