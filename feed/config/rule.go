package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/feed/decode/library"
	"ratescope/limiter"
	"ratescope/model/collect"
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
	Weight     string // the field of a stream's entries that holds their count; "" is count

	// Layout says the whole layout of limiters of the user's own, in the place of Match, and Script how
	// their program calls its script; nil for none.
	Layout *form.Layout
	Script *Script
	said   *yaml.Node // the words of the rule, as the file has them, where Layout is not nil
}

// Span returns the window that the rule speaks of, 0 when it does not. r may be nil.
func (r *Rule) Span() time.Duration {
	if r == nil {
		return 0
	}
	return cmp.Or(r.Window, r.Limit.Window)
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
// name or its key, or nil. A rule for all keys of a library is for no other's.
func RuleOf(rules []Rule, f *decode.Found) *Rule {
	if f.Match != nil && f.Match.Rule > 0 && f.Match.Rule <= len(rules) {
		return &rules[f.Match.Rule-1]
	}
	r := RuleFor(rules, f.Name, f.Key)
	if others := func(r Rule) bool { return !r.Narrow() && r.Library != "" && r.Library != f.Library }; r != nil && others(*r) {
		r = RuleFor(slices.DeleteFunc(slices.Clone(rules), others), f.Name, f.Key)
	}
	return r
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

func (c *Config) readRules(n *yaml.Node) error {
	err := each(n, "rules", func(one *yaml.Node) error {
		r, err := readRule(one)
		c.Rules = append(c.Rules, r)
		return err
	})
	labelRows(c.Rules)
	return err
}

// readRule reads a rule: match and what holds for its keys, or name and the words of their layout.
func readRule(n *yaml.Node) (r Rule, err error) {
	var layout form.Layout
	var own *yaml.Node // the first word of a layout
	var limit, window *yaml.Node
	var span time.Duration
	ofLayout := func(w word) word {
		return word{w.name, func(v *yaml.Node) error {
			if own == nil || w.name == "name" {
				own = v
			}
			return w.read(v)
		}}
	}
	words := []word{
		{"match", text(&r.Match)},
		ofLayout(word{"name", readTemplate(&layout.Name)}),
		{"library", readLibrary(&r.Library)},
		{"algorithm", readAlgorithm(&r.Algorithm)},
		{"limit", func(v *yaml.Node) error { limit = v; return nil }},
		{"window", func(v *yaml.Node) error { window = v; return length(&span)(v) }},
		{"burst", whole(&r.Limit.Burst)},
		{"weight", text(&r.Weight)},
	}
	err = fields(n, "a rule", append(words, collect.Map(layoutWords(&layout, &r.Script), ofLayout)...)...)
	named := !layout.Name.Blank()
	switch {
	case err != nil:
		return r, err
	case r.Match == "" && !named:
		return r, at(n, "match is missing: say which keys the rule is for, as in match: api:*, or their whole layout with name: api:{who}")
	case r.Match != "" && own != nil:
		return r, at(own, "match says which keys a rule is for, and name with its words how they are laid out: keep one of the two")
	case r.Weight != "" && r.Algorithm != limiter.StreamCounter && !named:
		return r, at(n, "weight is of a stream's entries, or of a layout: add algorithm: stream, or tell the layout with name")
	case named && (r.Library != "" || r.Algorithm != limiter.Unknown):
		return r, at(own, "name says the whole layout, which tells the algorithm: leave algorithm and library out")
	}
	r.Window, r.Limit.Window = span, span
	if limit != nil {
		spec := limit.Value
		if limit.Tag == "!!int" && window != nil {
			spec += "/" + window.Value
		}
		l, err := parseLimit(spec)
		switch {
		case err != nil:
			return r, at(limit, "%w", err)
		case window != nil && l.Window != r.Window:
			return r, at(limit, "limit %q and window %q disagree: keep one of the two durations", limit.Value, window.Value)
		}
		l.Burst = r.Limit.Burst
		r.Limit, r.LimitKnown, r.Window = l, true, l.Window
	}
	if !named {
		return r, nil
	}
	layout.Weight, layout.Limit, layout.LimitKnown = r.Weight, r.Limit, r.LimitKnown
	layout.Limit.Window = r.Span()
	if layout.Read.Kind == "" {
		return r, at(own, "read is missing: say what is read of the keys, as in read: value")
	}
	if err := layout.Check(); err != nil {
		return r, at(own, "%w", err)
	}
	r.Layout, r.said, r.Script = &layout, n, cmp.Or(r.Script, plainScript(&layout))
	return r, nil
}

// readAlgorithm reads the name of an algorithm, or auto, into p.
func readAlgorithm(p *limiter.Algorithm) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Value == "auto" {
			return nil
		}
		a, err := limiter.ParseAlgorithm(n.Value)
		if err != nil {
			names := append([]string{"auto"}, collect.Map(limiter.Algorithms(), limiter.Algorithm.String)...)
			return at(n, "%s is no algorithm: %s", quoted(n), suggest(n.Value, names))
		}
		*p = a
		return nil
	}
}

// readLibrary reads the name of a library into p. One that is not known is taken, since the
// rest of its rule holds all the same, unless it looks like a slip in the name of a known one.
func readLibrary(p *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if library.Named(n.Value) == nil {
			names := collect.Map(library.All(), func(l *decode.Library) string { return l.Name })
			if meant, slipped := Closest(n.Value, names); slipped {
				return at(n, "%s is no library whose keys are known: did you mean %s?", quoted(n), meant)
			}
		}
		return text(p)(n)
	}
}

// Override holds the flags of the command line that speak of all keys, as they were typed:
// a limit as limiter.ParseLimit reads it, the name of an algorithm or auto, and a burst.
// An empty field overrides nothing.
type Override struct {
	Limit, Algorithm string
	Burst            int64
}

// Apply returns rules with what the flags say put over each of them, and by itself at the end for every key that no rule
// names. What they leave open stays as the rule has it.
func (s Override) Apply(rules []Rule) (list []Rule, err error) {
	var limit limiter.Limit
	algorithm := limiter.Unknown
	if s.Limit != "" {
		if limit, err = limiter.ParseLimit(s.Limit); err != nil {
			return nil, err
		}
	}
	if s.Algorithm != "" && s.Algorithm != "auto" {
		if algorithm, err = limiter.ParseAlgorithm(s.Algorithm); err != nil {
			return nil, fmt.Errorf("%w, or auto", err)
		}
	}
	if s.Burst < 0 {
		return nil, fmt.Errorf("a burst of %d is negative: give how much may come at once", s.Burst)
	}
	list = append(slices.Clone(rules), Rule{Match: "*"})
	for i := range list {
		r := &list[i]
		if s.Limit != "" {
			r.Limit.Count, r.Limit.Window = limit.Count, limit.Window
			r.LimitKnown, r.Window = true, limit.Window
		}
		if s.Burst > 0 {
			r.Limit.Burst = s.Burst
		}
		if r.Layout != nil {
			own := *r.Layout
			own.Limit, own.LimitKnown = r.Limit, r.LimitKnown
			own.Limit.Window = r.Span()
			if err := own.Check(); err != nil {
				return nil, fmt.Errorf("the rule %s cannot have the limit %s: %w", r.Pattern(), s.Limit, err)
			}
			r.Layout = &own
		} else if algorithm != limiter.Unknown {
			r.Algorithm = algorithm
		}
	}
	return list, nil
}
