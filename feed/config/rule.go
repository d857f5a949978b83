package config

import (
	"strings"
	"time"

	"ratescope/limiter"
)

// Rule says how the keys that match a pattern are limited.
type Rule struct {
	Match      string            // glob on the limiter's name or the Redis key: * ? [a-c] [^x] \
	Algorithm  limiter.Algorithm // limiter.Unknown: told from the key's type and shape
	Limit      limiter.Limit
	LimitKnown bool          // Limit.Count holds
	Window     time.Duration // 0: Limit.Window, or told from the data where that is possible
	Convention limiter.Convention
	Library    string // whose layout the keys have; "" any that fits
}

// Span returns the window that the rule speaks of, 0 when it does not.
func (r *Rule) Span() time.Duration {
	if r.Window > 0 {
		return r.Window
	}
	return r.Limit.Window
}

// Silent says that a rule tells nothing about how its keys are limited.
func (r *Rule) Silent() bool {
	return r == nil || r.Algorithm == limiter.Unknown && !r.LimitKnown && r.Span() == 0
}

// Narrow says whether a rule names keys: its pattern is not for all of them.
func (r *Rule) Narrow() bool { return r != nil && strings.Trim(r.Match, "*") != "" }

// Names returns the library that a rule names, "" where it names none. r may be nil.
func (r *Rule) Names() string {
	if r == nil {
		return ""
	}
	return r.Library
}

// RuleFor returns the first rule that matches one of the names, or nil.
func RuleFor(rules []Rule, names ...string) *Rule {
	for i := range rules {
		for _, n := range names {
			if n != "" && MatchGlob(rules[i].Match, n) {
				return &rules[i]
			}
		}
	}
	return nil
}
