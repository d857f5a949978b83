package limiter

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limit is how much is admitted in how long a window.
type Limit struct {
	Count  int64         // per window; 0 counts without ever denying
	Window time.Duration // 1 ms or more
	Burst  int64         // GCRA and buckets: how much at once; 0 means Count
}

// ParseLimit reads COUNT/DURATION: "100/1m", "100/60s", "10/s", "5/500ms".
func ParseLimit(s string) (Limit, error) {
	bad := func(why string) (Limit, error) {
		return Limit{}, fmt.Errorf("limit %q %s: write COUNT/DURATION, as in 100/1m or 10/s", s, why)
	}
	left, right, found := strings.Cut(s, "/")
	if !found {
		return bad("has no slash")
	}
	n, err := strconv.ParseInt(strings.TrimSpace(left), 10, 64)
	if err != nil {
		return bad("has no whole number before the slash")
	}
	if n < 0 {
		return bad("is negative")
	}
	right = strings.TrimSpace(right)
	if right == "" {
		return bad("has no duration after the slash")
	}
	if right[0] < '0' || right[0] > '9' {
		right = "1" + right
	}
	if days, ok := strings.CutSuffix(right, "d"); ok {
		if d, err := strconv.ParseInt(days, 10, 32); err == nil {
			right = strconv.FormatInt(d*24, 10) + "h"
		}
	}
	w, err := time.ParseDuration(right)
	if err != nil {
		return bad("has a duration that cannot be read")
	}
	if w < time.Millisecond {
		return bad("has a window under 1 ms")
	}
	return Limit{Count: n, Window: w}, nil
}
