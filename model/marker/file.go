package marker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"ratescope/limiter"
)

// Extension is what the name of a recording or a capsule gets behind it for the file of its markers.
// They lie beside it, so that the evidence itself stays as it was recorded.
const Extension = ".markers.jsonl"

// Bounds of a file of markers.
const (
	Most    = 10_000 // markers
	MaxText = 500    // runes of a text
	MaxFile = 16 << 20
)

// line is a marker in a file: JSON, one object a line.
type line struct {
	At        limiter.Instant `json:"at"` // microseconds since the epoch, on the server's clock
	Key       string          `json:"key,omitempty"`
	KeyBase64 []byte          `json:"key_base64,omitempty"` // in place of a key that is not valid UTF-8
	Text      string          `json:"text,omitempty"`
}

// Encode returns a file with the Set markers of a list.
func Encode(list []Marker) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, m := range list {
		if m.Kind != Set {
			continue
		}
		l := line{At: m.At, Key: m.Key, Text: m.Text}
		if !utf8.ValidString(m.Key) {
			l.Key, l.KeyBase64 = "", []byte(m.Key)
		}
		if err := e.Encode(l); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// Decode reads a file of markers, sorted. Text that is too long is cut. The error is a clause that
// names the line.
func Decode(content []byte) ([]Marker, error) {
	var list []Marker
	n := 0
	for text := range bytes.Lines(content) {
		n++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil || l.At <= 0 {
			return nil, fmt.Errorf("line %d is no marker", n)
		}
		if len(list) == Most {
			return nil, fmt.Errorf("line %d is beyond the %d markers that a recording may have", n, Most)
		}
		m := Marker{At: l.At, Kind: Set, Key: l.Key, Text: Cut(l.Text)}
		if len(l.KeyBase64) > 0 {
			m.Key = string(l.KeyBase64)
		}
		list = append(list, m)
	}
	Sort(list)
	return slices.Clip(list), nil
}

// Cut returns a text without what is beyond MaxText.
func Cut(text string) string {
	n := 0
	for i := range text {
		if n == MaxText {
			return text[:i]
		}
		n++
	}
	return text
}
