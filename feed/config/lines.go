package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lines is the text of a YAML file, line by line, for adding to it without writing it anew. Lines
// keep their ends, so that what is not touched stays as it is.
type lines struct {
	all []string
	end string // of a line
}

func newText(content []byte) *lines {
	f := &lines{all: slices.Collect(strings.Lines(string(content))), end: "\n"}
	if strings.Contains(string(content), "\r\n") {
		f.end = "\r\n"
	}
	return f
}

// put returns the file with a text, which ends in a line end, before line at.
func (f *lines) put(at int, text string) []byte {
	if f.end != "\n" {
		text = strings.ReplaceAll(text, "\n", f.end)
	}
	head := strings.Join(f.all[:at], "")
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += f.end
	}
	return []byte(head + text + strings.Join(f.all[at:], ""))
}

// appendSection adds the section of the rules at the end.
func (f *lines) appendSection(add []Entry) ([]byte, error) {
	text, err := File(add)
	return f.put(len(f.all), text), err
}

// addTo adds the entries to a list.
func (f *lines) addTo(list *yaml.Node, add []Entry) ([]byte, error) {
	switch {
	case list.Kind != yaml.SequenceNode: // an alias: its anchor is used elsewhere, too
		return nil, errLayout
	case list.Style&yaml.FlowStyle != 0:
		return f.addToFlow(list, add)
	}
	indent := list.Column - 1
	text, err := blocks(add, indent)
	if err != nil {
		return nil, err
	}
	if i := forAll(list); i >= 0 {
		return f.put(f.itemStart(list.Content[i], indent, i == 0), text), nil
	}
	return f.put(f.listEnd(list.Line-1, indent), text), nil
}

// forAll returns the index of the first rule that is for every key, -1 where there is none.
func forAll(list *yaml.Node) int {
	return slices.IndexFunc(list.Content, func(n *yaml.Node) bool {
		r, err := readRule(resolve(n))
		return err == nil && !r.Narrow()
	})
}

// itemStart returns the line at which an item of a list begins, together with the comments above
// it, unless it is the first one: what stands above that may be about the list.
func (f *lines) itemStart(item *yaml.Node, indent int, first bool) int {
	at := item.Line - 1
	for at > 0 && !isItem(f.all[at], indent) {
		at--
	}
	for !first && at > 0 && strings.HasPrefix(strings.TrimSpace(f.all[at-1]), "#") {
		at--
	}
	return at
}

// listEnd returns the line after the last one of a list that begins at a line and whose dashes
// stand after indent spaces.
func (f *lines) listEnd(from, indent int) int {
	end := from + 1
	for i := from; i < len(f.all); i++ {
		text := strings.TrimRight(f.all[i], " \t\r\n")
		switch {
		case text == "":
		case strings.HasPrefix(strings.TrimLeft(text, " "), "#") && margin(text) <= indent:
		case margin(text) > indent || isItem(text, indent):
			end = i + 1
		default:
			return end
		}
	}
	return end
}

func margin(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// isItem says whether an item begins on a line, its dash after indent spaces.
func isItem(line string, indent int) bool {
	text := strings.TrimRight(line, " \t\r\n")
	return margin(text) == indent && (strings.HasPrefix(text[indent:], "- ") || text[indent:] == "-")
}

// replaceEmpty writes the entries below the name of a section that is there and has nothing in it.
func (f *lines) replaceEmpty(name, null *yaml.Node, add []Entry) ([]byte, error) {
	at := name.Line - 1
	if null.Line == name.Line && null.Value != "" {
		line := []rune(f.all[at])
		before, after := line[:null.Column-1], line[null.Column-1+len([]rune(null.Value)):]
		f.all[at] = strings.TrimRight(string(before), " ") + string(after)
	}
	text, err := blocks(add, margin(f.all[at])+2)
	return f.put(at+1, text), err
}

// addToFlow adds the entries to a list between brackets; of an empty one it makes one with dashes,
// where it stands beside the name of its section.
func (f *lines) addToFlow(list *yaml.Node, add []Entry) ([]byte, error) {
	row, column := list.Line-1, list.Column-1
	endRow, endColumn, comma, ok := f.closing(row, column)
	if !ok {
		return nil, errLayout
	}
	if before := []rune(f.all[row])[:column]; len(list.Content) == 0 && endRow == row && strings.TrimSpace(string(before)) == "rules:" {
		rest := string([]rune(f.all[row])[endColumn+1:])
		f.all[row] = strings.TrimRight(string(before), " ") + rest
		text, err := blocks(add, margin(f.all[row])+2)
		return f.put(row+1, text), err
	}
	texts := make([]string, len(add))
	for i, e := range add {
		var err error
		if texts[i], err = e.flow(); err != nil {
			return nil, err
		}
	}
	text := strings.Join(texts, ", ")
	switch i := forAll(list); {
	case i >= 0:
		row, column, text = list.Content[i].Line-1, list.Content[i].Column-1, text+", "
	case len(list.Content) > 0:
		row, column = endRow, endColumn
		if !comma {
			text = ", " + text
		}
	default:
		row, column = endRow, endColumn
	}
	line := []rune(f.all[row])
	f.all[row] = string(line[:column]) + text + string(line[column:])
	return []byte(strings.Join(f.all, "")), nil
}

// closing returns the place of the bracket that closes the one at a place, and whether a comma
// stands before it.
func (f *lines) closing(row, column int) (endRow, endColumn int, comma, ok bool) {
	depth := 0
	quote, before := rune(0), rune(' ')
	for y := row; y < len(f.all); y++ {
		line := []rune(f.all[y])
		x := 0
		if y == row {
			x = column
		}
		for ; x < len(line); x++ {
			r := line[x]
			switch {
			case quote == '"' && r == '\\', quote == '\'' && strings.HasPrefix(string(line[x:]), "''"):
				x++
			case quote != 0:
				if r == quote {
					quote = 0
				}
			case r == '#' && (before == ' ' || before == '\t' || before == '\n'):
				x = len(line)
			case (r == '"' || r == '\'') && strings.ContainsRune(" \t\n[{,:", before):
				quote = r
			case r == '[' || r == '{':
				depth++
			case r == ']' || r == '}':
				if depth--; depth == 0 {
					return y, x, comma, true
				}
			}
			before = r
			if !strings.ContainsRune(" \t\r\n", r) && x < len(line) {
				comma = r == ','
			}
		}
		before = '\n'
	}
	return 0, 0, false, false
}
