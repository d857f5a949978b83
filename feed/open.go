package feed

import (
	"github.com/redis/go-redis/v9"

	"ratescope/feed/demo"
)

// NewEmbedded starts a Redis in process, empty; its Run puts two windows of past behind
// every key before the first batch, so that the screen need not wait for them. Rules of o
// hold for keys that the demo does not know; its URLs are not looked at.
func NewEmbedded(o Options) (*demo.Embedded, error) { return demo.New(o) }

const verifyPool = 4 // connections: scenarios run one after the other

// Connect returns a client of the server that o names which is free to write. It is for
// verifying the limiters on a server, which is asked for by name and leaves nothing
// behind; what watches is guarded, and what fires is an Injector. It does not connect
// yet. The error is for URLs that do not parse or TLS files that cannot be read.
func Connect(o Options) (redis.UniversalClient, error) {
	e, err := o.Endpoint()
	if err != nil {
		return nil, err
	}
	return e.Open("ratescope-verify", verifyPool, nil), nil
}
