package watch

import (
	"time"

	"ratescope/feed/config"
	"ratescope/feed/connect"
)

// Options says which server is watched, which of its keys, and how often. The zero value
// watches every key of the server at redis://localhost:6379 at the default refresh and budget.
type Options struct {
	// URLs of the server: redis://, rediss://, unix:// as go-redis parses them; several,
	// or one with ?cluster=true, are a cluster; redis+sentinel://host:26379/name asks
	// sentinels for the master. With ?replica=true a replica of each master is read instead,
	// the same one for as long as it answers; a single replica is read at its own address.
	// The embedded server has no URL and ignores them.
	URLs []string
	// TLS names the files of a private authority and of a client's certificate.
	TLS connect.TLSFiles
	// Password is for a server whose URL has none; "" is no password.
	Password connect.Secret

	// Watch holds glob patterns of keys, as SCAN's MATCH understands them; none means "*".
	Watch []string
	// Keys are exact names, read even while they do not exist (Type "none").
	Keys []string
	// Slots restricts watching to the limiters whose names hash to these slots; the zero value
	// means all slots. The slot is that of the limiter's name, not of its keys, so that all keys
	// of a limiter go together. The names in Keys are read whatever their slot.
	Slots connect.Slots
	// Rules say how keys are limited; the first that matches wins.
	Rules []config.Rule
	// Refresh is the time between two batches; 0 means DefaultRefresh.
	Refresh time.Duration
	// MaxKeys bounds how many limiters are watched; 0 means DefaultMaxKeys. Limiters found
	// beyond it are counted in Sweep.Dropped.
	MaxKeys int
	// Budget is the share of the server's time that watching may take, 0.01 for one
	// percent. 0 means DefaultBudget, and up to IdleBudget for the first pass over the keyspace
	// while no other client uses the server.
	Budget float64
	// ClientName is what CLIENT LIST shows; "" means "ratescope".
	ClientName string

	// Trace receives every round trip to the server, for a debug log; nil for none. It is called
	// from any goroutine.
	Trace func(connect.RoundTrip)
}

// Defaults of Options.
const (
	DefaultRefresh = 200 * time.Millisecond
	DefaultMaxKeys = 10_000
	DefaultBudget  = 0.01
	IdleBudget     = 0.10
)

// Endpoint returns the server's endpoint. It does not connect; it fails when a URL does not
// parse or a TLS file cannot be read.
func (o Options) Endpoint() (*connect.Endpoint, error) {
	e, err := connect.Parse(o.URLs, o.TLS)
	if err != nil {
		return nil, err
	}
	e.SetPassword(o.Password)
	e.Trace = o.Trace
	return e, nil
}
