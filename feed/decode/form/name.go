package form

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
)

// Members returns the keys of the samples that exist.
func Members(got []decode.Sample) []string {
	var keys []string
	for i := range got {
		if got[i].Exists() {
			keys = append(keys, got[i].Key)
		}
	}
	return keys
}

// IsAddress says whether a name is that of a client: an IP address, or the network of one, by
// which clients of IPv6 are counted.
func IsAddress(name string) bool {
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

// IsHex says whether text is n lower-case hexadecimal digits.
func IsHex(text string, n int) bool {
	return len(text) == n && strings.Trim(text, "0123456789abcdef") == ""
}

// Nanoseconds reads an instant of these years in nanoseconds, rounded down to the microsecond.
func Nanoseconds(text string, now limiter.Instant) (limiter.Instant, bool) {
	if len(text) != 19 {
		return 0, false
	}
	n, ok := Whole(text)
	at := limiter.Instant(n / 1000)
	return at, ok && at > now.Add(-366*24*time.Hour) && at < now.Add(2*366*24*time.Hour)
}

// IsNumber says whether text is a whole number of 0 or more.
func IsNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil
}
