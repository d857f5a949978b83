package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/model/collect"
)

// Guard is the hook that keeps an observing client from writing: a command that is not
// on the list never reaches the wire, alone or in a pipeline. It also counts what
// goes out.
type Guard struct {
	Commands atomic.Int64

	received atomic.Int64 // when bytes last came from a server, in ns since the epoch; 0 never
	dialed   atomic.Int64 // when a connection was last made, likewise
	greeting atomic.Int64 // how long the first answer over the first connection took, in ns; 0 before it

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
}

// reading lists the commands that change nothing on any Redis. A nil value allows every
// form of the command, else only the subcommands named.
var reading = map[string][]string{
	"auth": nil, "hello": nil, "select": nil, "ping": nil, "quit": nil, "readonly": nil, "asking": nil,
	"time": nil, "info": nil, "dbsize": nil, "role": nil, "command": nil,
	// TRACKING is, like NO-TOUCH, about the connection that asks: it ends with it.
	"client":  {"setname", "setinfo", "getname", "id", "no-touch", "no-evict", "tracking"},
	"cluster": {"slots", "shards", "nodes", "info", "myid", "keyslot"},
	"config":  {"get"},
	"slowlog": {"get", "len"},
	"latency": {"latest", "history", "histogram"},
	"memory":  {"usage", "stats"},
	"object":  {"freq", "idletime", "encoding", "refcount"},
	"pubsub":  {"numsub"},
	"script":  {"exists"},
	"acl":     {"whoami", "dryrun"},
	"hotkeys": {"get"},
	"scan":    nil, "type": nil, "exists": nil, "ttl": nil, "pttl": nil,
	"get": nil, "mget": nil, "strlen": nil, "getrange": nil,
	"llen": nil, "lrange": nil, "lindex": nil, "scard": nil, "hscan": nil,
	"hget": nil, "hmget": nil, "hgetall": nil, "hlen": nil,
	"zcard": nil, "zcount": nil, "zrange": nil, "zrevrange": nil, "zrangebyscore": nil, "zscore": nil,
	"xlen": nil, "xrange": nil, "xrevrange": nil, "xread": nil, "xinfo": nil,
	"eval_ro": nil, "evalsha_ro": nil,
	// A sentinel's answers, and word of a failover.
	"sentinel":  {"get-master-addr-by-name", "sentinels", "replicas", "slaves", "masters", "master"},
	"subscribe": nil, "psubscribe": nil,
}

// IsReadCommand says whether a command is on the list of reading ones, in some form.
func IsReadCommand(name string) bool {
	_, known := reading[name]
	return known
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
		if slices.Contains(subs, sub) {
			return nil
		}
		name += " " + sub
	}
	return fmt.Errorf("%w: the command %s is not one of those that only read", ErrReadOnly, strings.ToUpper(name))
}

// DialHook implements redis.Hook. It keeps account of the connections for hangUp.
func (g *Guard) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.closed {
			c.Close()
			return nil, net.ErrClosed
		}
		collect.Put(&g.conns, c, true)
		now := time.Now()
		g.dialed.Store(now.UnixNano())
		g.received.Store(now.UnixNano())
		return &watched{Conn: c, guard: g, dialed: now}, nil
	}
}

// watched is a connection that is on the account of its guard.
type watched struct {
	net.Conn
	guard  *Guard
	dialed time.Time
}

// Close implements net.Conn.
func (w *watched) Close() error {
	w.guard.mu.Lock()
	delete(w.guard.conns, w.Conn)
	w.guard.mu.Unlock()
	if err := w.Conn.Close(); !errors.Is(err, net.ErrClosed) { // else HangUp closed it
		return err
	}
	return nil
}

// Read implements net.Conn.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if n > 0 {
		w.guard.received.Store(time.Now().UnixNano())
		w.guard.greeting.CompareAndSwap(0, int64(time.Since(w.dialed)))
	}
	return n, err
}

// Greeting returns how long the first answer over the first connection took, which is about a round trip; 0 before it.
func (g *Guard) Greeting() time.Duration { return time.Duration(g.greeting.Load()) }

// LastReceived returns when bytes last came from a server over any connection, or one was made: a server that is
// far away, or has much to say, is not silent. The zero time is never.
func (g *Guard) LastReceived() time.Time { return momentOf(&g.received) }

// Dialed returns when a connection was last made. A round trip in which that happened took
// longer than the way is. The zero time is never.
func (g *Guard) Dialed() time.Time { return momentOf(&g.dialed) }

func momentOf(ns *atomic.Int64) time.Time {
	if n := ns.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// HangUp closes all connections, so that a caller that waits for an answer stops waiting, and
// refuses new ones.
func (g *Guard) HangUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for c := range g.conns {
		c.Close()
	}
}

// ProcessHook implements redis.Hook.
func (g *Guard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := permitted(cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		g.Commands.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook. One forbidden command refuses the whole
// pipeline.
func (g *Guard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := permitted(cmd); err != nil {
				for _, c := range cmds {
					c.SetErr(err)
				}
				return err
			}
		}
		g.Commands.Add(int64(len(cmds)))
		err := next(ctx, cmds)
		// Where the server refuses the connection (a database that does not exist), go-redis returns the error from Exec
		// alone, and the commands would look as if they had been answered with nothing.
		if err != nil && !slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return c.Err() != nil }) {
			for _, c := range cmds {
				c.SetErr(err)
			}
		}
		return err
	}
}

// NetConn returns the connection itself, which go-redis asks whether it is still well.
func (w *watched) NetConn() net.Conn { return w.Conn }

// ErrReadOnly is in the error of whatever was refused because writing was not allowed.
var ErrReadOnly = errors.New("opened read-only")

// RoundTrip is one exchange with a server, as Endpoint.Trace receives it. It holds no key and no
// value: both may be secrets.
type RoundTrip struct {
	Server string // address
	// Commands counts the commands by name, with the subcommand where the name alone says little
	// ("client setname"). It is empty for a connection that was made.
	Commands map[string]int
	Took     time.Duration // until the last answer, with the wait for a connection
	Failed   string        // code of the server's first error, as "NOPERM", or "timeout", "network"; "" for none
}

// tracer is the hook that reports round trips.
type tracer struct {
	server string
	report func(RoundTrip)
}

// trace adds a tracer to a client that speaks to server; without Trace it does nothing.
func (e *Endpoint) trace(c interface{ AddHook(redis.Hook) }, server string) {
	if e.Trace != nil {
		c.AddHook(tracer{server, e.Trace})
	}
}

// DialHook implements redis.Hook.
func (t tracer) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		begin := time.Now()
		c, err := next(ctx, network, addr)
		t.report(RoundTrip{Server: t.server, Took: time.Since(begin), Failed: failure(err)})
		return c, err
	}
}

// ProcessHook implements redis.Hook.
func (t tracer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	one := t.ProcessPipelineHook(func(ctx context.Context, cmds []redis.Cmder) error { return next(ctx, cmds[0]) })
	return func(ctx context.Context, cmd redis.Cmder) error { return one(ctx, []redis.Cmder{cmd}) }
}

// ProcessPipelineHook implements redis.Hook.
func (t tracer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		begin := time.Now()
		err := next(ctx, cmds)
		r := RoundTrip{Server: t.server, Commands: make(map[string]int), Took: time.Since(begin), Failed: failure(err)}
		for _, c := range cmds {
			name := strings.ToLower(c.Name())
			if args := c.Args(); len(args) > 1 {
				if sub := strings.ToLower(fmt.Sprint(args[1])); slices.Contains(reading[name], sub) {
					name += " " + sub
				}
			}
			r.Commands[name]++
			r.Failed = cmp.Or(r.Failed, failure(c.Err()))
		}
		t.report(r)
		return err
	}
}

// failure names an error without the words of a server, which may repeat an argument.
func failure(err error) string {
	switch code := Code(err); {
	case err == nil || errors.Is(err, redis.Nil):
		return ""
	case errors.Is(err, ErrReadOnly):
		return "read-only"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case TimedOut(err):
		return "timeout"
	case code != "" && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "":
		return code
	case errors.As(err, new(redis.Error)):
		return "error"
	}
	return "network"
}
