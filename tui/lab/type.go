package lab

import (
	"strings"
	"unicode"

	"ratescope/model/format"
)

// typeRows is how many rows of cells a line of large type takes: five dots, two to a cell, and
// one between lines.
const typeRows = 3

// finely is the width, in cells, below which large type is set with two dots beside each other in
// a cell, so that a line still holds a clause.
const finely = 120

// quarters are the cells by the dots that are set in them: upper left 1, upper right 2, lower
// left 4, lower right 8.
var quarters = []rune(" ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█")

// halves are the same of cells with two dots, upper 1 and lower 2.
var halves = []rune(" ▀▄█")

// settable reports whether every letter of a text has a glyph.
func settable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { _, ok := large[unicode.ToUpper(r)]; return !ok })
}

// dotsOf is how many dots wide a text is, with one behind each letter.
func dotsOf(text string) (n int) {
	for _, r := range text {
		n += len(large[unicode.ToUpper(r)][0]) + 1
	}
	return n
}

// wrapType breaks a text into lines of large type that fit so many cells.
func wrapType(text string, cells int) []string {
	dots := cells + 1 // the blank behind the last letter may be cut
	if cells < finely {
		dots = 2*cells + 1
	}
	return format.WrapBy(text, dots, dotsOf)
}

// enlarge sets a line in large type, in capitals, for so many cells.
func enlarge(text string, cells int) (rows [typeRows]string) {
	var dots [2 * typeRows][]bool
	for _, r := range text {
		glyph := large[unicode.ToUpper(r)]
		for y := range dots {
			for x := range len(glyph[0]) + 1 {
				dots[y] = append(dots[y], y < len(glyph) && x < len(glyph[y]) && glyph[y][x] == '#')
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
			if cells < finely {
				b.WriteRune(quarters[at(x, 2*i, 1)|at(x+1, 2*i, 2)|at(x, 2*i+1, 4)|at(x+1, 2*i+1, 8)])
				x++
				continue
			}
			b.WriteRune(halves[at(x, 2*i, 1)|at(x, 2*i+1, 2)])
		}
		rows[i] = b.String()
	}
	return rows
}
