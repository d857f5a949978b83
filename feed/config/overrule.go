package config

import (
	"fmt"
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
		if by.Algorithm != limiter.Unknown && r.Layout == nil {
			r.Algorithm = by.Algorithm
		}
		if r.Layout != nil {
			own := *r.Layout
			own.Limit, own.LimitKnown = r.Limit, r.LimitKnown
			own.Limit.Window = r.Span()
			r.Layout = &own
		}
	}
	return list
}

// Override holds the flags of the command line that speak of all keys, as they were typed:
// a limit as limiter.ParseLimit reads it, the name of an algorithm or auto, and a burst.
// An empty field overrides nothing.
type Override struct {
	Limit, Algorithm string
	Burst            int64
}

// Apply puts what the flags say over rules; see Overrule.
func (s Override) Apply(rules []Rule) ([]Rule, error) {
	by := Rule{}
	if s.Limit != "" {
		l, err := limiter.ParseLimit(s.Limit)
		if err != nil {
			return nil, err
		}
		by.Limit, by.LimitKnown = l, true
	}
	if s.Algorithm != "" && s.Algorithm != "auto" {
		a, err := limiter.ParseAlgorithm(s.Algorithm)
		if err != nil {
			return nil, fmt.Errorf("%w, or auto", err)
		}
		by.Algorithm = a
	}
	if s.Burst < 0 {
		return nil, fmt.Errorf("a burst of %d is negative: give how much may come at once", s.Burst)
	}
	by.Limit.Burst = s.Burst
	return Overrule(rules, by), nil
}
