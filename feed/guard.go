package feed

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// guard is the hook that keeps an observing client from writing: a command that is not
// on the list never reaches the wire, alone or in a pipeline. It also counts what
// goes out.
type guard struct {
	commands atomic.Int64
}

// reading lists the commands that change nothing on any Redis. A nil value allows every
// form of the command, else only the subcommands named.
var reading = map[string][]string{
	"auth": nil, "hello": nil, "select": nil, "ping": nil, "readonly": nil, "asking": nil,
	"time": nil, "info": nil, "dbsize": nil, "role": nil, "command": nil,
	"client":  {"setname", "setinfo", "getname", "id", "no-touch", "no-evict"},
	"cluster": {"slots", "shards", "nodes", "info", "myid", "keyslot"},
	"config":  {"get"},
	"slowlog": {"get", "len"},
	"latency": {"latest", "history", "histogram"},
	"memory":  {"usage", "stats"},
	"object":  {"freq", "idletime", "encoding"},
	"script":  {"exists"},
	"acl":     {"whoami", "dryrun"},
	"scan":    nil, "type": nil, "exists": nil, "ttl": nil, "pttl": nil,
	"get": nil, "mget": nil, "strlen": nil, "getrange": nil,
	"hget": nil, "hmget": nil, "hgetall": nil, "hlen": nil,
	"zcard": nil, "zcount": nil, "zrange": nil, "zrevrange": nil, "zrangebyscore": nil, "zscore": nil,
	"xlen": nil, "xrange": nil, "xrevrange": nil, "xread": nil, "xinfo": nil,
	"eval_ro": nil, "evalsha_ro": nil,
	// A sentinel's answers, and word of a failover.
	"sentinel":  {"get-master-addr-by-name", "sentinels", "replicas", "slaves", "masters", "master"},
	"subscribe": nil, "psubscribe": nil,
}

// permitted returns nil when cmd only reads.
func permitted(cmd redis.Cmder) error {
	name := strings.ToLower(cmd.Name())
	subs, known := reading[name]
	if known && subs == nil {
		return nil
	}
	if args := cmd.Args(); known && len(args) > 1 {
		sub := strings.ToLower(fmt.Sprint(args[1]))
		for _, s := range subs {
			if s == sub {
				return nil
			}
		}
		name += " " + sub
	}
	return fmt.Errorf("%w: the command %s is not one of those that only read", ErrReadOnly, strings.ToUpper(name))
}

// DialHook implements redis.Hook.
func (g *guard) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (g *guard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := permitted(cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		g.commands.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook. One forbidden command refuses the whole
// pipeline.
func (g *guard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := permitted(cmd); err != nil {
				for _, c := range cmds {
					c.SetErr(err)
				}
				return err
			}
		}
		g.commands.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}
