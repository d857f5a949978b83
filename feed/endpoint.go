package feed

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// ioTimeout bounds every dial, read and write: a server that does not answer within
// it is reported as away.
const ioTimeout = 2 * time.Second

// endpoint is a parsed set of URLs: exactly one of single, cluster and failover is set.
type endpoint struct {
	single   *redis.Options
	cluster  *redis.ClusterOptions
	failover *redis.FailoverOptions
	shown    string // as the user may see it, without passwords
	user     string
}

// defaultURL is watched when no other is given.
const defaultURL = "redis://localhost:6379"

const schemeSentinel = "redis+sentinel"

// parseEndpoint reads the URLs of Options. Its errors name the URL without password.
func parseEndpoint(urls []string, files TLSFiles) (*endpoint, error) {
	if len(urls) == 0 {
		urls = []string{defaultURL}
	}
	secured, err := files.config()
	if err != nil {
		return nil, err
	}
	var nodes []*redis.Options
	var shown []string
	clustered := len(urls) > 1
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
		q := u.Query()
		if v := q.Get("cluster"); v != "" {
			clustered = clustered || v == "true" || v == "1"
			q.Del("cluster")
			u.RawQuery = q.Encode()
		}
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
	e := &endpoint{shown: strings.Join(shown, ", "), user: nodes[0].Username}
	if !clustered {
		e.single = nodes[0]
		return e, nil
	}
	e.cluster = &redis.ClusterOptions{
		Username: nodes[0].Username, Password: nodes[0].Password,
		Protocol: nodes[0].Protocol, TLSConfig: nodes[0].TLSConfig,
	}
	for _, n := range nodes {
		e.cluster.Addrs = append(e.cluster.Addrs, n.Addr)
	}
	return e, nil
}

// parseSentinel reads redis+sentinel://[user:password@]host:port[,host:port]/name[/db].
func parseSentinel(raw string, u *url.URL, secured *tls.Config) (*endpoint, error) {
	name, db, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if u.Host == "" || name == "" {
		return nil, badURL(raw, "names no host or no master, as in redis+sentinel://host:26379/mymaster")
	}
	f := &redis.FailoverOptions{MasterName: name, TLSConfig: secured}
	for _, host := range strings.Split(u.Host, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, "26379")
		}
		f.SentinelAddrs = append(f.SentinelAddrs, host)
	}
	if db != "" {
		if _, err := fmt.Sscanf(db, "%d", &f.DB); err != nil {
			return nil, badURL(raw, fmt.Sprintf("has a database %q that is not a number", db))
		}
	}
	if u.User != nil {
		f.Username = u.User.Username()
		f.Password, _ = u.User.Password()
	}
	q := u.Query()
	f.SentinelUsername, f.SentinelPassword = q.Get("sentinel_username"), q.Get("sentinel_password")
	return &endpoint{failover: f, shown: redact(raw), user: f.Username}, nil
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

// config loads the files; nil when none is named.
func (f TLSFiles) config() (*tls.Config, error) {
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

// open makes a client. It never retries by itself: the observer waits with a backoff
// of its own, and a request whose answer is lost must not be sent twice.
func (e *endpoint) open(name string, pool int, hook redis.Hook) redis.UniversalClient {
	off := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	var c redis.UniversalClient
	switch {
	case e.cluster != nil:
		o := *e.cluster
		o.ClientName, o.PoolSize, o.MaxRetries = name, pool, -1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = ioTimeout, ioTimeout, ioTimeout, ioTimeout
		o.DialerRetries, o.ContextTimeoutEnabled, o.DisableIdentity = 1, true, true
		o.MaintNotificationsConfig = off
		o.PipelinePoolSize = -1
		if o.Protocol == 0 {
			o.Protocol = 2
		}
		if counting := hook; hook != nil {
			o.OnConnect = unnoticed
			o.NewClient = func(node *redis.Options) *redis.Client {
				n := redis.NewClient(node)
				n.AddHook(counting)
				return n
			}
			hook = &guard{} // the cluster's own only refuses: what goes out is counted at its node
		}
		c = redis.NewClusterClient(&o)
	case e.failover != nil:
		o := *e.failover
		o.ClientName, o.PoolSize, o.MaxRetries = name, pool, -1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = ioTimeout, ioTimeout, ioTimeout, ioTimeout
		o.DialerRetries, o.ContextTimeoutEnabled, o.DisableIdentity = 1, true, true
		o.PipelinePoolSize = -1
		if o.Protocol == 0 {
			o.Protocol = 2
		}
		if hook != nil {
			o.OnConnect = unnoticed
		}
		c = redis.NewFailoverClient(&o)
	default:
		o := *e.single
		o.ClientName, o.PoolSize, o.MaxRetries = name, pool, -1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = ioTimeout, ioTimeout, ioTimeout, ioTimeout
		o.DialerRetries, o.ContextTimeoutEnabled, o.DisableIdentity = 1, true, true
		o.MaintNotificationsConfig = off
		o.PipelinePoolSize = -1
		if o.Protocol == 0 {
			o.Protocol = 2
		}
		if hook != nil {
			o.OnConnect = unnoticed
		}
		c = redis.NewClient(&o)
	}
	if hook != nil {
		c.AddHook(hook)
	}
	return c
}

// unnoticed asks the server not to count this connection's reads as use of the keys, so
// that watching does not keep keys from being evicted nor makes them look hot. Servers
// before Redis 7.2 do not know it, and a user may not be allowed to ask.
func unnoticed(ctx context.Context, cn *redis.Conn) error {
	_ = cn.Process(ctx, redis.NewStatusCmd(ctx, "client", "no-touch", "on"))
	return nil
}

// quiet keeps go-redis from writing to standard error, which a screen owns: what goes
// wrong is reported in the batches.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }
