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
