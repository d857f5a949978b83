package httplimit

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"ratescope/limiter/internal/admit"
)

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
			network, err = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
		}
		if err != nil {
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
	at = at.Unmap()
	for i := len(fields) - 1; i >= 0; i-- {
		for rest := fields[i]; ; {
			if !holds(networks, at) {
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
		return withPort.Addr().Unmap(), true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return ip.Unmap().WithZone(""), err == nil
}

func holds(networks []netip.Prefix, ip netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}
