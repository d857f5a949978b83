package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

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
	return func(ctx context.Context, cmd redis.Cmder) error {
		begin := time.Now()
		err := next(ctx, cmd)
		t.tell([]redis.Cmder{cmd}, time.Since(begin), err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (t tracer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		begin := time.Now()
		err := next(ctx, cmds)
		t.tell(cmds, time.Since(begin), err)
		return err
	}
}

func (t tracer) tell(cmds []redis.Cmder, took time.Duration, err error) {
	r := RoundTrip{Server: t.server, Commands: make(map[string]int), Took: took, Failed: failure(err)}
	for _, c := range cmds {
		r.Commands[shownName(c)]++
		if r.Failed == "" {
			r.Failed = failure(c.Err())
		}
	}
	t.report(r)
}

// shownName returns the name of a command, with its subcommand where the guard knows it.
func shownName(cmd redis.Cmder) string {
	name := strings.ToLower(cmd.Name())
	if args := cmd.Args(); len(args) > 1 && reading[name] != nil {
		if sub := strings.ToLower(fmt.Sprint(args[1])); slices.Contains(reading[name], sub) {
			return name + " " + sub
		}
	}
	return name
}

// failure names an error without the words of a server, which may repeat an argument.
func failure(err error) string {
	var answered redis.Error
	var network net.Error
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		return ""
	case errors.Is(err, ErrReadOnly):
		return "read-only"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.As(err, &answered):
		code, _, _ := strings.Cut(answered.Error(), " ")
		if code != "" && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			return code
		}
		return "error"
	}
	return "network"
}
