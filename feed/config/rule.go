package config

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
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

	// Layout says the whole layout of limiters of the user's own, in the place of Match, and Script how
	// their program calls its script; nil for none.
	Layout *form.Layout
	Script *Script
	said   *yaml.Node // the words of the rule, as the file has them, where Layout is not nil
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
func (r *Rule) Narrow() bool {
	return r != nil && (r.Layout != nil || strings.Trim(r.Match, "*") != "")
}

// Pattern returns the glob of the rule's keys.
func (r *Rule) Pattern() string {
	if r.Layout != nil {
		return r.Layout.Name.Glob()
	}
	return r.Match
}

// Names returns the library that a rule names, "" where it names none. r may be nil.
func (r *Rule) Names() string {
	if r == nil {
		return ""
	}
	return r.Library
}

// RuleOf returns the rule for a find: the one that tells its layout, else the first whose glob matches its
// name or its key, or nil.
func RuleOf(rules []Rule, f *decode.Found) *Rule {
	if f.Match != nil && f.Match.Rule > 0 && f.Match.Rule <= len(rules) {
		return &rules[f.Match.Rule-1]
	}
	return RuleFor(rules, f.Name, f.Key)
}

// RuleFor returns the first rule whose glob matches one of the names, or nil.
func RuleFor(rules []Rule, names ...string) *Rule {
	for i := range rules {
		for _, n := range names {
			if n != "" && rules[i].Layout == nil && MatchGlob(rules[i].Match, n) {
				return &rules[i]
			}
		}
	}
	return nil
}
