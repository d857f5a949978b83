package safetext

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ratescope/model/collect"
)

// Families shortens names by what they have in common. Names that begin with the same word are a
// family; the words that all of it begin and end with do not tell one key from another, so they
// are the first to go: LIMITS:LIMITER/10.0.0.7/login/10/1/minute becomes …10.0.0.7/login/10… where
// Shorten would keep the prefix and cut the address. The zero value knows no name and is ready.
// Not safe for concurrent use.
type Families struct {
	of      map[string]*family
	changes int
}

// mostFamilies bounds the memory of Families where names that begin with ever other words come and go.
const mostFamilies = 4096

// family is what the names that begin with one word have in common, counted in the bytes of one.
type family struct {
	example    string
	start, end int
	several    bool // it has more than the example
}

// Learn counts a clean name among those that may be shortened. What it has once learned stays:
// a family never has more in common than before. Names beyond mostFamilies families are not learned.
func (f *Families) Learn(name string) {
	first := name[:firstWord(name)]
	one := f.of[first]
	switch {
	case one == nil && len(f.of) >= mostFamilies:
		return
	case one == nil:
		collect.Put(&f.of, first, &family{example: name, start: len(name), end: len(name)})
		return
	case one.example == name:
		return
	}
	start, end := min(one.start, SharedWords(one.example, name)), min(one.end, SharedWords(reversed(one.example), reversed(name)))
	if !one.several || start != one.start || end != one.end {
		f.changes++
	}
	one.start, one.end, one.several = start, end, true
}

// Common returns, in order, what the names of each family begin and end with, where a few families have
// all names and one of more than cells cells is among them.
func (f *Families) Common(cells int, mark string) (patterns []string) {
	const few = 8
	if len(f.of) > few {
		return nil
	}
	long := false
	for _, one := range f.of {
		if one.has(one.example) {
			long = long || Width(one.example) > cells
			patterns = append(patterns, one.example[:one.start]+mark+one.example[len(one.example)-one.end:])
		}
	}
	if !long {
		return nil
	}
	slices.Sort(patterns)
	return patterns
}

// Own returns a name without what its family begins and ends with, but for the first word where that
// tells it from another family.
func (f *Families) Own(name, mark string) string {
	first := name[:firstWord(name)]
	one := f.of[first]
	if one == nil || !one.has(name) {
		return name
	}
	own := name[one.start : len(name)-one.end]
	if len(f.of) > 1 && one.start+one.end > len(first)+Width(mark) {
		return first + mark + own
	}
	return collect.If(len(f.of) > 1, name, own)
}

// Changes grows whenever Shorten may return another text than before for the same name.
func (f *Families) Changes() int { return f.changes }

// Shorten cuts a clean name to at most cells cells, marks included: first words from its beginning
// that its family shares, as few as will do, then such words from its end, then whole words from the
// end of what is its own, up to a third of that, then the middle of it.
func (f *Families) Shorten(name string, cells int, mark string) string {
	if len(name) <= cells || Width(name) <= cells {
		return name
	}
	one := f.of[name[:firstWord(name)]]
	if one == nil || !one.has(name) {
		return Shorten(name, cells, mark)
	}
	for at, left := 0, Width(name); at < one.start; { // left is the width of what is not cut off
		word := firstWord(name[at:])
		left -= Width(name[at : at+word])
		if at += word; at <= one.start && left <= cells-Width(mark) {
			return mark + name[at:]
		}
	}
	cells -= 2 * Width(mark)
	rest := name[one.start:]
	for own, left := len(rest)-one.end, Width(rest); len(rest) > own; {
		at := strings.LastIndexFunc(rest, separates)
		left -= Width(rest[at:])
		if rest = rest[:at]; left <= cells {
			return mark + rest + mark
		}
	}
	if cells < leastOwn {
		return Shorten(name, cells+2*Width(mark), mark)
	}
	for part, left := rest, Width(rest); 3*len(part) >= 2*len(rest); {
		if left <= cells { // most of what is its own, and whole words
			return mark + part + mark
		}
		at := strings.LastIndexFunc(part, separates)
		if at < 0 {
			break
		}
		left -= Width(part[at:])
		part = part[:at]
	}
	return mark + Shorten(rest, cells, mark) + mark
}

// has reports whether a name begins and ends as the family does, and has words of its own between.
func (f *family) has(name string) bool {
	return f.several && f.start+f.end < len(name) &&
		strings.HasPrefix(name, f.example[:f.start]) && strings.HasSuffix(name, f.example[len(f.example)-f.end:])
}

// leastOwn is how many cells a family's name needs for what is its own; in less both ends of the
// whole name say more.
const leastOwn = 8

// separates reports the runes that end a word of a name.
func separates(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// firstWord returns how many bytes the first word of a name takes, with what ends it.
func firstWord(name string) int {
	at := strings.IndexFunc(name, separates)
	if at < 0 {
		return len(name)
	}
	_, size := utf8.DecodeRuneInString(name[at:])
	return at + size
}

func reversed(name string) string {
	runes := []rune(name)
	slices.Reverse(runes)
	return string(runes)
}

// Distinct shortens clean names to cells cells, as Shorten does, and lets those that would come out
// alike keep what tells them apart: of names that begin alike the beginning goes, up to the word in
// which they differ.
func (f *Families) Distinct(names []string, cells int, mark string) []string {
	short := make([]string, len(names))
	alike := map[string][]int{}
	for i, name := range names {
		short[i] = f.Shorten(name, cells, mark)
		if short[i] != name {
			alike[short[i]] = append(alike[short[i]], i)
		}
	}
	for _, list := range alike {
		shared := names[list[0]]
		for _, i := range list[1:] {
			shared = shared[:SharedWords(shared, names[i])]
		}
		if shared == "" || len(list) == 1 || len(shared) == len(names[list[0]]) {
			continue
		}
		for _, i := range list {
			short[i] = mark + Shorten(names[i][len(shared):], cells-Width(mark), mark)
		}
	}
	return short
}

// SharedWords returns how many bytes two names begin with alike, up to the word in which they
// differ; all of them where they are the same.
func SharedWords(a, b string) int {
	n, words := 0, 0
	for n < len(a) && n < len(b) {
		r, size := utf8.DecodeRuneInString(a[n:])
		if !strings.HasPrefix(b[n:], a[n:n+size]) {
			return words
		}
		if n += size; separates(r) {
			words = n
		}
	}
	return collect.If(len(a) == len(b), n, words)
}
