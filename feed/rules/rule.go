// Package rules says how keys are limited: a list of globs with an algorithm, a limit and
// a window each, read from a file and overruled from the command line. The first rule
// that matches a key holds for it.
package rules

import (
	"errors"
	"fmt"
	"os"
	"time"

	"go.yaml.in/yaml/v3"

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
}

// Span returns the window that the rule speaks of, 0 when it does not.
func (r *Rule) Span() time.Duration {
	if r.Window > 0 {
		return r.Window
	}
	return r.Limit.Window
}

// written is a rule as the file spells it. Pointers tell what is missing.
type written struct {
	Match     string `yaml:"match"`
	Algorithm string `yaml:"algorithm"`
	Limit     string `yaml:"limit"`
	Window    string `yaml:"window"`
	Burst     *int64 `yaml:"burst"`
}

// Load reads a YAML file with a list of rules. Each has match, a glob, and any of
// algorithm (a name, or auto), limit (100/1m, or a bare count beside window), window
// (a duration) and burst. The first rule that matches a key holds for it. An error is
// one sentence with the file, the rule's number from 1 and the value.
func Load(path string) ([]Rule, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("the rules in %q cannot be read: %w", path, err)
	}
	var nodes []yaml.Node
	if err := yaml.Unmarshal(text, &nodes); err != nil {
		return nil, fmt.Errorf("the rules in %q are not a YAML list of match / algorithm / limit / window: %w", path, err)
	}
	rules := make([]Rule, 0, len(nodes))
	for i := range nodes {
		r, err := readRule(&nodes[i])
		if err != nil {
			return nil, fmt.Errorf("%s, rule %d (line %d): %w", path, i+1, nodes[i].Line, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func readRule(n *yaml.Node) (Rule, error) {
	var r Rule
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		switch name := n.Content[i].Value; name {
		case "match", "algorithm", "limit", "window", "burst":
		default:
			return r, fmt.Errorf("%q is not a word of a rule: use match, algorithm, limit, window or burst", name)
		}
	}
	var w written
	if err := n.Decode(&w); err != nil {
		return r, fmt.Errorf("it must be a mapping with match, algorithm, limit, window and burst (a whole number)")
	}
	if w.Match == "" {
		return r, errors.New("match is missing: say which keys it is for, as in match: api:*")
	}
	r.Match = w.Match
	if w.Algorithm != "" && w.Algorithm != "auto" {
		a, err := limiter.ParseAlgorithm(w.Algorithm)
		if err != nil {
			return r, fmt.Errorf("%w, or auto", err)
		}
		r.Algorithm = a
	}
	if err := r.readWindow(w); err != nil {
		return r, err
	}
	if w.Burst != nil {
		if *w.Burst < 0 {
			return r, fmt.Errorf("burst %d is negative", *w.Burst)
		}
		r.Limit.Burst = *w.Burst
	}
	return r, nil
}

// readWindow reads limit and window, each of which may be missing.
func (r *Rule) readWindow(w written) error {
	if w.Window != "" {
		l, err := limiter.ParseLimit("0/" + w.Window)
		if err != nil {
			return fmt.Errorf("window %q is not a duration of 1 ms or more: write 60s, 1m or 500ms", w.Window)
		}
		r.Window = l.Window
		r.Limit.Window = l.Window
	}
	if w.Limit == "" {
		return nil
	}
	spec := w.Limit
	if whole(spec) && w.Window != "" {
		spec += "/" + w.Window
	}
	l, err := limiter.ParseLimit(spec)
	if err != nil {
		return err
	}
	if w.Window != "" && l.Window != r.Window {
		return fmt.Errorf("limit %q and window %q disagree: keep one of the two durations", w.Limit, w.Window)
	}
	r.Limit, r.LimitKnown, r.Window = l, true, l.Window
	return nil
}

func whole(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// Silent says that a rule tells nothing about how its keys are limited.
func (r *Rule) Silent() bool {
	return r == nil || r.Algorithm == limiter.Unknown && !r.LimitKnown && r.Span() == 0
}

// For returns the first rule that matches one of the names, or nil.
func For(rules []Rule, names ...string) *Rule {
	for i := range rules {
		for _, n := range names {
			if n != "" && Match(rules[i].Match, n) {
				return &rules[i]
			}
		}
	}
	return nil
}
