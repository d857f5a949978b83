package connect

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// frozen keeps which nodes of a cluster did not answer in time, for all clients of an endpoint: while others answer, those
// are not asked for the slots, for which a client asks any node. The zero value knows no node.
type frozen struct{ nodes sync.Map } // by address: until when a node is left alone, zero for one that answers

// frozenFor is how long a node that did not answer in time is left alone.
const frozenFor = 5 * time.Second

// others returns whether another node answers, and whether a node is to be left alone for that reason.
func (f *frozen) others(addr string) (answer, leave bool) {
	frozen := false
	for at, until := range f.nodes.Range {
		if waits := until.(time.Time).After(time.Now()); at == addr {
			frozen = waits
		} else {
			answer = answer || !waits
		}
	}
	return answer, answer && frozen
}

// frozenHook is the hook of the client of a node.
type frozenHook struct {
	*frozen
	addr string
}

// note takes the outcome of asking the node.
func (h frozenHook) note(err error) error {
	if TimedOut(err) {
		h.nodes.Store(h.addr, time.Now().Add(frozenFor))
	} else if !Away(err) {
		h.nodes.Store(h.addr, time.Time{})
	}
	return err
}

// DialHook implements redis.Hook.
func (h frozenHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook. A node is waited for as long as any other server where others can tell the slots.
func (h frozenHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		answer, leave := false, false
		if cmd.Name() == "cluster" {
			answer, leave = h.others(h.addr)
		}
		if leave {
			cmd.SetErr(context.DeadlineExceeded)
			return context.DeadlineExceeded
		}
		if answer {
			limited, cancel := context.WithTimeout(ctx, Timeout)
			defer cancel()
			ctx = limited
		}
		return h.note(next(ctx, cmd))
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h frozenHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return h.note(next(ctx, cmds)) }
}
