package naming

import (
	"slices"
	"strings"

	"ratescope/limiter"
)

// Class says what a part of a name is.
type Class uint8

const (
	Word    Class = iota // letters, and a short number behind them: "login", "v2"
	ID                   // a number, a hash, a UUID or another text that no person chose
	Address              // an IP address or an e-mail address: one part, whatever separators it has
	Instant              // the window
)

// Part is a piece of a name between two separators.
type Part struct {
	Text  string
	Class Class
}

const separators = ":./|_-{}@#,;=+ "

// Split takes a name apart: the parts, and what stands before each of them and after the last one.
func Split(name string, now limiter.Instant) (parts []Part, between []string) {
	w, windowed := WindowOf(name, now)
	from := 0
	for i := 0; ; {
		for i < len(name) && strings.IndexByte(separators, name[i]) >= 0 && !(windowed && i == w.From) {
			i++
		}
		between = append(between, name[from:i])
		if i == len(name) {
			return parts, between
		}
		p := Part{Class: Instant}
		if windowed && i == w.From {
			p.Text = name[w.From:w.To]
		} else {
			most := len(name)
			if windowed && i < w.From {
				most = w.From
			}
			p = partOf(name[i:most])
		}
		parts = append(parts, p)
		i += len(p.Text)
		from = i
	}
}

// HasAddress says whether a part of a name is an IP address or an e-mail address.
func HasAddress(name string) bool {
	if strings.Count(name, ".") < 3 && strings.Count(name, ":") < 3 && !strings.Contains(name, "@") {
		return false
	}
	parts, _ := Split(name, 0)
	return slices.ContainsFunc(parts, func(p Part) bool { return p.Class == Address })
}

// partOf returns the part with which a text begins.
func partOf(text string) Part {
	if n := addressIn(text); n > 0 {
		return Part{text[:n], Address}
	}
	if n := uuidIn(text); n > 0 {
		return Part{text[:n], ID}
	}
	n := strings.IndexAny(text, separators)
	if n < 0 {
		n = len(text)
	}
	p := Part{Text: text[:n]}
	if isID(p.Text) {
		p.Class = ID
	}
	return p
}

// isID says whether a part without separators was not chosen as a word: it is a number, a long
// hexadecimal number, or long and mixed of letters and digits.
func isID(text string) bool {
	digits, hexes, turns := 0, 0, 0
	for i := range len(text) {
		b := text[i]
		if digit(b) {
			digits++
		}
		if digit(b) || b|0x20 >= 'a' && b|0x20 <= 'f' {
			hexes++
		}
		if i > 0 && digit(b) != digit(text[i-1]) {
			turns++
		}
	}
	switch {
	case digits == 0:
		return false
	case digits == len(text), hexes == len(text) && len(text) >= 8:
		return true
	}
	return digits >= 3 || turns >= 3 || len(text) >= 16
}

// addressIn returns how many bytes of the beginning of a text are an IP address or an e-mail address.
func addressIn(text string) int {
	n, dots, colons, at, digits := 0, 0, 0, 0, 0
	host := 0 // where an e-mail's host begins
loop:
	for n < len(text) {
		b := text[n]
		switch {
		case b == '.':
			dots++
		case b == ':' && at == 0:
			colons++
		case b == '@' && at == 0 && n > 0 && colons == 0:
			at, host = n, n+1
		case digit(b):
			digits++
		case letter(b), strings.IndexByte("-_+", b) >= 0 && (at > 0 || colons == 0):
		default:
			break loop
		}
		n++
	}
	if at > 0 {
		return emailIn(text[:n], at, host)
	}
	if v4 := dotted(text); v4 > 0 {
		return v4
	}
	if colons >= 2 {
		return colonned(text[:n])
	}
	return 0
}

// emailIn returns the length of an e-mail address whose @ stands at a byte.
func emailIn(text string, at, host int) int {
	end := host
	for end < len(text) && (letter(text[end]) || digit(text[end]) || text[end] == '.' || text[end] == '-') {
		end++
	}
	domain := strings.TrimRight(text[host:end], ".-")
	if dot := strings.LastIndexByte(domain, '.'); at == 0 || dot <= 0 || len(domain)-dot < 3 {
		return 0
	}
	return host + len(domain)
}

// dotted returns the length of an IPv4 address at the beginning of a text; dashes and underscores
// may stand for the dots, as in a host's name.
func dotted(text string) int {
	i := 0
	for group := range 4 {
		n := 0
		value := 0
		for i < len(text) && digit(text[i]) && n < 4 {
			value = 10*value + int(text[i]-'0')
			i++
			n++
		}
		if n == 0 || value > 255 {
			return 0
		}
		if group < 3 {
			if i >= len(text) || text[i] != '.' {
				return 0
			}
			i++
		}
	}
	if i < len(text) && (digit(text[i]) || letter(text[i])) {
		return 0
	}
	return i
}

// colonned returns the length of an IPv6 address at the beginning of a text: groups of up to four
// hexadecimal digits between colons, eight or with one gap.
func colonned(text string) int {
	groups, gap, i := 0, false, 0
	end := 0
	for i < len(text) {
		n := 0
		for i+n < len(text) && n < 5 && (digit(text[i+n]) || text[i+n]|0x20 >= 'a' && text[i+n]|0x20 <= 'f') {
			n++
		}
		if n > 4 || n == 0 && !strings.HasPrefix(text[i:], ":") {
			break
		}
		if n > 0 {
			groups++
			i += n
			end = i
		}
		if i >= len(text) || text[i] != ':' || groups == 8 {
			break
		}
		if strings.HasPrefix(text[i:], "::") {
			if gap {
				break
			}
			gap = true
			i += 2
			end = i
			continue
		}
		i++
	}
	if groups == 8 || gap && groups >= 2 && groups < 8 {
		return end
	}
	return 0
}

// uuidIn returns 36 where a text begins with a UUID.
func uuidIn(text string) int {
	if len(text) < 36 {
		return 0
	}
	for i := range 36 {
		b := text[i]
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (b == '-') {
			return 0
		} else if !dash && !digit(b) && !(b|0x20 >= 'a' && b|0x20 <= 'f') {
			return 0
		}
	}
	return 36
}
