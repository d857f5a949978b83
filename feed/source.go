package feed

import (
	"context"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/watch"
	"ratescope/model"
)

// Source is something that looks at keys and reports what it saw.
type Source interface {
	// Run looks and calls emit, from one goroutine, at every refresh until ctx ends, and
	// then returns nil with no goroutine left behind. It returns an error only for what
	// can never work; a server that is away is reported in the batches. A Batch belongs
	// to its receiver once emitted. A source may be run once.
	Run(ctx context.Context, emit func(model.Batch)) error
}

// Focuser is a source that can read some keys sooner and closer than the rest.
type Focuser interface {
	// Focus says which keys (Reading.Key) are on screen, the most important first. It
	// replaces what was said before, and may be called from any goroutine.
	Focus(keys []string)
}

// Options says what to watch and how. The zero value watches every key of the
// server at redis://localhost:6379.
type Options struct {
	// URLs of the server: redis://, rediss://, unix:// as go-redis parses them; several,
	// or one with ?cluster=true, are a cluster; redis+sentinel://host:26379/name asks
	// sentinels for the master. With ?replica=true a replica of each master is read instead,
	// the same one for as long as it answers; a single replica is read at its own address.
	URLs []string
	// Watch holds glob patterns of keys, as SCAN's MATCH understands them; none means "*".
	Watch []string
	// Keys are exact names, read even while they do not exist (Type "none").
	Keys []string
	// Rules say how keys are limited; the first that matches wins.
	Rules []config.Rule
	// Refresh is the time between two batches; 0 means DefaultRefresh.
	Refresh time.Duration
	// MaxKeys bounds how many limiters are watched; 0 means DefaultMaxKeys. What is found
	// beyond is counted in Sweep.Dropped.
	MaxKeys int
	// ClientName is what CLIENT LIST shows; "" means "ratescope".
	ClientName string
	// Budget is the share of the server's time that watching may take, 0.01 for one
	// percent; 0 means DefaultBudget.
	Budget float64
	// TLS names the files of a private authority and of a client's certificate.
	TLS connect.TLSFiles
	// Password is for a server whose URL has none; "" is no password.
	Password connect.Secret
}

// watching returns what of the options is not about the way to the server.
func (o Options) watching() watch.Options {
	return watch.Options{
		Watch: o.Watch, Keys: o.Keys, Rules: o.Rules, Refresh: o.Refresh,
		MaxKeys: o.MaxKeys, Budget: o.Budget, ClientName: o.ClientName,
	}
}
