package rules

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
		if by.Algorithm != limiter.Unknown {
			r.Algorithm = by.Algorithm
		}
	}
	return list
}

// Spoken is what a command line says about all keys, as it was typed: a limit as
// limiter.ParseLimit reads it, the name of an algorithm or auto, and a burst. Fields
// that are empty say nothing.
type Spoken struct {
	Limit, Algorithm string
	Burst            int64
}

// Read loads the rules of a file, none for "", and puts what was spoken over them.
func Read(path string, s Spoken) ([]Rule, error) {
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
	var rules []Rule
	if path != "" {
		var err error
		if rules, err = Load(path); err != nil {
			return nil, err
		}
	}
	return Overrule(rules, by), nil
}
