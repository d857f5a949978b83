package decode

import (
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// ByName knows a key by its name alone.
func ByName(key string) (Found, bool) {
	if name, a, start, ok := layout.ParseKey(key); ok {
		return Found{Key: key, Type: "string", Name: name, Kind: Counter, Own: a, Start: start, Unit: time.Millisecond, Sure: true, Used: -1, Evidence: model.Known, Library: model.OwnLibrary}, true
	}
	if name, ok := ownerOf(key, ":denied", layout.DeniedKey); ok {
		return Found{Key: key, Type: "stream", Name: name, Denied: true}, true
	}
	if name, ok := ownerOf(key, ":blocked", layout.BlockedKey); ok {
		return Found{Key: key, Type: "string", Name: name, Blocked: true}, true
	}
	return Found{}, false
}

// NameOf returns the limiter that a key belongs to, by its name alone: what its counters
// have in common, the key that others stand beside, else the key itself.
func NameOf(key string, now limiter.Instant) string {
	if f, ok := ByName(key); ok {
		return f.Name
	}
	if base, _, _, ok := splitStart(key, now); ok {
		return base
	}
	return key
}

// ownerOf returns the limiter whose key beside its own this is.
func ownerOf(key, suffix string, beside func(string) string) (string, bool) {
	base, ok := strings.CutSuffix(key, suffix)
	if !ok {
		return "", false
	}
	for _, name := range [...]string{
		strings.TrimSuffix(strings.TrimPrefix(base, "{"), "}"),
		strings.TrimSuffix(base, ":"),
		strings.TrimSuffix(strings.TrimPrefix(base, "{!}"), "!"),
	} {
		if beside(name) == key {
			return name, true
		}
	}
	return "", false
}

// startReach is how far from now a number at the end of a name may lie to be taken for
// the start of a window: a counter that old has expired, or is stuck and counts nothing.
const (
	startPast   = 8 * 24 * time.Hour
	startFuture = 24 * time.Hour
)

// splitStart takes the window start off the end of a counter's name, as in
// prefix:resource:subject:1700000000 or …:1700000000000. Unit is time.Second or
// time.Millisecond.
func splitStart(key string, now limiter.Instant) (base string, start limiter.Instant, unit time.Duration, ok bool) {
	i := strings.LastIndexByte(key, ':')
	if i <= 0 || len(key)-i-1 < 9 || len(key)-i-1 > 14 {
		return "", 0, 0, false
	}
	n, err := strconv.ParseInt(key[i+1:], 10, 64)
	if err != nil || key[i+1] == '+' || key[i+1] == '0' {
		return "", 0, 0, false
	}
	for _, u := range Units[:2] {
		at := InstantIn(float64(n), u)
		if at > now.Add(-startPast) && at < now.Add(startFuture) {
			return key[:i], at, u, true
		}
	}
	return "", 0, 0, false
}
