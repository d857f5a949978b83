package connect

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// parseSentinel reads redis+sentinel://[user:password@]host:port[,host:port]/name[/db], with
// ?replica=true for a replica of the master.
func parseSentinel(raw string, u *url.URL, secured *tls.Config) (*Endpoint, error) {
	name, db, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if u.Host == "" || name == "" {
		return nil, badURL(raw, "names no host or no master, as in redis+sentinel://host:26379/mymaster")
	}
	e := &Endpoint{way: toMaster, Shown: redact(raw), options: redis.UniversalOptions{MasterName: name, TLSConfig: secured}}
	o := &e.options
	for _, host := range strings.Split(u.Host, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, "26379")
		}
		o.Addrs = append(o.Addrs, host)
	}
	if db != "" {
		if _, err := fmt.Sscanf(db, "%d", &o.DB); err != nil {
			return nil, badURL(raw, fmt.Sprintf("has a database %q that is not a number", db))
		}
	}
	if u.User != nil {
		o.Username = u.User.Username()
		o.Password, _ = u.User.Password()
	}
	if take(u, "replica") {
		e.way = toReplica
	}
	q := u.Query()
	o.SentinelUsername, o.SentinelPassword = q.Get("sentinel_username"), q.Get("sentinel_password")
	return e, nil
}

// dialReplica dials the replica that the sentinels name, the first that is well: always the
// same while it is, because two replicas are not behind by the same.
func (e *Endpoint) dialReplica(ctx context.Context, network, _ string) (net.Conn, error) {
	var last error
	for _, addr := range e.options.Addrs {
		o := &e.options
		s := redis.NewSentinelClient(&redis.Options{
			Addr: addr, Username: o.SentinelUsername, Password: o.SentinelPassword, Protocol: 2, Dialer: e.dial,
			DialTimeout: Timeout, ReadTimeout: Timeout, WriteTimeout: Timeout, MaxRetries: -1, DisableIdentity: true, ContextTimeoutEnabled: true,
		})
		list, err := s.Replicas(ctx, o.MasterName).Result()
		s.Close()
		if err != nil {
			last = err
			continue
		}
		var well []string
		for _, r := range list {
			if !strings.Contains(r["flags"], "down") && !strings.Contains(r["flags"], "disconnected") {
				well = append(well, net.JoinHostPort(r["ip"], r["port"]))
			}
		}
		if len(well) == 0 {
			return nil, fmt.Errorf("no replica of %q is well: leave ?replica=true out to watch its master", o.MasterName)
		}
		slices.Sort(well)
		return e.dial(ctx, network, well[0])
	}
	return nil, fmt.Errorf("redis: all sentinels specified in configuration are unreachable: %w", last)
}
