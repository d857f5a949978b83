// Package connect is the way to a server: it reads URLs of single servers, clusters and
// sentinels, opens clients that never wait for ever and never try twice, and guards those
// that watch, so that no command that could write reaches the wire. What goes wrong on
// the way becomes one sentence with the remedy.
package connect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Endpoint is a parsed set of URLs: the way to a server.
type Endpoint struct {
	options redis.UniversalOptions
	way     way
	network string                                   // of a single server: "tcp" or "unix"
	tell    func(context.Context, *redis.Conn) error // asked of every connection; nil for nothing
	Shown   string                                   // as the user may see it, without passwords
}

// DB is the number of the database.
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
	secured, err := files.config()
	if err != nil {
		return nil, err
	}
	var nodes []*redis.Options
	var shown []string
	clustered, replica := len(urls) > 1, false
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil {
			var ue *url.Error // its text repeats the URL, password and all
			if errors.As(err, &ue) {
				err = ue.Err
			}
			return nil, badURL(raw, err.Error())
		}
		if u.Scheme == schemeSentinel {
			if len(urls) > 1 {
				return nil, badURL(raw, "cannot stand beside other URLs: one names all sentinels, separated by commas")
			}
			return parseSentinel(raw, u, secured)
		}
		clustered = take(u, "cluster") || clustered
		replica = take(u, "replica") || replica
		o, err := redis.ParseURL(u.String())
		if err != nil {
			return nil, badURL(raw, strings.TrimPrefix(err.Error(), "redis: "))
		}
		if secured != nil && o.TLSConfig != nil {
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

func badURL(raw, why string) error {
	return fmt.Errorf("URL %q does not parse: %s; write redis://[user:password@]host:port/db, rediss://…, unix://path or redis+sentinel://host:26379/name", redact(raw), why)
}

// redact removes the password and the parameters of a URL, also of one that does not
// parse. The user name stays.
func redact(raw string) string {
	raw, _, _ = strings.Cut(raw, "?")
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		scheme, rest = "", raw
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, _, _ := strings.Cut(rest[:i], ":")
		if user != "" {
			user += "@"
		}
		rest = user + rest[i+1:]
	}
	if !found {
		return rest
	}
	return scheme + "://" + rest
}

// Local is a server at an address of this machine, shown under a name.
func Local(addr, shown string) *Endpoint {
	return &Endpoint{network: "tcp", Shown: shown, options: redis.UniversalOptions{Addrs: []string{addr}}}
}
