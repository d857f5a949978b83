package naming

import (
	"net/netip"
	"regexp"
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
	if len(text) >= 36 && text[8] == '-' && uuid.MatchString(text) {
		return Part{text[:36], ID}
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

// email is an e-mail address at the beginning of a text, uuid a UUID.
var (
	email = regexp.MustCompile(`^[A-Za-z0-9\x{80}-\x{10FFFF}._+-]+@(?:[A-Za-z0-9\x{80}-\x{10FFFF}-]+\.)+[A-Za-z0-9\x{80}-\x{10FFFF}]{2,}`)
	uuid  = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)
)

// addressIn returns how many bytes of the beginning of a text are an IP address or an e-mail address.
func addressIn(text string) int {
	if strings.IndexByte(text, '@') > 0 {
		if n := len(email.FindString(text)); n > 0 {
			return n
		}
	}
	const longest = 45 // of an IPv6 address that ends in an IPv4 one
	end := min(len(text)-len(strings.TrimLeft(text, "0123456789abcdefABCDEF:.")), longest)
	for end > 0 && (strings.Count(text[:end], ":") >= 2 || strings.Count(text[:end], ".") >= 3) {
		if whole := end == len(text) || !digit(text[end]) && !letter(text[end]); whole && text[end-1] != ':' {
			if _, err := netip.ParseAddr(text[:end]); err == nil {
				return end
			}
		}
		end = strings.LastIndexAny(text[:end], ":.")
	}
	return 0
}
