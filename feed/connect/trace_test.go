package connect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
)

// answer is an error as a server sends it.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

// TestARoundTripHoldsNoKeyAndNoValue: names, numbers and the code of an error alone.
func TestARoundTripHoldsNoKeyAndNoValue(t *testing.T) {
	var told []RoundTrip
	hook := tracer{"somewhere:6379", func(r RoundTrip) { told = append(told, r) }}
	ctx := context.Background()
	cmd := func(args ...any) redis.Cmder { return redis.NewCmd(ctx, args...) }
	pipeline := hook.ProcessPipelineHook(func(_ context.Context, cmds []redis.Cmder) error {
		cmds[1].SetErr(answer("WRONGTYPE s3cr3t of s3cr3t"))
		return nil
	})
	for _, tt := range []struct {
		cmd  redis.Cmder
		err  error
		want RoundTrip
	}{
		{cmd("GET", "s3cr3t"), redis.Nil, RoundTrip{Commands: map[string]int{"get": 1}}},
		{cmd("auth", "s3cr3t"), nil, RoundTrip{Commands: map[string]int{"auth": 1}}},
		{cmd("client", "setname", "s3cr3t"), nil, RoundTrip{Commands: map[string]int{"client setname": 1}}},
		{cmd("config", "s3cr3t"), answer("ERR s3cr3t"), RoundTrip{Commands: map[string]int{"config": 1}, Failed: "ERR"}},
		{cmd("evalsha", "sha", 2, "s3cr3t", "s3cr3t", "s3cr3t"), answer("s3cr3t no"), RoundTrip{Commands: map[string]int{"evalsha": 1}, Failed: "error"}},
		{cmd("mget", "a", "b", "c"), os.ErrDeadlineExceeded, RoundTrip{Commands: map[string]int{"mget": 1}, Failed: "timeout"}},
		{cmd("xread", "block", 5, "streams", "a", "b", "0", "0"), context.Canceled, RoundTrip{Commands: map[string]int{"xread": 1}, Failed: "canceled"}},
		{cmd("memory", "stats"), fmt.Errorf("%w: no", ErrReadOnly), RoundTrip{Commands: map[string]int{"memory stats": 1}, Failed: "read-only"}},
		{cmd("zcard", "a"), errors.New("s3cr3t"), RoundTrip{Commands: map[string]int{"zcard": 1}, Failed: "network"}},
	} {
		_ = hook.ProcessHook(func(context.Context, redis.Cmder) error { return tt.err })(ctx, tt.cmd)
		got := told[len(told)-1]
		if !maps.Equal(got.Commands, tt.want.Commands) || got.Failed != tt.want.Failed || got.Server != "somewhere:6379" || got.Took < 0 {
			t.Errorf("%v: %+v, want %+v", tt.cmd.Name(), got, tt.want)
		}
	}
	if err := pipeline(ctx, []redis.Cmder{cmd("pttl", "a"), cmd("zcard", "a"), cmd("pttl", "b")}); err != nil {
		t.Fatal(err)
	}
	if got := told[len(told)-1]; got.Commands["pttl"] != 2 || got.Commands["zcard"] != 1 || got.Failed != "WRONGTYPE" {
		t.Errorf("a pipeline is told as %+v", got)
	}
	_, _ = hook.DialHook(func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed })(ctx, "tcp", "x")
	if got := told[len(told)-1]; len(got.Commands) != 0 || got.Failed != "network" {
		t.Errorf("a connection that failed is told as %+v", got)
	}
}
