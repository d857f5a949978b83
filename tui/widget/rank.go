package widget

import (
	"strings"
	"unicode"
)

// Match is how well a pattern fits a name, the better the greater.
type Match int

// The matches, from none to the whole name.
const (
	NoMatch      Match = iota
	LettersMatch       // its letters appear in their order
	InsideMatch        // it stands somewhere inside a word
	WordMatch          // a word begins with it
	PrefixMatch        // the name begins with it
	WholeMatch         // it is the name
)

// Rank says how well pattern fits name, in any case, and which runes of name it marks. An
// empty pattern is a prefix of everything.
func Rank(name, pattern string) (Match, []int) {
	n, p := []rune(strings.ToLower(name)), []rune(strings.ToLower(pattern))
	if len(n) != len([]rune(name)) { // a rune whose lower case is longer: positions would be off
		n = []rune(name)
	}
	best, at := NoMatch, -1
	for i := 0; i+len(p) <= len(n); i++ {
		if string(n[i:i+len(p)]) != string(p) {
			continue
		}
		m := InsideMatch
		switch {
		case i == 0 && len(p) == len(n):
			m = WholeMatch
		case i == 0:
			m = PrefixMatch
		case !wordRune(n[i-1]) && wordRune(n[i]):
			m = WordMatch
		}
		if m > best {
			best, at = m, i
		}
		if best >= PrefixMatch {
			break
		}
	}
	if best != NoMatch {
		marked := make([]int, len(p))
		for i := range marked {
			marked[i] = at + i
		}
		return best, marked
	}
	return letters(n, p)
}

// letters matches the runes of p in their order, anywhere in n.
func letters(n, p []rune) (Match, []int) {
	marked := make([]int, 0, len(p))
	for i, r := range n {
		if len(marked) < len(p) && r == p[len(marked)] {
			marked = append(marked, i)
		}
	}
	if len(marked) < len(p) {
		return NoMatch, nil
	}
	return LettersMatch, marked
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
