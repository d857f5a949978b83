package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ratescope/limiter"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/safetext"
)

// at returns an error that begins with the place of a node.
func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%d:%d: %w", n.Line, n.Column, fmt.Errorf(format, args...))
}

// Mistakes are the errors of a file, in its order. As an error it is the first of them, and says how many more there are.
type Mistakes []error

func (m Mistakes) Error() string {
	text := m[0].Error()
	if more := len(m) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s: \"ratescope config check\" names all)", format.Plural(more, "more mistake"))
	}
	return text
}

// and returns m with the errors that are joined in err, which are about a file.
func (m Mistakes) and(path string, err error) Mistakes {
	if joined, several := err.(interface{ Unwrap() []error }); several {
		for _, one := range joined.Unwrap() {
			m = m.and(path, one)
		}
		return m
	}
	return append(m, fmt.Errorf("%s:%w", path, err))
}

// resolve follows an alias to its anchor. The parser refuses an anchor that holds itself.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// maxQuoted bounds a value in an error, in terminal cells.
const maxQuoted = 60

// quoted returns a node as an error names it.
func quoted(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(safetext.Clip(safetext.Clean(n.Value), maxQuoted, safetext.Ellipsis))
}

// word is the name of a field of a mapping, and what reads its value.
type word struct {
	name string
	read func(*yaml.Node) error
}

// fields calls the reader of every field of a mapping, in the order of the file. Fields that
// are not among the words, or come twice, are errors.
func fields(n *yaml.Node, what string, words ...word) error {
	names := collect.Map(words, func(w word) string { return w.name })
	if n.Kind != yaml.MappingNode {
		return at(n, "%s is not %s: write a mapping with %s", quoted(n), what, strings.Join(names, ", "))
	}
	var wrong error
	seen := map[string]bool{}
	for pair := range slices.Chunk(n.Content, 2) {
		name, value := pair[0], resolve(pair[1])
		switch i := slices.Index(names, name.Value); {
		case i < 0:
			wrong = errors.Join(wrong, at(name, "%s is not a word of %s: %s", quoted(name), what, suggest(name.Value, names)))
		case seen[name.Value]:
			wrong = errors.Join(wrong, at(name, "%s is there twice: keep one of them", name.Value))
		case value.Kind != yaml.ScalarNode || value.Tag != "!!null": // else as if the field was left out
			wrong = errors.Join(wrong, words[i].read(value))
		}
		seen[name.Value] = true
	}
	return wrong
}

func each(n *yaml.Node, what string, read func(*yaml.Node) error) error {
	if n.Kind != yaml.SequenceNode {
		return at(n, "%s is not a list of %s: begin each with a dash", quoted(n), what)
	}
	var wrong error
	for _, one := range n.Content {
		wrong = errors.Join(wrong, read(resolve(one)))
	}
	return wrong
}

// text reads a string into p. Numbers are taken as they are written.
func text(p *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode {
			return at(n, "%s is no text", quoted(n))
		}
		*p = n.Value
		return nil
	}
}

// texts reads a string, or a list of them, into p.
func texts(p *[]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		add := func(one *yaml.Node) error {
			*p = append(*p, "")
			return text(&(*p)[len(*p)-1])(one)
		}
		if n.Kind != yaml.SequenceNode {
			return add(n)
		}
		return each(n, "texts", add)
	}
}

// truth reads true or false into p.
func truth(p *bool) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := n.Decode(p); err != nil {
			return at(n, "%s is neither true nor false: %s", quoted(n), suggest(n.Value, []string{"true", "false"}))
		}
		return nil
	}
}

// whole reads a whole number that is not negative into p.
func whole(p *int64) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := n.Decode(p); err != nil {
			return at(n, "%s is no whole number", quoted(n))
		}
		if *p < 0 {
			return at(n, "%s is negative", quoted(n))
		}
		return nil
	}
}

// length reads a duration of a millisecond or more into p, as limits have it.
func length(p *time.Duration) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		l, err := limiter.ParseLimit("0/" + n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			return at(n, "%s is not a duration of 1 ms or more: write 60s, 1m or 500ms", quoted(n))
		}
		*p = l.Window
		return nil
	}
}

// suggest names what was probably meant, or everything that there is.
func suggest(word string, names []string) string {
	if meant, slipped := Closest(word, names); slipped {
		return "did you mean " + meant + "?"
	}
	return "use " + strings.Join(names, ", ")
}

// Closest returns the name from which a word differs by a slip or two of the finger.
func Closest(word string, names []string) (name string, slipped bool) {
	fewest := 3
	for _, one := range names {
		if n := edits(strings.ToLower(word), strings.ToLower(one)); n < fewest && n < len(one)/2+1 {
			name, fewest = one, n
		}
	}
	return name, name != ""
}

// edits returns how many insertions, deletions, replacements and swaps of neighbours lead
// from one word to another, or a number above maxEdited for long words.
func edits(a, b string) int {
	const maxEdited = 40
	if len(a) > maxEdited || len(b) > maxEdited {
		return maxEdited + 1
	}
	var d [maxEdited + 1][maxEdited + 1]int // of the beginnings of both words
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			if d[i][j] = i + j; i == 0 || j == 0 {
				continue
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+collect.If(a[i-1] == b[j-1], 0, 1))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
