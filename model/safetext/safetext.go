// Package safetext makes strings that came from a server fit for a terminal.
//
// A Redis key can hold any bytes: escape sequences that recolour the screen or
// retitle the window, marks that reverse the reading direction, characters without a
// width that shift every column after them, or bytes that are no text at all. Clean
// turns all of these into visible escapes. What it returns is plain: every grapheme
// is one printable code point, one or two cells wide, so that widths add up and a cut
// between any two of them is a good one.
package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Clean returns s with everything that a terminal would obey, hide, join or refuse
// written as an escape: \x1b for a control byte or a byte that is not UTF-8, \u202e
// or \U000e0001 for a code point, \n, \r and \t as usual, and \\ for a backslash, so that
// two different strings never come out the same. Clean text is not for cleaning
// again: its backslashes would double.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for clusters := graphemes.FromString(s); clusters.Next(); {
		cluster := clusters.Value()
		for i := 0; i < len(cluster); {
			r, size := utf8.DecodeRuneInString(cluster[i:])
			// Only the first code point of a cluster stands on its own; the ones that
			// would join it are shown apart.
			if i == 0 && kept(r, size) {
				b.WriteString(cluster[:size])
			} else {
				escape(&b, r, size, cluster[i])
			}
			i += size
		}
	}
	return b.String()
}

// Sentence makes text of our own that quotes something from outside fit for one line
// of a terminal: as Clean, but backslashes stay as they are, since what was quoted may
// have been escaped already.
func Sentence(s string) string {
	if plain(s) {
		return s
	}
	parts := strings.Split(s, `\`)
	for i, part := range parts {
		parts[i] = Clean(part)
	}
	return strings.Join(parts, `\`)
}

// plain says whether s is printable ASCII without a backslash, as most names are.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

// kept says whether r, decoded from size bytes, may stand as it is.
func kept(r rune, size int) bool {
	switch {
	case r == utf8.RuneError && size == 1, r == '\\', !unicode.IsPrint(r), unicode.Is(unicode.M, r):
		return false
	case r < utf8.RuneSelf:
		return true
	case strings.ContainsRune(invisible, r), joinsNext(r):
		return false
	case r >= 0x1f1e6 && r <= 0x1f1ff: // a letter of a flag, on whose width terminals disagree
		return false
	}
	w := displaywidth.Rune(r)
	return w == 1 || w == 2
}

// invisible are the letters and symbols that count as printable and show nothing: Hangul fillers, the empty Braille cell.
const invisible = "\u115f\u1160\u3164\uffa0\u2800"

// joinsNext reports the few letters that form one cluster with whatever follows.
func joinsNext(r rune) bool {
	var buf [utf8.UTFMax + 1]byte
	pair := append(utf8.AppendRune(buf[:0], r), 'a')
	clusters := graphemes.FromBytes(pair)
	return clusters.Next() && len(clusters.Value()) == len(pair)
}

func escape(b *strings.Builder, r rune, size int, first byte) {
	switch {
	case r == '\\':
		b.WriteString(`\\`)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == utf8.RuneError && size == 1, r < utf8.RuneSelf:
		const digits = "0123456789abcdef" // by hand: a name of thousands of such bytes is written for every picture
		b.WriteString(`\x`)
		b.WriteByte(digits[first>>4])
		b.WriteByte(digits[first&15])
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// Width returns how many terminal cells s takes. It counts ambiguous characters as
// one cell, as terminals outside East Asian locales do.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	return displaywidth.String(s)
}

// Ellipsis and ASCIIEllipsis mark where text was cut; both are one cell wide.
const (
	Ellipsis      = "…"
	ASCIIEllipsis = "~"
)

// Clip cuts clean text to at most cells cells, mark included. Nothing is left of it
// when cells is below 1.
func Clip(s string, cells int, mark string) string {
	if cells < 1 {
		return ""
	}
	if len(s) <= cells || Width(s) <= cells {
		return s
	}
	return head(s, cells-Width(mark)) + mark
}

// ClipWords cuts clean text between words to at most cells cells, mark included, so that
// what is left of a figure or of a unit never reads as another one.
func ClipWords(s string, cells int, mark string) string {
	if len(s) <= cells || Width(s) <= cells {
		return s
	}
	for at := len(s); at > 0; {
		at = strings.LastIndexByte(s[:at], ' ')
		if at < 0 {
			break
		}
		if short := strings.TrimRight(s[:at], " ") + mark; Width(short) <= cells {
			return short
		}
	}
	return ""
}

// Shorten cuts clean text in its middle to at most cells cells, mark included: names
// of limiters mostly begin alike and differ at the end.
func Shorten(s string, cells int, mark string) string {
	if cells < 1 {
		return ""
	}
	if len(s) <= cells || Width(s) <= cells {
		return s
	}
	room := cells - Width(mark)
	return head(s, room/2) + mark + tail(s, room-room/2)
}

// head returns the longest beginning of s that fits into cells.
func head(s string, cells int) string {
	used := 0
	for i, r := range s {
		if used += RuneWidth(r); used > cells {
			return s[:i]
		}
	}
	return s
}

// tail returns the longest end of s that fits into cells.
func tail(s string, cells int) string {
	used, at := 0, len(s)
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:at])
		if used += RuneWidth(r); used > cells {
			break
		}
		at -= size
	}
	return s[at:]
}

// RuneWidth returns how many terminal cells a rune of clean text takes.
func RuneWidth(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	return displaywidth.Rune(r)
}

// Mask hides the middle of a name: what is left is at most its first eight and last
// three characters, and never more than half of it. How much was hidden does not
// show. The result is as raw as the name was: Clean it before it meets a terminal.
func Mask(name string) string {
	n := 0
	for range name {
		n++
	}
	last := min(3, n/6)
	first := min(8, n/2-last)
	from, to := 0, len(name)
	for range first {
		_, size := utf8.DecodeRuneInString(name[from:])
		from += size
	}
	for range last {
		_, size := utf8.DecodeLastRuneInString(name[:to])
		to -= size
	}
	return name[:from] + "***" + name[to:]
}
