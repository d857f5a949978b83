package redisstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

const (
	maxTogether = 16   // decisions that one script makes, while the server answers no other client
	checkEvery  = 1024 // batches after which it is checked again where the keys are
	checkedKeys = 64   // a server takes 10 µs for each
)

// together makes decisions of a batch in one call of a script, which takes a server about two thirds of the time. Their
// keys must be on one server: a proxy that spreads keys may send the call to the server of the first one. So only where
// INFO is answered by a server by itself, and scripts about a number of keys run on that one, do decisions go together.
type together struct {
	client  *redis.Client // nil if it is not that of one server
	named   func(key string) string
	batches atomic.Uint32 // since the last check was due
	checked sync.Mutex    // is held by a check, beside which there is no other
	state   atomic.Int32
}

// States of together. In the last two, one server has all keys.
const (
	apart    int32 = iota // it is not known that one server has all keys
	never                 // keys are on two servers; or the user may not ask, and each refusal is an entry in the server's log
	withText              // the server may not know the scripts
	byDigest
)

const serverID = "return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')"

// due returns the names by which it is to be checked, after a batch, whether one server has all keys: after the first,
// the second, the fourth and so on, anew after an unknown script, since the server may be another one, and after each of
// checkEvery. Half of them are keys of the batch, which a proxy may tell apart by how they begin.
func (t *together) due(batch []*call) (names []string) {
	if t.client == nil || len(batch) == 1 || t.state.Load() == never {
		return nil
	}
	if n := t.batches.Add(1); n%checkEvery != 1 && (n > checkEvery || n&(n-1) != 0) {
		return nil
	}
	for i := range checkedKeys {
		names = append(names, t.named("server of "+strconv.Itoa(i)))
		if i < min(len(batch), checkedKeys/2) {
			names[i] = cmp.Or(keyOf(batch[i].cmd), names[i])
		}
	}
	return names
}

func (t *together) check(names []string) {
	if len(names) == 0 || !t.checked.TryLock() {
		return
	}
	defer t.checked.Unlock()
	if t.state.Load() == never { // since the names were taken
		return
	}
	ctx, pipe, state := context.Background(), t.client.Pipeline(), apart
	info := pipe.Info(ctx, "server")
	pipe.Eval(ctx, serverID, names) // which some proxies refuse, and a user of other keys may not
	if _, err := pipe.Exec(ctx); redis.HasErrorPrefix(err, "NOPERM") {
		state = never
	} else if err == nil && strings.Contains(info.Val(), "_mode:standalone") {
		for i := range names {
			pipe.Eval(ctx, serverID, names[i:i+1])
		}
		cmds, _ := pipe.Exec(ctx)
		ids := map[string]bool{}
		for _, c := range cmds {
			id, _ := c.(*redis.Cmd).Text() // "" where there is none
			ids[id] = true
		}
		switch id, _ := cmds[0].(*redis.Cmd).Text(); {
		case ids[""]:
		case len(ids) > 1: // a batch of few keys might all be on one of them, so that this is not forgotten
			state = never
		case strings.Contains(info.Val(), "run_id:"+id):
			state = withText
		}
	}
	if state != withText || t.state.Load() == apart { // else the text need not be sent again
		t.state.Store(state)
	}
}

// queue puts the commands of a batch into a pipeline, and returns those among them that make several decisions.
func (t *together) queue(ctx context.Context, pipe redis.Pipeliner, batch []*call) (groups []*decisionCmd) {
	open, grouped, text := map[*prepared]*decisionCmd{}, t.state.Load() >= withText, false
	for _, c := range batch {
		d, _ := c.cmd.(*decisionCmd)
		if !grouped || d == nil || d.lean == nil {
			_ = pipe.Process(ctx, c.cmd) // queues it; the outcome is on the command
			continue
		}
		g := open[d.lean]
		if g == nil || len(g.group) == maxTogether {
			g = &decisionCmd{}
			open[d.lean], groups = g, append(groups, g)
		}
		g.group = append(g.group, d)
	}
	return slices.DeleteFunc(groups, func(g *decisionCmd) bool {
		if len(g.group) == 1 {
			_ = pipe.Process(ctx, g.group[0])
			return true
		}
		text = text || t.state.CompareAndSwap(withText, byDigest)
		_ = pipe.Process(ctx, g.join(ctx, text))
		return false
	})
}

// join makes g the command for the decisions of its group, by the text of the script or by its digest.
func (g *decisionCmd) join(ctx context.Context, text bool) *decisionCmd {
	limit := g.group[0].lean
	args := []any{verbTake, limit.together.write().sha, 0}
	if text {
		args = []any{"eval", limit.together.write().text, 0}
	}
	for _, c := range g.group {
		args = append(args, c.Args()[3:len(c.Args())-len(limit.leanArgs)]...) // its keys
	}
	args[2] = len(args) - 3
	return g.set(ctx, limit.together, append(args, limit.leanArgs...))
}

// errApart is the error of a decision that was not made because of the others in its group. It begins as the
// reply to an unknown script, after which a decision is sent by itself.
var errApart = errors.New("NOSCRIPT the decision is to be made by itself")

// refusedError is the error reply to one of several decisions.
type refusedError string

func (e refusedError) Error() string { return string(e) }

// RedisError implements redis.Error.
func (refusedError) RedisError() {}

// answer gives each decision of a group its own answer.
func (t *together) answer(g *decisionCmd) {
	text, err := g.Result()
	switch {
	case redis.HasErrorPrefix(err, "NOSCRIPT"):
		t.state.CompareAndSwap(byDigest, apart)
		t.batches.Store(0)
	case redis.HasErrorPrefix(err, "NOPERM"), redis.HasErrorPrefix(err, "CROSSSLOT"), redis.HasErrorPrefix(err, "MOVED"),
		redis.HasErrorPrefix(err, "TRYAGAIN"):
		t.state.Store(apart)
		err = errApart
	}
	for _, c := range g.group {
		own, rest, _ := strings.Cut(text, "\n")
		c.SetVal(own)
		c.SetErr(err)
		if reason, failed := strings.CutPrefix(own, "!"); failed {
			c.SetErr(refusedError(reason))
		}
		text = rest
	}
}
