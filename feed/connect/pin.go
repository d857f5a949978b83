package connect

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// pin is the hook that sends what reads a key of a cluster to the replica that is read of its
// slot. By itself the client picks one by chance for every command, and figures from replicas
// that are behind by different times would jump to and fro.
type pin struct{ *Nodes }

// keyed are the reading commands whose first argument is their key.
var keyed = map[string]bool{
	"type": true, "exists": true, "ttl": true, "pttl": true,
	"get": true, "mget": true, "strlen": true, "getrange": true,
	"llen": true, "lrange": true, "lindex": true, "scard": true, "hscan": true,
	"hget": true, "hmget": true, "hgetall": true, "hlen": true,
	"zcard": true, "zcount": true, "zrange": true, "zrevrange": true, "zrangebyscore": true, "zscore": true,
	"xlen": true, "xrange": true, "xrevrange": true,
}

// of returns the replica that answers a command; nil leaves it to the client.
func (p pin) of(ctx context.Context, cmd redis.Cmder) *redis.Client {
	args := cmd.Args()
	if len(args) < 2 || !keyed[cmd.Name()] {
		return nil
	}
	node, err := p.For(ctx, fmt.Sprint(args[1]))
	if err != nil {
		return nil
	}
	return node
}

// learn leaves a replica that is away, or does not have the slot any more, to be replaced.
func (p pin) learn(node *redis.Client, err error) {
	if Away(err) || Redirected(err) {
		p.Avoid(node.Options().Addr)
	}
}

// DialHook implements redis.Hook.
func (p pin) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (p pin) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if node := p.of(ctx, cmd); node != nil {
			err := node.Process(ctx, cmd)
			p.learn(node, err)
			return err
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook. A pipeline goes out in as many parts as it has
// nodes; what is left to the client goes last, as the question for the time must.
func (p pin) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		parts := make(map[*redis.Client][]redis.Cmder)
		for _, cmd := range cmds {
			node := p.of(ctx, cmd)
			parts[node] = append(parts[node], cmd)
		}
		var errs error
		for node, part := range parts {
			if node == nil {
				continue
			}
			pipe := node.Pipeline()
			for _, cmd := range part {
				_ = pipe.Process(ctx, cmd) // into the pipeline
			}
			if _, err := pipe.Exec(ctx); err != nil {
				p.learn(node, err)
				errs = errors.Join(errs, err)
			}
		}
		if rest := parts[nil]; len(rest) > 0 {
			errs = errors.Join(errs, next(ctx, rest))
		}
		return errs
	}
}
