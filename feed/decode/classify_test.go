package decode_test

import (
	"context"
	"net"
	"testing"
	"time"

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
		_, _, err := decode.Classify(t.Context(), client, library.Recognizer, []string{"a", "b"}, nil, clock)
		if got := connect.Code(err); got != code {
			t.Errorf("without permission for %q the error is %v, want the code %q", forbidden, err, code)
		}
		_ = client.Close()
	}
}
