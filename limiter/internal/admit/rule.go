// Package admit holds what the adapters for HTTP and gRPC have in common: rules that give a request
// several keys with limits of their own, limits that are checked before the first request, and names
// of clients by their addresses.
package admit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"ratescope/limiter"
)

// Rule gives a request of type R a key and limits on it.
type Rule[R any] struct {
	Name      string
	Key       func(R) string
	Limits    []limiter.Limit
	LimitsFor func(R) []limiter.Limit
}

// Check returns an error if a rule is not complete, if two have one name, or if the limiter cannot
// decide about the limits that are known already. It puts copies of the limits into the rules, which
// the caller of an adapter cannot change.
func Check[R any](l *limiter.Breaker, rules []Rule[R]) error {
	names := make(map[string]bool, len(rules))
	var known []limiter.KeyLimit
	for i, r := range rules {
		switch {
		case !validName(r.Name):
			return fmt.Errorf("the name %q of a rule cannot stand in a header and a key: use printable ASCII without quotes, backslashes, braces "+
				"and colons", r.Name)
		case names[r.Name]:
			return fmt.Errorf("two rules have the name %q: give each its own", r.Name)
		case r.Key == nil || (len(r.Limits) > 0) == (r.LimitsFor != nil):
			return fmt.Errorf("the rule %q is not complete: set Key, and either Limits or LimitsFor", r.Name)
		}
		names[r.Name], rules[i].Limits = true, slices.Clone(r.Limits)
		known = append(known, limiter.OnKey(r.Name, r.Limits...)...)
	}
	if len(known) == 0 {
		known = limiter.OnKey("any", limiter.Limit{Count: 1, Window: time.Minute})
	}
	return Decides(l, true, known...)
}

// validName reports whether a name can stand in a header and before the colon of a key.
func validName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\:{}`, r) })
}

// Decides returns an error if a limiter cannot decide about limits, or if one of them denies nothing.
func Decides(l *limiter.Breaker, together bool, parts ...limiter.KeyLimit) error {
	for _, p := range parts {
		if p.Limit.Count == 0 && p.Limit.Validate() == nil {
			return fmt.Errorf("%w: a limit of 0 counts and denies nothing, so everything would be admitted: set a Count", limiter.ErrBadRequest)
		}
	}
	return l.CheckLimits(together, parts...)
}

// ErrNoLimit is a request for which the program has no valid limit: a fault of the program, not of the
// client.
var ErrNoLimit = errors.New("the request has no limit")

// Parts returns the limits of a request, and the name of the rule of each. A rule whose key is empty
// does not apply. The keys of a rule begin with its name, so that a client who chooses its key of one
// rule never meets the keys of another. A bare key is that of an adapter without rules, whose LimitsFor
// returns one limit.
func Parts[R any](l *limiter.Breaker, rules []Rule[R], r R, bare bool) (parts []limiter.KeyLimit, names []string, err error) {
	for _, rule := range rules {
		key := rule.Key(r)
		if key == "" {
			continue
		}
		limits := rule.Limits
		if rule.LimitsFor != nil {
			limits = rule.LimitsFor(r)
			if err := Decides(l, !bare, limiter.OnKey("any", limits...)...); err != nil {
				return nil, nil, fmt.Errorf("%w: for %q the program returned %+v: %v", ErrNoLimit, rule.Name, limits, err)
			}
		}
		if !bare {
			key = rule.Name + ":" + key
		}
		parts = append(parts, limiter.OnKey(key, limits...)...)
		names = append(names, slices.Repeat([]string{rule.Name}, len(limits))...)
	}
	return parts, names, nil
}

// OfRequest reports whether an error is due to the request: to its key, its cost, or the value at its
// key. The store was not asked, or has answered.
func OfRequest(err error) bool {
	return errors.Is(err, limiter.ErrBadRequest) || errors.Is(err, limiter.ErrWrongType) || errors.Is(err, limiter.ErrNotOnStore)
}

// Alone asks for a decision about each key of a request by itself, where err says that a node of a store with
// several did not answer. It returns the decisions of the first key that denies the request, with the place of
// its first limit, and none where the keys that could be asked admit it; these stay charged. The error
// is that of a key for which OfRequest holds.
func Alone(ctx context.Context, l limiter.Several, n int64, parts []limiter.KeyLimit, err error) ([]limiter.Decision, int, error) {
	var node interface{ Node() string }
	if !errors.Is(err, limiter.ErrAway) && !errors.As(err, &node) || ctx.Err() != nil {
		return nil, 0, nil
	}
	for first, end := 0, 0; first < len(parts); first = end {
		for end < len(parts) && parts[end].Key == parts[first].Key {
			end++
		}
		switch all, err := l.AllowKeys(ctx, n, parts[first:end]...); {
		case OfRequest(err):
			return nil, 0, err
		case err == nil && !limiter.Combine(all).Allowed:
			return all, first, nil
		}
	}
	return nil, 0, nil
}

// DefaultBits is how many bits of an IPv6 address name a client: a provider gives each of its
// customers all addresses of a /64, or more.
const DefaultBits = 64

// Host names a client by an address with a port or without. An IPv4 address has one name, also within
// IPv6; of an IPv6 address the leading bits count. Anything else is its own name, and is
// limited too: no address is "unknown".
func Host(address string, bits int) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		host = cmp.Or(address, "unknown")
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return host
	}
	return Name(ip, bits)
}

// Name names a client by its address, as Host does.
func Name(ip netip.Addr, bits int) string {
	ip = ip.Unmap().WithZone("")
	if ip.Is4() || bits >= 128 {
		return ip.String()
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return ip.String()
	}
	return prefix.String()
}
