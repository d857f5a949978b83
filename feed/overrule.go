package feed

import (
	"slices"

	"ratescope/limiter"
)

// Overrule returns rules with what by says put over each of them, and by itself at the
// end for every key that no rule names. What by leaves open (an unknown algorithm or
// limit, a burst of 0) stays as the rule has it.
func Overrule(rules []Rule, by Rule) []Rule {
	list := append(slices.Clone(rules), Rule{Match: "*"})
	for i := range list {
		r := &list[i]
		if by.LimitKnown {
			r.Limit.Count, r.Limit.Window = by.Limit.Count, by.Limit.Window
			r.LimitKnown, r.Window = true, by.Limit.Window
		}
		if by.Limit.Burst > 0 {
			r.Limit.Burst = by.Limit.Burst
		}
		if by.Algorithm != limiter.Unknown {
			r.Algorithm = by.Algorithm
		}
	}
	return list
}
