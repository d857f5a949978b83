package feed

import "github.com/redis/go-redis/v9"

// Connect returns a client of the server that o names which is free to write. It is for
// verifying the limiters on a server, which is asked for by name and leaves nothing
// behind; what watches is guarded, and what fires is an Injector. It does not connect
// yet. The error is for URLs that do not parse or TLS files that cannot be read.
func Connect(o Options) (redis.UniversalClient, error) {
	e, err := parseEndpoint(o.URLs, o.TLS)
	if err != nil {
		return nil, err
	}
	return e.open("ratescope-verify", poolSize, nil), nil
}
