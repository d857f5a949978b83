package config

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"ratescope/feed/decode/form"
	"ratescope/feed/decode/library"
	"ratescope/limiter"
)

// readRules reads the list of rules.
func (c *Config) readRules(n *yaml.Node) error {
	err := each(n, "rules", func(one *yaml.Node) error {
		r, err := readRule(one)
		c.Rules = append(c.Rules, r)
		return err
	})
	labelRows(c.Rules)
	return err
}

var ruleWords = []string{"match", "name", "library", "algorithm", "limit", "window", "burst"}

// readRule reads a rule: match, a glob, and any of library, algorithm (a name, or auto), limit
// (100/1m, or a bare count beside window), window (a duration) and burst; or name and the words of its
// layout.
func readRule(n *yaml.Node) (r Rule, err error) {
	var layout form.Layout
	var own *yaml.Node // the first word of a layout
	var limit, window *yaml.Node
	var span time.Duration
	readers := map[string]func(*yaml.Node) error{
		"match":     text(&r.Match),
		"library":   readLibrary(&r.Library),
		"algorithm": readAlgorithm(&r.Algorithm),
		"burst":     whole(&r.Limit.Burst),
		"limit":     func(v *yaml.Node) error { limit = v; return nil },
		"window":    func(v *yaml.Node) error { window = v; return length(&span)(v) },
	}
	for word, read := range layoutReaders(&layout, &r.Script) {
		readers[word] = func(v *yaml.Node) error {
			if own == nil || word == "name" {
				own = v
			}
			return read(v)
		}
	}
	err = fields(n, "a rule", slices.Concat(ruleWords, layoutWords), readers)
	named := !layout.Name.Blank()
	switch {
	case err != nil:
		return r, err
	case r.Match == "" && !named:
		return r, at(n, "match is missing: say which keys the rule is for, as in match: api:*, or their whole layout with name: api:{who}")
	case r.Match != "" && own != nil:
		return r, at(own, "match says which keys a rule is for, and name with its words how they are laid out: keep one of the two")
	case named && (r.Library != "" || r.Algorithm != limiter.Unknown):
		return r, at(own, "name says the whole layout, which tells the algorithm: leave algorithm and library out")
	}
	if named {
		r.Layout, r.said = &layout, n
		defer func() {
			if err == nil {
				err = finishLayout(&r, own)
			}
		}()
	}
	r.Window, r.Limit.Window = span, span
	if limit == nil {
		return r, nil
	}
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
	return r, nil
}

// finishLayout gives the layout of a rule its limit, and checks it.
func finishLayout(r *Rule, n *yaml.Node) error {
	l := r.Layout
	l.Limit, l.LimitKnown = r.Limit, r.LimitKnown
	l.Limit.Window = r.Span()
	if l.Read.Kind == "" {
		return at(n, "read is missing: say what is read of the keys, as in read: value")
	}
	if err := l.Check(); err != nil {
		return at(n, "%w", err)
	}
	return nil
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

func libraries() []string {
	var names []string
	for _, l := range library.All() {
		names = append(names, l.Name)
	}
	return names
}
