package form

import (
	"math"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
)

// Count reads a whole number of 0 or more, written as Redis writes one: no sign, no leading
// zero, below 2^53.
func Count(text string) (int64, bool) {
	n, ok := Whole(text)
	return n, ok && n < 1<<53
}

// Whole reads a whole number of 0 or more of any size that an int64 holds.
func Whole(text string) (int64, bool) {
	if text == "" || len(text) > 1 && text[0] == '0' || len(text) > 19 {
		return 0, false
	}
	for i := range len(text) { // an error of strconv costs two allocations, and most keys hold no number
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// Signed reads a whole number as Redis writes one, below zero, too: a counter from which more was
// given back than was taken.
func Signed(text string) (int64, bool) {
	if left, ok := strings.CutPrefix(text, "-"); ok {
		n, ok := Count(left)
		return -n, ok && n > 0
	}
	return Count(text)
}

// PrefixOf returns the part of a key that its kind shares: all up to the last address of a client
// in it, or up to the last colon; "" where there is neither.
func PrefixOf(key string) string {
	for i := 0; i < len(key); i++ {
		if (i == 0 || strings.IndexByte(":-/_|", key[i-1]) >= 0) && IsAddress(key[i:]) {
			return key[:i]
		}
	}
	return key[:strings.LastIndexByte(key, ':')+1]
}

// Number reads a finite decimal number.
func Number(text string) (float64, bool) {
	if text == "" || text[0] > '9' {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) && !strings.ContainsAny(text, "xX_")
}

// LastPart splits a key at the last sep.
func LastPart(key string, sep byte) (before, last string, ok bool) {
	i := strings.LastIndexByte(key, sep)
	if i < 0 {
		return key, "", false
	}
	return key[:i], key[i+1:], true
}

// IsSecond says whether a score is a whole second of the last year or of the coming minutes.
func IsSecond(score float64, now limiter.Instant) bool {
	const year = 366 * 24 * 3600
	ahead := score - float64(now)/1e6
	return score == math.Trunc(score) && ahead > -year && ahead < 300
}

// Milliseconds returns n milliseconds as a duration.
func Milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Decimal writes a whole number.
func Decimal(n int64) string { return strconv.FormatInt(n, 10) }
