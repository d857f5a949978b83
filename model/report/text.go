package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"ratescope/model/safetext"
)

// Text is a string from outside. In JSON, everything that a terminal would obey or
// hide is a \u escape, and each byte that is not UTF-8 becomes U+FFFD, since JSON has
// no other way to hold it.
type Text string

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.Grow(len(t) + 2)
	b.WriteByte('"')
	for _, r := range string(t) {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case safetext.Clean(string(r)) == string(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return []byte(b.String()), nil
}

// lossy says whether JSON cannot hold t as it is.
func (t Text) lossy() bool { return !utf8.ValidString(string(t)) }

// Clean is t for a terminal.
func (t Text) Clean() string { return safetext.Clean(string(t)) }

// WriteJSON prints one indented JSON object and a line end.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
