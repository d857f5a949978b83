package limiter

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter/internal/given"
	"ratescope/limiter/internal/rate"
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
	right = strings.TrimSpace(right)
	if right == "" {
		return bad("has no duration after the slash")
	}
	if (right[0] < '0' || right[0] > '9') && right[0] != '.' {
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
	l := Limit{Count: n, Window: w}
	if why := l.fault(); why != "" {
		return Limit{}, fmt.Errorf("limit %q: %s", s, why)
	}
	return l, nil
}

// What a limit, a cost and a key may be. Within these bounds every sum and product that
// decides stays a whole number that a double holds, in Go and in Lua alike.
const (
	MaxCount  = 1_000_000_000_000
	MinWindow = time.Millisecond
	MaxWindow = 366 * 24 * time.Hour

	MaxKeyLen  = 64 << 10        // bytes of a key
	MaxLogCost = 10_000          // of one request that a sliding log admits: it keeps an entry a unit
	MaxLimits  = 16              // that one call of AllowKeys decides about
	MinMaxKeys = 16 * shardCount // the smallest bound of WithMaxKeys
)

// Validate says what is wrong with l, in one sentence, or nil. Its errors are
// ErrBadRequest.
func (l Limit) Validate() error {
	if why := l.fault(); why != "" {
		return fmt.Errorf("%w: %s", ErrBadRequest, why)
	}
	return nil
}

// valid reports whether l has no fault. It is small enough to be inlined.
func (l Limit) valid() bool {
	return uint64(l.Count) <= MaxCount && uint64(l.Burst) <= MaxCount &&
		l.Window >= MinWindow && l.Window <= MaxWindow && l.Window%time.Microsecond == 0
}

// fault says what is wrong with l; "" is nothing.
func (l Limit) fault() string {
	switch {
	case l.valid():
		return ""
	case l.Count < 0 || l.Count > MaxCount:
		return fmt.Sprintf("a limit of %d is out of range: use 0 (count only) to %d", l.Count, int64(MaxCount))
	case l.Burst < 0 || l.Burst > MaxCount:
		return fmt.Sprintf("a burst of %d is out of range: use 0 (the limit itself) to %d", l.Burst, int64(MaxCount))
	case l.Window < MinWindow || l.Window > MaxWindow:
		return fmt.Sprintf("a window of %v is out of range: use 1ms to 8784h (366 days)", l.Window)
	}
	return fmt.Sprintf("a window of %v is finer than a microsecond: round it", l.Window)
}

// burst is how much a key can take at once.
func (l Limit) burst() int64 {
	if l.Burst > 0 {
		return l.Burst
	}
	return l.Count
}

// emission returns the interval T = W/L of a limit whose count is 1 or more.
func (q *request) emission() rate.Interval {
	return rate.Interval{Num: q.w, Den: max(q.limit.Count, 1)}
}

// checkRange says what is wrong with the burst of a limit for an algorithm that counts
// in intervals.
func (l Limit) checkRange(alg Algorithm, c Convention) error {
	if l.Count == 0 {
		return nil
	}
	q := request{limit: l, w: l.micros(), c: c, alg: alg}
	f := q.refill()
	const century = 100 * 366 * 24 * 3600 * 1_000_000
	if f.Times(f.steps(l.burst())).US > century {
		return fmt.Errorf("%w: a burst of %d at %d in %v takes more than a century to come back: use a smaller burst",
			ErrBadRequest, l.burst(), l.Count, l.Window)
	}
	return nil
}

// Instant is a moment on a store's clock, in whole microseconds since the Unix
// epoch. It is an integer so that the arithmetic in Go and in Lua (whose numbers
// are doubles, exact up to 2^53, which is the year 2255) agrees to the last digit.
// The zero Instant is the epoch itself; where it can mean "not known", the field
// that holds it says so.
type Instant int64

// InstantOf converts t, dropping what is finer than a microsecond.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMicro()) }

// Add returns the instant d later (earlier when d is negative).
func (t Instant) Add(d time.Duration) Instant { return t + Instant(d/time.Microsecond) }

// Sub returns how long after u the instant t is; negative when it is before.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t-u) * time.Microsecond }

// Time returns t as a time.Time in UTC.
func (t Instant) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// Millis returns t in whole milliseconds since the epoch, rounded down.
func (t Instant) Millis() int64 { return floorDiv(int64(t), 1000) }

// Floor returns the latest multiple of d since the epoch that is not after t: the
// start of the clock-aligned window of length d that holds t. A d below one
// microsecond leaves t as it is.
func (t Instant) Floor(d time.Duration) Instant {
	w := int64(d / time.Microsecond)
	if w <= 0 {
		return t
	}
	return t.aligned(w)
}

// aligned is the start of the clock-aligned window of w microseconds that holds t.
func (t Instant) aligned(w int64) Instant { return Instant(floorDiv(int64(t), w) * w) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// systemClock counts from a monotonic reading, which is cheaper than the wall clock and
// never jumps.
type systemClock struct {
	start time.Time
	base  Instant
}

func newSystemClock() systemClock {
	start := given.Now()
	return systemClock{start, InstantOf(start)}
}

func (c *systemClock) now() Instant { return c.base.Add(given.Since(c.start)) }
