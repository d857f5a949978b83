package config

import (
	"time"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/decode/library"
	"ratescope/limiter"
)

// readRules reads the list of rules.
func (c *Config) readRules(n *yaml.Node) error {
	return each(n, "rules", func(one *yaml.Node) error {
		r, err := readRule(one)
		c.Rules = append(c.Rules, r)
		return err
	})
}

var ruleWords = []string{"match", "library", "algorithm", "limit", "window", "burst"}

// readRule reads a rule: match, a glob, and any of library, algorithm (a name, or auto), limit
// (100/1m, or a bare count beside window), window (a duration) and burst.
func readRule(n *yaml.Node) (r Rule, err error) {
	var limit, window *yaml.Node
	var span time.Duration
	err = fields(n, "a rule", ruleWords, map[string]func(*yaml.Node) error{
		"match":     text(&r.Match),
		"library":   readLibrary(&r.Library),
		"algorithm": readAlgorithm(&r.Algorithm),
		"burst":     whole(&r.Limit.Burst),
		"limit":     func(v *yaml.Node) error { limit = v; return nil },
		"window":    func(v *yaml.Node) error { window = v; return length(&span)(v) },
	})
	switch {
	case err != nil:
		return r, err
	case r.Match == "":
		return r, at(n, "match is missing: say which keys the rule is for, as in match: api:*")
	}
	r.Window, r.Limit.Window = span, span
	if limit == nil {
		return r, nil
	}
	spec := limit.Value
	if limit.Tag == "!!int" && window != nil {
		spec += "/" + window.Value
	}
	l, err := limiter.ParseLimit(spec)
	switch {
	case err != nil:
		return r, at(limit, "%w", err)
	case window != nil && l.Window != r.Window:
		return r, at(limit, "limit %q and window %q disagree: keep one of the two durations", limit.Value, window.Value)
	}
	l.Burst = r.Limit.Burst
	r.Limit, r.LimitKnown, r.Window = l, true, l.Window
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
			names := []string{"auto"}
			for _, a := range limiter.Algorithms() {
				names = append(names, a.String())
			}
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
			if meant, slipped := closest(n.Value, libraries()); slipped {
				return at(n, "%s is no library whose keys are known: did you mean %s?", quoted(n), meant)
			}
		}
		return text(p)(n)
	}
}

// libraries returns the names of the libraries that are known.
func libraries() []string {
	var names []string
	for _, l := range library.All() {
		names = append(names, l.Name)
	}
	return names
}
