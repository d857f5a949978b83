package session

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/format"
)

// TermsText formats a limit in the form of the what-if prompt.
func TermsText(t model.Target) string {
	text := fmt.Sprintf("%s %d/%s", t.Algorithm, t.Limit.Count, format.Length(t.Window))
	if t.Limit.Burst > 0 {
		text += fmt.Sprintf(" burst %d", t.Limit.Burst)
	}
	return text
}

// ParseTerms parses an algorithm, a limit and a burst in any order; a term that is left out is that of
// as. A factor, such as x2, multiplies the limit before it and its burst. ok is false if the text is
// incomplete or a word is none of these.
func ParseTerms(text string, as model.Target) (t model.Target, ok bool) {
	t = model.Target{Algorithm: as.Algorithm, Limit: as.Limit, LimitKnown: true, Window: as.Window}
	words := strings.Fields(text)
	for i, word := range words {
		if a, err := limiter.ParseAlgorithm(word); err == nil {
			t.Algorithm, ok = a, true
			continue
		}
		if l, err := limiter.ParseLimit(word); err == nil {
			l.Burst = t.Limit.Burst
			t.Limit, t.Window, ok = l, l.Window, true
			continue
		}
		if factor, err := strconv.ParseFloat(strings.TrimPrefix(word, "x"), 64); word[0] == 'x' && err == nil && factor > 0 &&
			factor <= mostFactor {
			t.Limit.Count, t.Limit.Burst = times(t.Limit.Count, factor), times(t.Limit.Burst, factor)
			ok = true
			continue
		}
		var burst int64
		if n, err := fmt.Sscan(word, &burst); i > 0 && words[i-1] == "burst" && n == 1 && err == nil && burst > 0 {
			t.Limit.Burst, ok = burst, true
			continue
		}
		if word != "burst" || i+1 == len(words) {
			return t, false
		}
	}
	return t, ok && t.Limit.Count > 0 && t.Window > 0 && t.Algorithm != limiter.Unknown
}

// mostFactor is the greatest factor.
const mostFactor = 1000

// times multiplies a count and rounds the product. A count whose product could overflow is returned
// unchanged.
func times(count int64, factor float64) int64 {
	if count > math.MaxInt64/mostFactor/2 {
		return count
	}
	return int64(math.Round(float64(count) * factor))
}

// TermsNear lists the same limit under every algorithm.
func TermsNear(t model.Target) (list []string) {
	limit := strings.TrimPrefix(TermsText(t), t.Algorithm.String()+" ")
	for _, a := range limiter.Algorithms() {
		list = append(list, a.String()+" "+limit)
	}
	return list
}
