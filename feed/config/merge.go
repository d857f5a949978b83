package config

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Entry is a rule to be written into a configuration file, in the words of the file. Empty
// fields are left out.
type Entry struct {
	Match     string `yaml:"match,omitempty"` // or the words of a layout: Name to Zone
	Name      string `yaml:"name,omitempty"`
	Read      string `yaml:"read,omitempty"`
	Amount    string `yaml:"amount,omitempty"`
	At        string `yaml:"at,omitempty"`
	Ends      string `yaml:"ends,omitempty"`
	Unit      string `yaml:"unit,omitempty"`
	Refill    string `yaml:"refill,omitempty"`
	Stamp     string `yaml:"stamp,omitempty"`
	Weigh     string `yaml:"weigh,omitempty"`
	Slice     string `yaml:"slice,omitempty"`
	Zone      string `yaml:"zone,omitempty"`
	Library   string `yaml:"library,omitempty"`
	Algorithm string `yaml:"algorithm,omitempty"`
	Limit     string `yaml:"limit,omitempty"`
	Burst     int64  `yaml:"burst,omitempty"`
	Window    string `yaml:"window,omitempty"`

	Above string `yaml:"-"` // a comment in the line above, "" for none
	Below string `yaml:"-"` // a comment in the line below, "" for none
}

// block returns the entry as an item of a list whose dashes stand after indent spaces.
func (e Entry) block(indent int) (string, error) {
	text, err := yaml.Marshal([]Entry{e})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	margin := strings.Repeat(" ", indent)
	if e.Above != "" {
		b.WriteString(margin + "# " + e.Above + "\n")
	}
	for line := range strings.Lines(string(text)) {
		b.WriteString(margin + line)
	}
	if e.Below != "" {
		b.WriteString(margin + "  # " + e.Below + "\n")
	}
	return b.String(), nil
}

// flow returns the entry as an item between brackets.
func (e Entry) flow() (string, error) {
	var n yaml.Node
	if err := n.Encode(e); err != nil {
		return "", err
	}
	n.Style = yaml.FlowStyle
	text, err := yaml.Marshal(&n)
	return strings.TrimSpace(string(text)), err
}

// blocks returns entries as items of a list whose dashes stand after indent spaces.
func blocks(add []Entry, indent int) (string, error) {
	var b strings.Builder
	for _, e := range add {
		text, err := e.block(indent)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// File returns a configuration file that holds the entries alone.
func File(add []Entry) (string, error) {
	text, err := blocks(add, 2)
	return "rules:\n" + text, err
}

// Lacking returns those of the entries for which no rule of c speaks of keys: for the others a
// rule that comes first holds already. example is the name of one key of an entry.
func (c *Config) Lacking(add []Entry, example func(i int) string) []Entry {
	var out []Entry
	for i, e := range add {
		same := slices.ContainsFunc(c.Rules, func(r Rule) bool { return e.is(&r) })
		if !same && !RuleFor(c.Rules, example(i)).Narrow() && !c.tells(example(i)) {
			out = append(out, e)
		}
	}
	return out
}

// is reports whether a rule is for the keys of e, as its words say them.
func (e *Entry) is(r *Rule) bool {
	if r.Layout != nil {
		return r.Layout.Name.String() == e.Name
	}
	return e.Name == "" && r.Match == e.Match
}

// tells reports whether a rule with name of c is for a key, in whatever window.
func (c *Config) tells(key string) bool {
	return slices.ContainsFunc(c.Rules, func(r Rule) bool {
		if r.Layout == nil {
			return false
		}
		_, ok := r.Layout.Match(key, "", 0)
		return ok
	})
}

// errLayout is the error of a file into which nothing can be put without writing it anew.
var errLayout = errors.New("the rules cannot be put into a file of this form without writing it anew: add them by hand, as \"ratescope identify --yaml\" prints them")

// Merge returns the content of a configuration file with the entries added to its rules. They
// come last, since the first rule that matches a key holds for it, but before a rule for every key,
// which would hide them. Everything else stays as it is, byte for byte. The error is that of
// Parse, or says that the file has a form that cannot be added to.
func Merge(content []byte, add []Entry) ([]byte, error) {
	before, err := Parse(content)
	if err != nil {
		return nil, err
	}
	var top yaml.Node
	if err := yaml.Unmarshal(content, &top); err != nil {
		return nil, syntax(err)
	}
	m := merger{before: before, add: add, lines: slices.Collect(strings.Lines(string(content)))}
	if merged := m.insert(&top); merged != nil {
		return merged, nil
	}
	return nil, errLayout
}

// extends says whether after is before with the entries among its rules, and nothing else.
func extends(after, before *Config, add []Entry) bool {
	at := slices.IndexFunc(before.Rules, func(r Rule) bool { return !r.Narrow() })
	if at < 0 {
		at = len(before.Rules)
	}
	if len(after.Rules) != len(before.Rules)+len(add) || !slices.EqualFunc(after.Rules[:at], before.Rules[:at], sameRule) ||
		!slices.EqualFunc(after.Rules[at+len(add):], before.Rules[at:], sameRule) {
		return false
	}
	for i, e := range add {
		if !e.is(&after.Rules[at+i]) {
			return false
		}
	}
	a, b := *after, *before
	a.Rules, b.Rules = nil, nil
	shownAfter, err := a.Show()
	shownBefore, failed := b.Show()
	return err == nil && failed == nil && bytes.Equal(shownAfter, shownBefore)
}

// sameRule reports whether two rules have the same words.
func sameRule(a, b Rule) bool { return reflect.DeepEqual(a.words(), b.words()) }
