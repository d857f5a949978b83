package form

import (
	"fmt"
	"regexp"
	"strings"

	"ratescope/model/naming"
)

// Template is the name of a limiter's keys with the places of what differs: {who} the subject, {window:FORM}
// the window, * anything. All other braces are themselves. The zero value is no name.
type Template struct {
	text   string
	tokens []token
	shape  *regexp.Regexp
	window *WindowForm // nil: the name holds none
}

// token is a part of a template.
type token struct {
	kind tokenKind
	text string // of a literal
}

type tokenKind uint8

const (
	literal tokenKind = iota
	subject
	anything
	window
)

// places finds what differs from key to key in the text of a template.
var places = regexp.MustCompile(`\{who\}|\{window(?::[^{}]*)?\}|\*`)

// ParseTemplate reads the name of keys.
func ParseTemplate(text string) (Template, error) {
	t := Template{text: text}
	shape := strings.Builder{}
	shape.WriteString(`(?s)^`)
	from := 0
	add := func(kind tokenKind, text, pattern string) {
		t.tokens = append(t.tokens, token{kind, text})
		shape.WriteString(pattern)
	}
	for _, at := range append(places.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if plain := text[from:at[0]]; plain != "" {
			add(literal, plain, regexp.QuoteMeta(plain))
		}
		switch word := text[at[0]:at[1]]; {
		case word == "":
		case word == "{who}":
			add(subject, "", `(.+)`)
		case word == "*":
			add(anything, "", `(.*)`)
		case t.window != nil:
			return t, fmt.Errorf("%q has two windows: say the one that ends first", text)
		default:
			form, err := ParseWindow(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(word, "{window"), ":"), "}"))
			if err != nil {
				return t, err
			}
			t.window = form
			add(window, "", `(`+form.pattern()+`)`)
		}
		from = at[1]
	}
	shape.WriteString(`$`)
	var err error
	if t.shape, err = regexp.Compile(shape.String()); err != nil {
		return t, fmt.Errorf("%q is no name of a key: use valid UTF-8", text)
	}
	return t, nil
}

// String returns the text that ParseTemplate read.
func (t *Template) String() string { return t.text }

// Glob returns the pattern of the keys of t, as rules of match and SCAN write it.
func (t *Template) Glob() string {
	var b strings.Builder
	for _, part := range t.tokens {
		if part.kind == literal {
			b.WriteString(naming.Escape(part.text))
		} else {
			b.WriteByte('*')
		}
	}
	return b.String()
}

// Blank reports whether t is the zero value.
func (t *Template) Blank() bool { return t.tokens == nil }

// parts are the texts that stand in the places of a template, but for the window.
type parts struct {
	who   string
	stars []string
}

// match reads a key; ok is false where it is none of the template.
func (t *Template) match(key string) (p parts, window string, ok bool) {
	if t.Blank() || t.tokens[0].kind == literal && !strings.HasPrefix(key, t.tokens[0].text) {
		return p, "", false
	}
	found := t.shape.FindStringSubmatch(key)
	if found == nil {
		return p, "", false
	}
	n := 0
	for _, token := range t.tokens {
		if token.kind == literal {
			continue
		}
		n++
		switch token.kind {
		case subject:
			if p.who != "" && p.who != found[n] {
				return p, "", false
			}
			p.who = found[n]
		case anything:
			p.stars = append(p.stars, found[n])
		default:
			window = found[n]
		}
	}
	return p, window, true
}

// render returns the key with those parts and that window.
func (t *Template) render(p parts, text string) string {
	var b strings.Builder
	star := 0
	for _, token := range t.tokens {
		switch token.kind {
		case literal:
			b.WriteString(token.text)
		case subject:
			b.WriteString(p.who)
		case anything:
			if star < len(p.stars) {
				b.WriteString(p.stars[star])
			}
			star++
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}

// Base returns the template of what the keys of one row have in common: t without its window and the
// separator before it, or after one that begins the name.
func (t *Template) Base() Template {
	base := Template{window: nil}
	skip := false
	for i, part := range t.tokens {
		if part.kind == window {
			if i > 0 && base.tokens[len(base.tokens)-1].kind == literal {
				last := &base.tokens[len(base.tokens)-1]
				last.text = strings.TrimRight(last.text, ":./|_-@")
			} else {
				skip = i == 0
			}
			continue
		}
		if skip && part.kind == literal {
			part.text = strings.TrimLeft(part.text, ":./|_-@")
		}
		skip = false
		base.tokens = append(base.tokens, part)
	}
	var text strings.Builder
	for _, part := range base.tokens {
		text.WriteString(map[tokenKind]string{literal: part.text, subject: "{who}", anything: "*"}[part.kind])
	}
	base, err := ParseTemplate(text.String())
	if err != nil || base.Blank() {
		return *t
	}
	return base
}
