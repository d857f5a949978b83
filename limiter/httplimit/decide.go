package httplimit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/internal/admit"
)

// checkLimits says what is wrong with the limits of a configuration, for the limiter and the fallback.
func (c *Config) checkLimits(l *limiter.Breaker, rules []admit.Rule[*http.Request]) error {
	one := c.LimitFor != nil || c.Limit != (limiter.Limit{})
	switch {
	case len(rules) > 0:
		if one || len(c.Limits) > 0 || c.Key != nil || c.Name != "" || c.Policy != nil {
			return errors.New("Config.Rules stand alone: leave Limit, Limits, LimitFor, Key, Name and Policy out")
		}
		return admit.Check(l, rules)
	case len(c.Limits) > 0:
		if one || c.Policy != nil {
			return errors.New("Config.Limits stand alone: leave Limit, LimitFor and Policy out")
		}
		return admit.Decides(l, true, limiter.OnKey("any", c.Limits...)...)
	case c.LimitFor != nil && c.Limit == (limiter.Limit{}):
		return nil
	}
	return admit.Decides(l, false, limiter.KeyLimit{Key: "any", Limit: c.Limit})
}

// decide returns a decision for each limit of a request, and the name of each; none where it is not
// limited.
func (m *Middleware) decide(r *http.Request) (names []string, all []limiter.Decision, err error) {
	c, ctx := &m.config, r.Context()
	if c.OnFailure == FailOver && c.OnError != nil {
		ctx = context.WithValue(ctx, requestKey{}, r)
	}
	parts, names, err := admit.Parts(m.breaker, m.rules, r, len(c.Rules) == 0)
	if err != nil || len(parts) == 0 {
		return nil, nil, err
	}
	n := c.Cost(r)
	if n < 0 {
		return nil, nil, fmt.Errorf("%w: the cost of the request is not known", limiter.ErrBadRequest)
	}
	if len(c.Rules) > 0 || len(c.Limits) > 0 {
		all, err = m.breaker.AllowKeys(ctx, max(n, 1), parts...)
		if err != nil && c.OnFailure == FailOpen {
			if denied, first, wrong := admit.Alone(ctx, m.breaker, max(n, 1), parts, err); len(denied) > 0 || wrong != nil {
				return names[first:], denied, wrong
			}
		}
		return names, all, err
	}
	d, err := limiter.Apply(ctx, m.breaker, c.Policy, parts[0].Key, parts[0].Limit, max(n, 1))
	return names, []limiter.Decision{d}, err
}

// rule returns the limits of a configuration without Rules.
func (c *Config) rule() admit.Rule[*http.Request] {
	rule := admit.Rule[*http.Request]{Name: c.Name, Key: c.Key, Limits: c.Limits}
	switch limitFor := c.LimitFor; {
	case len(c.Limits) > 0:
	case limitFor == nil:
		rule.Limits = []limiter.Limit{c.Limit}
	default:
		rule.LimitsFor = func(r *http.Request) []limiter.Limit { return []limiter.Limit{limitFor(r)} }
	}
	return rule
}

// requestKey is the request in the context of a call, for OnError.
type requestKey struct{}

// breaker bounds the calls of the limiter, as the configuration says.
func (c *Config) breaker() (*limiter.Breaker, error) {
	b := limiter.BreakerConfig{
		Limiter: c.Limiter, Timeout: c.Timeout, Failures: c.Failures, Probe: c.Probe, Fallback: c.Fallback, OnChange: c.OnChange,
	}
	if tell := c.OnError; tell != nil && c.OnFailure == FailOver {
		b.OnError = func(ctx context.Context, err error) {
			r, _ := ctx.Value(requestKey{}).(*http.Request)
			tell(r, err)
		}
	}
	return limiter.NewBreaker(b)
}

// fields sets RateLimit-Policy, which are the limits, and RateLimit, which is what is left
// of each: r units now, of a quota of q, and t seconds until there is more. A window that is no whole
// number of seconds, which is all that w can tell, stands in the name alone.
func fields(h http.Header, names []string, all []limiter.Decision) {
	policies, left := make([]string, len(all)), make([]string, len(all))
	for i, d := range all {
		name, window := names[i], d.Limit.Window
		for j, other := range names {
			if i != j && other == name {
				name += "-" + span(window)
				break
			}
		}
		for slices.ContainsFunc(left[:i], func(item string) bool { return strings.HasPrefix(item, fmt.Sprintf("%q;", name)) }) {
			name += "'" // a rule may be named as the window of another one
		}
		wait := d.ResetAfter
		if !d.Allowed && d.RetryAfter > 0 && d.RetryAfter != limiter.Never {
			wait = d.RetryAfter
		}
		policies[i] = fmt.Sprintf("%q;q=%d", name, d.Limit.Count)
		if window%time.Second == 0 {
			policies[i] += fmt.Sprintf(";w=%d", seconds(window))
		}
		left[i] = fmt.Sprintf("%q;r=%d;t=%d", name, min(d.Remaining, d.Limit.Count), seconds(wait))
	}
	h.Set("RateLimit-Policy", strings.Join(policies, ", "))
	h.Set("RateLimit", strings.Join(left, ", "))
}

// span tells windows apart in a name, as in 60s and 500ms.
func span(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", seconds(d))
	}
	return fmt.Sprint(float64(d)/float64(time.Millisecond)) + "ms"
}

// seconds rounds up, so that waiting that long is enough.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

// RemoteHost names a client by the host part of its address: an IPv4 address, or the /64 of an IPv6
// address, of which one customer has all. Behind a proxy that is the proxy: see ClientIP.
func RemoteHost(r *http.Request) string { return admit.Host(r.RemoteAddr, admit.DefaultBits) }

// ClientIP returns a Config.Key that names a client by its address also where it comes through
// proxies, a load balancer or a content network: the address in X-Forwarded-For that the last trusted
// one of them has seen. What stands to the left of it came from the client, which may write there
// what it likes, and is not read. Of a peer that is not trusted the header is not read at all.
//
// trusted are the networks of your proxies, as "10.0.0.0/8" or "192.0.2.7". Of an IPv6 address the
// leading bits name the client: 64 when 0, which is what one customer has at least; 128 tells
// all addresses apart.
func ClientIP(ipv6Bits int, trusted ...string) (func(*http.Request) string, error) {
	if ipv6Bits == 0 {
		ipv6Bits = admit.DefaultBits
	}
	if ipv6Bits < 16 || ipv6Bits > 128 {
		return nil, fmt.Errorf("%d bits of an IPv6 address: use 16 to 128, or 0 for the usual %d", ipv6Bits, admit.DefaultBits)
	}
	networks := make([]netip.Prefix, len(trusted))
	for i, text := range trusted {
		network, err := netip.ParsePrefix(text)
		if ip, single := netip.ParseAddr(text); err != nil && single == nil {
			network, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		if network.Addr().Is4In6() { // as servers for both write an IPv4 address
			network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
		}
		if err != nil || !network.IsValid() {
			return nil, fmt.Errorf("the trusted network %q cannot be read: write it as 10.0.0.0/8 or 192.0.2.7", text)
		}
		networks[i] = network.Masked()
	}
	return func(r *http.Request) string {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			return admit.Host(r.RemoteAddr, ipv6Bits)
		}
		return admit.Name(lastUntrusted(peer.Addr(), r.Header.Values("X-Forwarded-For"), networks), ipv6Bits)
	}, nil
}

// lastUntrusted returns the address of the client of the first trusted proxy: the last one in the
// fields that no network holds. Where a field cannot be read, that is the proxy which passed it on.
func lastUntrusted(at netip.Addr, fields []string, networks []netip.Prefix) netip.Addr {
	at = at.Unmap().WithZone("")
	for i := len(fields) - 1; i >= 0; i-- {
		for rest := fields[i]; ; {
			if !slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(at) }) {
				return at
			}
			cut := strings.LastIndexByte(rest, ',')
			before, ok := parseHost(strings.TrimSpace(rest[cut+1:]))
			if !ok {
				return at
			}
			if at = before; cut < 0 {
				break
			}
			rest = rest[:cut]
		}
	}
	return at
}

// parseHost reads an address as proxies write it: alone, with a port, or in brackets.
func parseHost(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return ip.Unmap().WithZone(""), err == nil
}
