package cell

// stands are the ASCII characters for the signs that the screens write in text. Shapes
// that carry a meaning (marks, bars, lines) have a set of their own in package chart.
var stands = map[rune]rune{
	'·': '-', '–': '-', '—': '-', '−': '-', '…': '~', '×': 'x', '∞': '~', 'µ': 'u', '‹': '<', '›': '>',
	'←': '<', '→': '>', '↑': '^', '↓': 'v', '▏': '|', '│': '|', '─': '-', '≥': '>', '≤': '<', '≈': '~', '±': '~',
}

// plain returns what stands for r on a terminal that has nothing beyond ASCII.
func plain(r rune) rune {
	if r <= '~' {
		return r
	}
	if s, ok := stands[r]; ok {
		return s
	}
	return '?'
}
