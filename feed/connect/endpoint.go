// Package connect is the way to a server: it reads URLs of single servers, clusters and
// sentinels, opens clients that never wait for ever and never try twice, and guards those
// that watch, so that no command that could write reaches the wire. What goes wrong on
// the way becomes one sentence with the remedy.
package connect

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Endpoint is a parsed set of URLs: the way to a server.
type Endpoint struct {
	options   redis.UniversalOptions
	way       way
	network   string                                   // of a single server: "tcp" or "unix"
	onConnect func(context.Context, *redis.Conn) error // asked of every connection; nil for nothing
	timeout   time.Duration                            // of a dial, a read and a write; 0 is Timeout
	Shown     string                                   // as the user may see it, without passwords

	// joined is set once the one server was found to be a node of a cluster that can be
	// reached: clients that are opened from then on speak to all of it. nil for endpoints that
	// stay as they are.
	joined *atomic.Bool

	// Trace receives every round trip of the clients that are opened from then on, for a debug
	// log; nil for none. It is called from any goroutine.
	Trace func(RoundTrip)
}

// reachedBy returns how the server is reached now.
func (e *Endpoint) reachedBy() way {
	if e.joined != nil && e.joined.Load() {
		return toCluster
	}
	return e.way
}

// DB returns the number of the database.
func (e *Endpoint) DB() int { return e.options.DB }

// way is how a server is reached.
type way uint8

const (
	toOne     way = iota // one server, at an address of its own
	toCluster            // whose nodes know each other
	toMaster             // whose address sentinels know
	toReplica            // of such a master
)

// defaultURL is watched when no other is given.
const defaultURL = "redis://localhost:6379"

const schemeSentinel = "redis+sentinel"

// Parse reads the URLs of Options. Its errors name the URL without password.
func Parse(urls []string, files TLSFiles) (*Endpoint, error) {
	if len(urls) == 0 {
		urls = []string{defaultURL}
	}
	secured, err := files.Config()
	if err != nil {
		return nil, err
	}
	var nodes []*redis.Options
	var shown []string
	clustered, replica, alone := len(urls) > 1, false, false
	for _, raw := range urls {
		if err := noScheme(raw); err != nil {
			return nil, err
		}
		u, err := url.Parse(raw)
		if err != nil {
			return nil, badURL(raw, parserSays(raw, err))
		}
		if u.Scheme == schemeSentinel {
			if len(urls) > 1 {
				return nil, badURL(raw, "cannot stand beside other URLs: one names all sentinels, separated by commas")
			}
			return parseSentinel(raw, u, secured)
		}
		alone = u.Query().Get("cluster") == "false" || alone
		clustered = take(u, "cluster") || clustered
		replica = take(u, "replica") || replica
		o, err := parseServer(raw, u)
		switch {
		case err != nil:
			return nil, err
		case secured != nil && o.TLSConfig == nil:
			return nil, fmt.Errorf("URL %q does not use TLS, so that --tls-ca, --tls-cert, --tls-key and --tls-server-name would be ignored and "+
				"the password sent in plain text: write rediss://", redact(raw))
		case len(nodes) > 0 && (nodes[0].TLSConfig == nil) != (o.TLSConfig == nil):
			return nil, fmt.Errorf("URLs %q and %q are of one cluster and only one of them uses TLS: write rediss:// for both, or redis:// for both",
				shown[0], redact(raw))
		}
		if secured != nil {
			name := o.TLSConfig.ServerName
			o.TLSConfig = secured.Clone()
			if o.TLSConfig.ServerName == "" {
				o.TLSConfig.ServerName = name
			}
		}
		nodes = append(nodes, o)
		shown = append(shown, redact(raw))
	}
	first := nodes[0]
	e := &Endpoint{Shown: strings.Join(shown, ", "), network: first.Network, options: redis.UniversalOptions{
		Username: first.Username, Password: first.Password, DB: first.DB,
		Protocol: first.Protocol, TLSConfig: first.TLSConfig,
	}}
	for _, n := range nodes {
		e.options.Addrs = append(e.options.Addrs, n.Addr)
	}
	switch {
	case !clustered && !alone && !replica:
		e.joined = new(atomic.Bool)
	case clustered:
		e.way, e.options.ReadOnly = toCluster, replica
	case replica:
		return nil, fmt.Errorf("URL %q asks for a replica and names a single server: give the replica's own address", e.Shown)
	}
	return e, nil
}

// take takes a parameter of ours out of a URL, and says whether it is true.
func take(u *url.URL, name string) bool {
	q := u.Query()
	v := q.Get(name)
	if v != "" {
		q.Del(name)
		u.RawQuery = q.Encode()
	}
	return v == "true" || v == "1"
}

// Local returns a server at an address of this machine, shown under a name.
func Local(addr, shown string) *Endpoint {
	return &Endpoint{network: "tcp", Shown: shown, options: redis.UniversalOptions{Addrs: []string{addr}}}
}
