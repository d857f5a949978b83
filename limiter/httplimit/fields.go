package httplimit

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"ratescope/limiter"
)

// fields sets RateLimit-Policy, which are the limits, and RateLimit, which is what is left
// of each: r units now, and t seconds until there is more.
func (m *Middleware) fields(h http.Header, all []limiter.Decision) {
	policies, left := make([]string, len(all)), make([]string, len(all))
	for i, d := range all {
		name := m.Name
		if len(all) > 1 {
			name = fmt.Sprintf("%s-%ds", name, seconds(d.Limit.Window))
		}
		wait := d.ResetAfter
		if !d.Allowed && d.RetryAfter > 0 && d.RetryAfter != limiter.Never {
			wait = d.RetryAfter
		}
		policies[i] = fmt.Sprintf("%q;q=%d;w=%d", name, d.Limit.Count, seconds(d.Limit.Window))
		left[i] = fmt.Sprintf("%q;r=%d;t=%d", name, d.Remaining, seconds(wait))
	}
	h.Set("RateLimit-Policy", strings.Join(policies, ", "))
	h.Set("RateLimit", strings.Join(left, ", "))
}

// seconds rounds up, so that waiting that long is enough.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
