package widget

import (
	_ "embed" // of letters.txt
	"strings"
	"sync"
	"unicode"

	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/themes"
	"ratescope/tui/chart"
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

// TypeRows is how many rows of cells a line of large type takes: one dot between lines and five, two to a cell.
const TypeRows = 3

// Finely is the width, in cells, below which large type is set with two dots beside each other in
// a cell, so that a line still holds a clause.
const Finely = 120

// halves are the same of cells with two dots, upper 1 and lower 2.
var halves = []rune(" ▀▄█")

// Settable reports whether every letter of a text has a glyph.
func Settable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { _, ok := glyphs()[unicode.ToUpper(r)]; return !ok })
}

// TypeDots is how many dots wide a text is, with one behind each letter.
func TypeDots(text string) (n int) {
	for _, r := range text {
		n += len(glyphs()[unicode.ToUpper(r)][0]) + 1
	}
	return n
}

// WrapType breaks a text into lines of large type that fit so many cells.
func WrapType(text string, cells int) []string {
	dots := cells + 1 // the blank behind the last letter may be cut
	if cells < Finely {
		dots = 2*cells + 1
	}
	return format.WrapBy(text, dots, TypeDots)
}

// Enlarge sets a line in large type, in capitals, with two dots beside each other in a cell or with one.
func Enlarge(text string, fine bool) (rows [TypeRows]string) {
	var dots [2 * TypeRows][]bool
	for _, r := range text {
		glyph := glyphs()[unicode.ToUpper(r)]
		for y := range dots {
			for x := range len(glyph[0]) + 1 {
				dots[y] = append(dots[y], y > 0 && x < len(glyph[y-1]) && glyph[y-1][x] == '#')
			}
		}
	}
	at := func(x, y, bit int) int {
		if x < len(dots[y]) && dots[y][x] {
			return bit
		}
		return 0
	}
	for i := range rows {
		var b strings.Builder
		for x := 0; x < len(dots[0]); x++ {
			if fine {
				b.WriteRune(chart.Quads[at(x, 2*i, 1)|at(x+1, 2*i, 2)|at(x, 2*i+1, 4)|at(x+1, 2*i+1, 8)])
				x++
				continue
			}
			b.WriteRune(halves[at(x, 2*i, 1)|at(x, 2*i+1, 2)])
		}
		rows[i] = b.String()
	}
	return rows
}

// TypeCells is how many cells a text takes in large type, with two dots beside each other in a cell
// or with one.
func TypeCells(text string, fine bool) int {
	if fine {
		return TypeDots(text) / 2
	}
	return TypeDots(text) - 1
}

// Large writes a line of large type. Cells that are set as a whole are so in the background too, so that terminals which draw
// blocks smaller than a cell leave no seams.
func (c *Canvas) Large(x, y, end int, text string, fine bool, st themes.Style) {
	for i, row := range Enlarge(text, fine) {
		for k, r := range []rune(row) {
			c.Buffer.Text(x+k, y+i, end, string(r), collect.If(r == '█', st.On(st.Fg), st))
		}
	}
}

//go:embed letters.txt
var lettersText string

// glyphs are letters of five rows of dots, most of them three dots wide, for the back row of a room:
// the figures of the point that a candidate makes, and the capitals that texts are set in.
// They are read in groups: a line with the letters, and five with the dots of each, which # sets.
var glyphs = sync.OnceValue(func() map[rune][5]string {
	all := map[rune][5]string{}
	for group := range strings.SplitSeq(lettersText, "\n\n") {
		lines := strings.Split(group, "\n")
		for i, r := range []rune(lines[0]) {
			var glyph [5]string
			for y := range glyph {
				glyph[y] = strings.Split(lines[1+y], "|")[i]
			}
			all[r] = glyph
		}
	}
	return all
})
