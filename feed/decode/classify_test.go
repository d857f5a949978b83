package decode_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/decode/library"
	"ratescope/limiter"
)

// refusal is an error that a server answers.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

// forbids answers pipelines in place of a server without any key, whose user may not use one command.
type forbids string

func (forbids) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
}

func (forbids) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (f forbids) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		var first error
		for _, cmd := range cmds {
			switch c := cmd.(type) {
			case *redis.TimeCmd:
				c.SetVal(time.Unix(1_700_000_000, 0))
			case *redis.StatusCmd:
				c.SetVal("none")
			}
			if cmd.Name() == string(f) {
				cmd.SetErr(refusal("NOPERM this user has no permissions to run the '" + string(f) + "' command"))
				if first == nil {
					first = cmd.Err()
				}
			}
		}
		return first
	}
}

// TestClassifyWithoutPermission: a server that forbids TIME has not forbidden what was to be known of the
// keys, and one that forbids TYPE says so though it tells the time.
func TestClassifyWithoutPermission(t *testing.T) {
	clock := decode.Clock{Now: func() limiter.Instant { return 0 }, Asked: func() bool { return true }}
	for forbidden, code := range map[string]string{"": "", "time": "", "type": "NOPERM"} {
		client := redis.NewClient(&redis.Options{})
		client.AddHook(forbids(forbidden))
		_, _, err := decode.Classify(t.Context(), client, library.Recognizer(), []string{"a", "b"}, nil, clock)
		if got := connect.Code(err); got != code {
			t.Errorf("without permission for %q the error is %v, want the code %q", forbidden, err, code)
		}
		_ = client.Close()
	}
}

// ends removes all keys of a server as soon as their types were asked for.
type ends struct{ server *miniredis.Miniredis }

func (ends) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (ends) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (e ends) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if cmds[len(cmds)-1].Name() == "type" {
			e.server.FlushAll()
		}
		return err
	}
}

// TestClassifyKeysThatEnd: a key that ends while it is examined, as many do far from the server, is not one that holds what its
// rule does not say.
func TestClassifyKeysThatEnd(t *testing.T) {
	server := miniredis.RunT(t)
	for key, text := range map[string]string{"rate:u1": "312057000.25", "rl:1": "7"} {
		if err := server.Set(key, text); err != nil {
			t.Fatal(err)
		}
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaintNotificationsConfig: nil})
	defer client.Close()
	client.AddHook(ends{server})
	clock := decode.Clock{Now: func() limiter.Instant { return limiter.InstantOf(time.Now()) }}
	finds, _, err := decode.Classify(t.Context(), client, library.Recognizer(), []string{"rate:u1", "rl:1"}, nil, clock)
	if err != nil || len(finds) != 0 {
		t.Errorf("%+v, %v", finds, err)
	}
}
