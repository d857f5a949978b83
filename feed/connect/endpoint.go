// Package connect is the way to a server: it reads URLs of single servers, clusters and sentinels, opens clients that never wait for
// ever and never try twice, and guards those that watch, so that no command that could write reaches the wire. What goes wrong on the
// way becomes one sentence with the remedy.
package connect

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/model/collect"
)

// Endpoint is a parsed set of URLs: the way to a server.
type Endpoint struct {
	options   redis.UniversalOptions
	way       way
	network   string                                   // of a single server: "tcp" or "unix"
	onConnect func(context.Context, *redis.Conn) error // asked of every connection; nil for nothing
	timeout   time.Duration                            // of a dial, a read and a write; 0 is Timeout
	frozen    *frozen                                  // nodes of a cluster that do not answer; nil for none of their own
	Shown     string                                   // as the user may see it, without passwords

	// joined is set once the one server was found to be a node of a cluster that can be reached: clients that are opened from then on
	// speak to all of it. nil for endpoints that stay as they are.
	joined *atomic.Bool

	// Trace receives every round trip of the clients that are opened from then on, for a debug
	// log; nil for none. It is called from any goroutine.
	Trace func(RoundTrip)
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
			o.TLSConfig.ServerName = cmp.Or(o.TLSConfig.ServerName, name)
		}
		nodes = append(nodes, o)
		shown = append(shown, redact(raw))
	}
	first := nodes[0]
	e := &Endpoint{frozen: &frozen{}, Shown: strings.Join(shown, ", "), network: first.Network, options: redis.UniversalOptions{
		Username: first.Username, Password: first.Password, DB: first.DB,
		Protocol: first.Protocol, TLSConfig: first.TLSConfig,
	}}
	e.options.Addrs = collect.Map(nodes, func(n *redis.Options) string { return n.Addr })
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

// badURL returns the error of a URL that cannot be used. why must hold no part of it that could be of a password.
func badURL(raw, why string) error {
	return fmt.Errorf("URL %q does not parse: %s; write redis://[user:password@]host:port/db, rediss://…, unix://path or "+
		"redis+sentinel://host:26379/name", redact(raw), why)
}

// bare is an address that was written without a scheme, and that can hold no password.
var bare = collect.Regexp(`^([A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\])(:[0-9]*)?(/[0-9]*)?$`)

// noScheme returns the error of an address that was written as other programs take it, without a
// scheme, with the URL to write instead; nil when raw is anything else.
func noScheme(raw string) error {
	switch {
	case bare().MatchString(raw):
		return fmt.Errorf("URL %q does not parse: it names no scheme; write redis://%s, or rediss:// with TLS", raw, raw)
	case strings.HasPrefix(raw, "/") && address().MatchString(raw):
		return fmt.Errorf("URL %q does not parse: it names no scheme; write unix://%s", raw, raw)
	}
	return nil
}

// parserSays returns what a parser says about a URL. Its text repeats parts of the URL, so
// that it is given only for one that can hold no password.
func parserSays(raw string, err error) string {
	if strings.ContainsAny(raw, "@?") {
		return "check the port, the number of the database and the options, and write %2F for a / in the password, %3F for ?, %23 for # and " +
			"%40 for @"
	}
	var ue *url.Error // its own text repeats the whole URL
	if errors.As(err, &ue) {
		err = ue.Err
	}
	return strings.TrimPrefix(err.Error(), "redis: ")
}

// parseServer reads the URL of one server; u is raw after the options of this program were taken out.
func parseServer(raw string, u *url.URL) (*redis.Options, error) {
	switch u.Scheme {
	case "redis", "rediss", "unix":
	case "":
		return nil, badURL(raw, "it names no scheme")
	default:
		return nil, badURL(raw, fmt.Sprintf("its scheme %q is not known", u.Scheme))
	}
	if skip := u.Query().Get("skip_verify"); skip != "" && skip != "false" && skip != "0" {
		return nil, fmt.Errorf("URL %q asks not to verify the server's certificate, so that a server in between could read the password: name "+
			"the authority that signed it with --tls-ca instead", redact(raw))
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, badURL(raw, parserSays(raw, err))
	}
	return o, nil
}

// address is what a person may see of a host and a path that come before no password.
var address = collect.Regexp(`^[A-Za-z0-9._:\[\],/-]*$`)

// redact removes the password and the options of a URL, also of one that does not parse. The user name stays. Of a URL in which they
// cannot be told apart from the rest only the scheme stays.
func redact(raw string) string {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		scheme, rest = "", raw
	} else {
		scheme += "://"
	}
	before, _, _ := strings.Cut(rest, "?")
	switch at := strings.LastIndexByte(before, '@'); {
	case at < 0 && strings.Contains(rest, "@"):
		return scheme + "…" // a ? in the password, or an @ in an option
	case at < 0:
		rest = before
	default:
		user, _, _ := strings.Cut(before[:at], ":")
		if rest = before[at+1:]; !address().MatchString(rest) || strings.Contains(raw[len(scheme)+at+1:], "@") {
			return scheme + "…" // an @ and a ? in the password
		}
		if user != "" {
			rest = user + "@" + rest
		}
	}
	return scheme + rest
}

// Config loads the files; nil when none is named.
func (f TLSFiles) Config() (*tls.Config, error) {
	if f == (TLSFiles{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("the certificate authority cannot be read: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the certificate authority %q holds no PEM certificate", f.CA)
		}
	}
	if f.Cert != "" || f.Key != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate %q with key %q cannot be used: %w", f.Cert, f.Key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// TLSFiles names PEM files for rediss:// URLs; empty fields mean the system's roots, no client certificate, and the host of the URL.
type TLSFiles struct {
	CA, Cert, Key string
	ServerName    string
}

// Secret is a password. It is not printed, by whatever verb.
type Secret string

// String hides the password.
func (s Secret) String() string { return "(hidden)" }

// GoString hides the password.
func (s Secret) GoString() string { return "(hidden)" }

// SetPassword gives the server a password unless its URL has one.
func (e *Endpoint) SetPassword(p Secret) {
	e.options.Password = cmp.Or(e.options.Password, string(p))
}

// Loopback says that every address that was given is on this machine: a loopback address, or a
// socket in the file system. The name localhost counts as one. For sentinels it speaks of them.
func (e *Endpoint) Loopback() bool {
	afar := func(addr string) bool { return !LoopbackHost(addr) }
	return e.network == "unix" || len(e.options.Addrs) > 0 && !slices.ContainsFunc(e.options.Addrs, afar)
}

// LoopbackHost says that an address, with a port or without, is on this machine.
func LoopbackHost(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.Trim(addr, "[]")
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}
