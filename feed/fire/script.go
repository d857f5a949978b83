package fire

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// sender sends commands over the client that writes. It asks a server whether it knows a script before the
// script is first called by its digest: the server would count the call of an unknown digest as an error
// (errorstat_NOSCRIPT, failed_calls), which may alarm those who monitor it. It is safe for concurrent use.
type sender struct {
	link *link
	send func(ctx context.Context, cmd redis.Cmder) error
}

// plainly returns the sender that sends commands as they are.
func (l *link) plainly() sender {
	return sender{l, func(ctx context.Context, cmd redis.Cmder) error { return l.client().Process(ctx, cmd) }}
}

// errNoScript has the text of the server's own reply, so that the caller sends the script's text.
var errNoScript = errors.New("NOSCRIPT the server does not know the script yet")

// unknown reports whether a command calls a script by a digest that the server does not know. It asks
// once for each digest.
func (l *link) unknown(ctx context.Context, cmd redis.Cmder) bool {
	name := cmd.Name()
	if name != "evalsha" && name != "evalsha_ro" || len(cmd.Args()) < 2 {
		return false
	}
	digest := fmt.Sprint(cmd.Args()[1])
	if _, asked := l.asked.LoadOrStore(digest, true); asked {
		return false
	}
	known, err := l.client().ScriptExists(ctx, digest).Result()
	return err == nil && len(known) == 1 && !known[0]
}

// Process implements redisstore.Client. It sends a command, or fails with errNoScript instead.
func (s sender) Process(ctx context.Context, cmd redis.Cmder) error {
	if s.link.unknown(ctx, cmd) {
		cmd.SetErr(errNoScript)
		return errNoScript
	}
	return s.send(ctx, cmd)
}

// script is a Lua script with its digest.
type script struct{ text, digest string }

func newScript(text string) script { return script{text, redis.NewScript(text).Hash()} }

// onceCmd is a command that go-redis does not send again.
type onceCmd struct{ *redis.Cmd }

// NoRetry tells go-redis not to send the command again.
func (c onceCmd) NoRetry() bool { return true }

// run runs a script once, by its digest if the server knows it.
func (s sender) run(ctx context.Context, lua script, keys []string, args ...any) *redis.Cmd {
	words := []any{"evalsha", lua.digest, len(keys)}
	for _, k := range keys {
		words = append(words, k)
	}
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	if err := s.Process(ctx, onceCmd{cmd}); redis.HasErrorPrefix(err, "NOSCRIPT") || errors.Is(err, errNoScript) {
		words = append([]any{"eval", lua.text}, cmd.Args()[2:]...)
		cmd = redis.NewCmd(ctx, words...)
		_ = s.send(ctx, onceCmd{cmd})
	}
	return cmd
}

// run runs a script over the client that writes.
func (l *link) run(ctx context.Context, lua script, keys []string, args ...any) *redis.Cmd {
	return l.plainly().run(ctx, lua, keys, args...)
}
