package limiter

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A limiter that lives in several Redis keys names them after its own key in a way
// that keeps them in one hash slot of a cluster. A plain key is wrapped in braces. A
// key that has a hash tag already keeps it and is set apart by a colon. A key that
// cannot be wrapped, because it is empty or its first brace closes at once, gets a tag
// of its own. The three forms differ in the character before the suffix, so that no
// two keys share a name and every name can be read back.
func keyBase(key string) string { return named(key, "") }

// named returns the base of a key with a suffix, put together in one go.
func named(key, suffix string) string {
	switch {
	case hashTag(key) != "":
		return key + ":" + suffix
	case key == "" || key[0] == '}':
		return "{!}" + key + "!" + suffix
	}
	return "{" + key + "}" + suffix
}

// keyOfBase is the inverse of keyBase.
func keyOfBase(base string) (string, bool) {
	if base == "" {
		return "", false
	}
	key := ""
	switch base[len(base)-1] {
	case ':':
		key = base[:len(base)-1]
	case '!':
		key = strings.TrimPrefix(base[:len(base)-1], "{!}")
	case '}':
		key = strings.TrimPrefix(base[:len(base)-1], "{")
	}
	return key, keyBase(key) == base
}

// hashTag returns what Redis Cluster hashes instead of the whole key, "" for the whole.
func hashTag(key string) string {
	_, rest, found := strings.Cut(key, "{")
	if !found {
		return ""
	}
	tag, _, found := strings.Cut(rest, "}")
	if !found {
		return ""
	}
	return tag
}

const (
	fixedSuffix   = ":fw:"
	slidingSuffix = ":sw:"
	deniedSuffix  = ":denied"
	blockedSuffix = ":blocked"
)

// DeniedKey returns the stream that holds the recorded denials of a key: entries with
// the fields count and total, a running total, so that a reader gets an exact number
// even when entries were trimmed between two readings.
func DeniedKey(key string) string { return named(key, deniedSuffix) }

// BlockedKey returns the string that holds until when a key is blocked, in
// microseconds since the epoch. It exists as long as the block lasts.
func BlockedKey(key string) string { return named(key, blockedSuffix) }

// Keys returns the Redis keys that a decision of the algorithm at the instant now
// reads or writes, without those of denials and blocks: for the sliding window the
// current counter and then the previous one.
func Keys(a Algorithm, key string, limit Limit, l Layout, now Instant) []string {
	w := limit.micros()
	start := Instant(floorDiv(int64(now), w) * w)
	switch a {
	case FixedWindow:
		return []string{counterName(a, key, l, start)}
	case SlidingWindow:
		return []string{counterName(a, key, l, start), counterName(a, key, l, start-Instant(w))}
	}
	return []string{key}
}

// counterPrefix returns the name of a counter up to the window's start.
func counterPrefix(a Algorithm, key string, l Layout) string {
	switch {
	case l.Suffixed:
		return key + ":"
	case a == SlidingWindow:
		return named(key, slidingSuffix)
	}
	return named(key, fixedSuffix)
}

func counterName(a Algorithm, key string, l Layout, start Instant) string {
	return counterPrefix(a, key, l) + strconv.FormatInt(floorDiv(int64(start), l.counterUnit()), 10)
}

// counterUnit is how many microseconds one step of a counter name is.
func (l Layout) counterUnit() int64 {
	if l.Unit >= time.Microsecond {
		return int64(l.Unit / time.Microsecond)
	}
	return 1000
}

// ParseKey reads the name of a counter that this library keeps, {key}:fw:<ms> or
// {key}:sw:<ms>: the limiter's key, its algorithm and the start of the window.
func ParseKey(redisKey string) (key string, a Algorithm, start Instant, ok bool) {
	cut := strings.LastIndexByte(redisKey, ':')
	if cut < 3 {
		return "", Unknown, 0, false
	}
	digits := redisKey[cut+1:]
	ms, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || ms > math.MaxInt64/1000 || ms < math.MinInt64/1000 || strconv.FormatInt(ms, 10) != digits {
		return "", Unknown, 0, false
	}
	switch redisKey[cut-3 : cut+1] {
	case fixedSuffix:
		a = FixedWindow
	case slidingSuffix:
		a = SlidingWindow
	default:
		return "", Unknown, 0, false
	}
	key, ok = keyOfBase(redisKey[:cut-3])
	if !ok {
		return "", Unknown, 0, false
	}
	return key, a, Instant(ms * 1000), true
}

// MaxKeyLen is the longest key that is accepted, in bytes.
const MaxKeyLen = 64 << 10

// checkAsked looks at what every request has: a context that is not over, and a key.
func checkAsked(ctx context.Context, key string) error {
	if ctx == nil {
		return fmt.Errorf("%w: the context is nil: pass context.Background()", ErrBadRequest)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case key == "":
		return fmt.Errorf("%w: the key is empty: name what is limited", ErrBadRequest)
	case len(key) > MaxKeyLen:
		return fmt.Errorf("%w: the key is %d bytes long: use at most %d, or a hash of it", ErrBadRequest, len(key), MaxKeyLen)
	}
	return nil
}
