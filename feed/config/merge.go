package config

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ratescope/model/collect"
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
	Weight    string `yaml:"weight,omitempty"`
	Slice     string `yaml:"slice,omitempty"`
	Zone      string `yaml:"zone,omitempty"`
	Block     string `yaml:"block,omitempty"`
	Library   string `yaml:"library,omitempty"`
	Algorithm string `yaml:"algorithm,omitempty"`
	Limit     string `yaml:"limit,omitempty"`
	Burst     int64  `yaml:"burst,omitempty"`
	Window    string `yaml:"window,omitempty"`

	Offer string `yaml:"-"` // of what it is offered as, in a comment that a person makes a rule; "" for a rule
	Above string `yaml:"-"` // a comment in the line above, "" for none
	Below string `yaml:"-"` // a comment in the line below, "" for none

	Example string   `yaml:"-"` // the name of one of its keys
	zones   []string // what AnyZone may stand for
}

// flow returns the entry as an item between brackets.
func (e Entry) flow() string {
	var n yaml.Node
	n.Encode(e) // which has texts and a number alone
	n.Style = yaml.FlowStyle
	text, _ := yaml.Marshal(&n)
	return strings.TrimSpace(string(text))
}

// blocks returns entries as items of a list whose dashes stand after indent spaces.
func blocks(add []Entry, indent int) string {
	var b strings.Builder
	margin := strings.Repeat(" ", indent)
	for _, e := range add {
		mark := margin + strings.Repeat("# ", min(len(e.Offer), 1))
		if above := e.Offer + e.Above; above != "" {
			b.WriteString(margin + "# " + above + "\n")
		}
		text, _ := yaml.Marshal([]Entry{e}) // texts and a number
		for line := range strings.Lines(string(text)) {
			b.WriteString(mark + line)
		}
		if e.Below != "" {
			b.WriteString(margin + "  # " + e.Below + "\n")
		}
	}
	return b.String()
}

// File returns a configuration file that holds the entries alone.
func File(add []Entry) string { return "rules:\n" + blocks(add, 2) }

// Rules returns those of the entries that are no offers.
func Rules(all []Entry) []Entry {
	return slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.Offer != "" })
}

// Lacking returns those of the entries for which no rule of c speaks of keys: for the others a
// rule that comes first holds already.
func (c *Config) Lacking(add []Entry) []Entry {
	return slices.DeleteFunc(slices.Clone(add), func(e Entry) bool {
		return RuleFor(c.Rules, e.Example).Narrow() || slices.ContainsFunc(c.Rules, func(r Rule) bool {
			told := false
			if r.Layout != nil { // it may be for the key in another window
				_, told = r.Layout.Match(e.Example, "", 0)
			}
			return told || e.is(&r)
		})
	})
}

// is reports whether a rule is for the keys of e, as its words say them.
func (e *Entry) is(r *Rule) bool {
	if r.Layout != nil {
		return r.Layout.Name.String() == e.Name
	}
	return e.Name == "" && r.Match == e.Match && (r.Narrow() || r.Library == e.Library)
}

// Merge returns the content of a configuration file with the entries added to its rules. They
// come last, since the first rule that matches a key holds for it, but before a rule for every key,
// which would hide them. Everything else stays as it is, byte for byte: of the places that they may stand at, as the
// parser tells where nodes begin, the first is taken at which the file then reads as the rules before with the entries
// among them. The error is that of Parse, or says that the file has a form that cannot be added to.
func Merge(content []byte, add []Entry) ([]byte, error) {
	before, err := Parse(content)
	if err != nil {
		return nil, err
	}
	var top yaml.Node
	_ = yaml.Unmarshal(content, &top) // it was read before
	all := slices.IndexFunc(before.Rules, func(r Rule) bool { return !r.Narrow() })
	m := merger{slices.Collect(strings.Lines(string(content))), add, all}
	var places []place // none where a line ends with what YAML alone takes for a line end
	if !bytes.ContainsAny(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")), "\r\u0085\u2028\u2029") {
		places = m.places(&top)
	}
	for _, p := range places {
		merged := slices.Concat(content[:p.from], []byte(p.text), content[p.to:])
		if after, err := Parse(merged); err == nil && m.extends(after, before) {
			return merged, nil
		}
	}
	return nil, errors.New("the rules cannot be put into a file of this form without writing it anew: " +
		"add them by hand, as \"ratescope identify --yaml\" prints them")
}

// merger adds entries to the lines of a file.
type merger struct {
	lines []string
	add   []Entry
	all   int // the index of the rule for every key, -1 without one
}

// place is a part of the file, mostly an empty one, and what may stand there instead.
type place struct {
	from, to int
	text     string
}

// extends says whether after is before with the entries among its rules, and nothing else.
func (m *merger) extends(after, before *Config) bool {
	at := collect.If(m.all < 0, len(before.Rules), m.all)
	add := Rules(m.add)
	end := at + len(add)
	is := func(e Entry, r Rule) bool { return e.is(&r) }
	same := func(a, b Rule) bool { return reflect.DeepEqual(a.words(), b.words()) }
	if len(after.Rules) != len(before.Rules)+len(add) || !slices.EqualFunc(add, after.Rules[at:end], is) ||
		!slices.EqualFunc(slices.Concat(after.Rules[:at], after.Rules[end:]), before.Rules, same) {
		return false
	}
	a, b := *after, *before
	a.Rules, b.Rules = nil, nil
	return bytes.Equal(a.Show(), b.Show())
}

// places returns where the entries may stand, the best place first.
func (m *merger) places(top *yaml.Node) []place {
	section := []place{m.before(len(m.lines), File(m.add))}
	if len(top.Content) == 0 { // nothing but comments
		return section
	}
	n := top.Content[0]
	if n.Kind == yaml.SequenceNode {
		return m.list(n)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name, rules := n.Content[i], n.Content[i+1]; name.Value == "rules" && len(rules.Content) == 0 {
			return append(m.empty(name.Line-1), m.list(rules)...)
		} else if name.Value == "rules" {
			return m.list(rules)
		}
	}
	return section
}

// offset returns where a column of a line begins.
func (m *merger) offset(line, column int) int {
	at := collect.Sum(m.lines[:line], func(l string) int { return len(l) })
	if column > 0 {
		at += len(string([]rune(m.lines[line])[:column]))
	}
	return at
}

// before returns the place of text before a line. Its lines end as those of the file do.
func (m *merger) before(line int, text string) place {
	end := collect.If(slices.ContainsFunc(m.lines, func(l string) bool { return strings.HasSuffix(l, "\r\n") }), "\r\n", "\n")
	text = strings.ReplaceAll(text, "\n", end)
	if line > 0 && !strings.HasSuffix(m.lines[line-1], "\n") {
		text = end + text
	}
	at := m.offset(line, 0)
	return place{at, at, text}
}

// nothing is a section that is there and has nothing in it, in a line of its own.
var nothing = collect.Regexp(`^ *rules:([ \t]*(?:~|null|\[[ \t]*\])?)[ \t]*(?:#.*)?\r?\n?$`)

// empty returns the place below the name of a section with nothing in it.
func (m *merger) empty(line int) []place {
	at := nothing().FindStringSubmatchIndex(m.lines[line])
	if at == nil {
		return nil
	}
	p := m.before(line+1, blocks(m.add, margin(m.lines[line])+2))
	p.from += at[2] - len(m.lines[line])
	p.text = m.lines[line][at[3]:] + p.text
	return []place{p}
}

// list returns the places in a list: before the rule for every key, or else at its end.
func (m *merger) list(list *yaml.Node) (out []place) {
	if list.Kind != yaml.SequenceNode { // an alias: its anchor is used elsewhere, too
		return nil
	}
	if list.Style&yaml.FlowStyle != 0 {
		return m.flow(list)
	}
	indent := list.Column - 1
	text := blocks(m.add, indent)
	if m.all >= 0 {
		at := list.Content[m.all].Line - 1
		for at > 0 && !strings.HasPrefix(strings.TrimLeft(m.lines[at], " "), "-") {
			at--
		}
		for m.all > 0 && at > 0 && strings.HasPrefix(strings.TrimSpace(m.lines[at-1]), "#") { // above the first they may be about the list
			at--
		}
		return []place{m.before(at, text)}
	}
	for at := list.Content[len(list.Content)-1].Line; at <= len(m.lines); at++ {
		inside := at < len(m.lines) && strings.TrimSpace(m.lines[at]) != "" && margin(m.lines[at]) > indent
		if !inside { // no comment of the last rule, nor the rest of its text
			out = append(out, m.before(at, text))
		}
	}
	return out
}

func margin(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// flow returns the places in a list between brackets: before the rule for every key, or else before each bracket that
// may close it.
func (m *merger) flow(list *yaml.Node) (out []place) {
	text := strings.Join(collect.Map(Rules(m.add), Entry.flow), ", ")
	if m.all >= 0 {
		at := m.offset(list.Content[m.all].Line-1, list.Content[m.all].Column-1)
		return []place{{at, at, text + ", "}}
	}
	at := m.offset(list.Line-1, list.Column-1)
	parts := strings.Split(strings.Join(m.lines, "")[at:], "]")
	for _, part := range parts[:len(parts)-1] {
		at += len(part)
		out = append(out, place{at, at, text}, place{at, at, ", " + text})
		at++
	}
	return out
}
