package config

import (
	"bytes"
	"errors"
	"reflect"
	"regexp"
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
	Block     string `yaml:"block,omitempty"`
	Library   string `yaml:"library,omitempty"`
	Algorithm string `yaml:"algorithm,omitempty"`
	Limit     string `yaml:"limit,omitempty"`
	Burst     int64  `yaml:"burst,omitempty"`
	Window    string `yaml:"window,omitempty"`

	Above string `yaml:"-"` // a comment in the line above, "" for none
	Below string `yaml:"-"` // a comment in the line below, "" for none

	zones []string // what AnyZone may stand for
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
	return e.Name == "" && r.Match == e.Match && (r.Narrow() || r.Library == e.Library)
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
var errLayout = errors.New("the rules cannot be put into a file of this form without writing it anew: " +
	"add them by hand, as \"ratescope identify --yaml\" prints them")

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

// merger adds entries to the text of a file, whose other bytes stay as they are. It tries the places that they may stand
// at, as the parser tells where nodes begin, and takes the first at which the file then reads as the rules before with the entries
// among them. Lines keep their ends.
type merger struct {
	before *Config
	add    []Entry
	lines  []string
}

// try returns the content of lines, where it reads as it should; else nil.
func (m *merger) try(lines ...string) []byte {
	text := []byte(strings.Join(lines, ""))
	after, err := Parse(text)
	if err != nil || !extends(after, m.before, m.add) {
		return nil
	}
	return text
}

// put tries the file with a text, which ends in a line end, before line at.
func (m *merger) put(at int, text string) []byte {
	lines := slices.Clone(m.lines)
	if slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, "\r\n") }) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if at > 0 && !strings.HasSuffix(lines[at-1], "\n") {
		lines[at-1] += text[len(strings.TrimRight(text, "\r\n")):]
	}
	return m.try(slices.Insert(lines, at, text)...)
}

// insert returns the file with the entries, nil where it has no place for them.
func (m *merger) insert(top *yaml.Node) []byte {
	if len(top.Content) == 0 { // nothing but comments
		return m.section()
	}
	n := top.Content[0]
	if n.Kind == yaml.SequenceNode {
		return m.list(n)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name := n.Content[i]; name.Value == "rules" {
			if merged := m.empty(name); merged != nil {
				return merged
			}
			return m.list(n.Content[i+1])
		}
	}
	return m.section()
}

// section adds the section of the rules at the end.
func (m *merger) section() []byte {
	text, err := File(m.add)
	if err != nil {
		return nil
	}
	return m.put(len(m.lines), text)
}

// nothing is a section that is there and has nothing in it, in a line of its own.
var nothing = regexp.MustCompile(`^( *rules:)[ \t]*(?:~|null|\[[ \t]*\])?([ \t]*(?:#.*)?\r?\n?)$`)

// empty writes the entries below the name of a section with nothing in it.
func (m *merger) empty(name *yaml.Node) []byte {
	at := name.Line - 1
	was := m.lines[at]
	if !nothing.MatchString(was) || len(m.before.Rules) > 0 {
		return nil
	}
	text, err := blocks(m.add, margin(was)+2)
	if err != nil {
		return nil
	}
	m.lines[at] = nothing.ReplaceAllString(was, "$1$2")
	merged := m.put(at+1, text)
	m.lines[at] = was
	return merged
}

// list adds the entries to a list: at its end, or before the rule for every key.
func (m *merger) list(list *yaml.Node) []byte {
	all := slices.IndexFunc(m.before.Rules, func(r Rule) bool { return !r.Narrow() })
	if list.Kind != yaml.SequenceNode { // an alias: its anchor is used elsewhere, too
		return nil
	}
	if list.Style&yaml.FlowStyle != 0 {
		return m.flow(list, all)
	}
	indent := list.Column - 1
	text, err := blocks(m.add, indent)
	if err != nil {
		return nil
	}
	if all >= 0 {
		at := list.Content[all].Line - 1
		for at > 0 && !strings.HasPrefix(strings.TrimLeft(m.lines[at], " "), "-") {
			at--
		}
		for all > 0 && at > 0 && strings.HasPrefix(strings.TrimSpace(m.lines[at-1]), "#") { // above the first one they may be about the list
			at--
		}
		return m.put(at, text)
	}
	for at := lastLine(list); at <= len(m.lines); at++ {
		inside := at < len(m.lines) && strings.TrimSpace(m.lines[at]) != "" && margin(m.lines[at]) > indent
		if inside { // a comment of the last rule, or the rest of its text
			continue
		}
		if merged := m.put(at, text); merged != nil {
			return merged
		}
	}
	return nil
}

// lastLine returns the line, from 1, in which the last node of a tree begins.
func lastLine(n *yaml.Node) int {
	line := n.Line
	for _, of := range n.Content {
		line = max(line, lastLine(of))
	}
	return line
}

func margin(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// flow adds the entries to a list between brackets: before each bracket that may close it, or before the rule for every
// key, whose index is all.
func (m *merger) flow(list *yaml.Node, all int) []byte {
	texts := make([]string, len(m.add))
	for i, e := range m.add {
		var err error
		if texts[i], err = e.flow(); err != nil {
			return nil
		}
	}
	text := strings.Join(texts, ", ")
	row, column := list.Line-1, list.Column-1
	if all >= 0 {
		row, column = list.Content[all].Line-1, list.Content[all].Column-1
		before := string([]rune(m.lines[row])[:column])
		return m.cut(row, len(before), text+", ")
	}
	column = len(string([]rune(m.lines[row])[:column]))
	for ; row < len(m.lines); row, column = row+1, 0 {
		for ; column < len(m.lines[row]); column++ {
			if m.lines[row][column] != ']' {
				continue
			}
			for _, separator := range [...]string{"", ", "} {
				if merged := m.cut(row, column, separator+text); merged != nil {
					return merged
				}
			}
		}
	}
	return nil
}

// cut tries the file with a text before a byte of a line.
func (m *merger) cut(row, column int, text string) []byte {
	line := m.lines[row]
	return m.try(slices.Concat(m.lines[:row], []string{line[:column], text, line[column:]}, m.lines[row+1:])...)
}
