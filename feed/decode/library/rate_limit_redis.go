package library

import (
	"net/netip"
	"strings"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// rateLimitRedis is the Redis store of express-rate-limit, and of express-slow-down, whose keys are
// the same: rl:<address of the client>, SET to 1 with the window in milliseconds as its expiry, then
// INCR. Denied requests are counted. A counter without an expiry is what is left of requests that
// were given back too late, and counts for nothing. The prefix rl: is that of many programs, so that
// another name than an address decides nothing.
var rateLimitRedis = &decode.Library{
	Name: "rate-limit-redis", Version: "6.0.1", Types: []string{"string"},
	Exact:  []decode.Form{{Algorithm: limiter.FixedWindow, Type: "string"}},
	Silent: []string{"the limit", "the window, but for the longest expiry", "which requests were denied: they are counted with the others"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		client, ok := strings.CutPrefix(s.Key, "rl:")
		if !c.Named && (!ok || !isAddress(client)) || !isCounter(s) {
			return nil
		}
		return counted(&counter{key: s.Key, charged: true, renewed: true}, s, prefixOf(s.Key), "named rl:<address of a client>")
	},
}

// isAddress says whether a name is that of a client: an IP address, or the network of one, by
// which clients of IPv6 are counted.
func isAddress(name string) bool {
	if strings.IndexByte(name, '.') <= 0 && strings.IndexByte(name, ':') < 0 { // an error costs an allocation
		return false
	}
	if strings.IndexByte(name, '/') >= 0 {
		_, err := netip.ParsePrefix(name)
		return err == nil
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}
