package fire

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// scriptClient asks a server whether it knows a script before the script is first called by its
// digest. The server would count the call of an unknown digest as an error (errorstat_NOSCRIPT,
// failed_calls), which may alarm those who monitor it. It is safe for concurrent use.
type scriptClient struct {
	redis.UniversalClient
	asked sync.Map // digests that were asked for
}

// run runs a script over the client that writes, the first time with its text, so that no unknown
// digest is called.
func (l *link) run(ctx context.Context, s *redis.Script, keys []string, args ...any) *redis.Cmd {
	if _, sent := l.sent.LoadOrStore(s.Hash(), true); !sent {
		return s.Eval(ctx, l.client(), keys, args...)
	}
	return s.Run(ctx, l.client(), keys, args...)
}

// errNoScript has the text of the server's own reply, so that the caller sends the script's text.
var errNoScript = errors.New("NOSCRIPT the server does not know the script yet")

// unknown reports whether a command calls a script by a digest that the server does not know. It asks
// once for each digest.
func (c *scriptClient) unknown(ctx context.Context, cmd redis.Cmder) bool {
	name := cmd.Name()
	if name != "evalsha" && name != "evalsha_ro" || len(cmd.Args()) < 2 {
		return false
	}
	digest := fmt.Sprint(cmd.Args()[1])
	if _, asked := c.asked.LoadOrStore(digest, true); asked {
		return false
	}
	known, err := c.ScriptExists(ctx, digest).Result()
	return err == nil && len(known) == 1 && !known[0]
}

// Process sends a command, or fails with errNoScript instead.
func (c *scriptClient) Process(ctx context.Context, cmd redis.Cmder) error {
	if c.unknown(ctx, cmd) {
		cmd.SetErr(errNoScript)
		return errNoScript
	}
	return c.UniversalClient.Process(ctx, cmd)
}
