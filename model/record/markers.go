package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"ratescope/limiter"
)

// MarkerKind says what a Marker is of.
type MarkerKind string

// The kinds.
const (
	MarkerSet   MarkerKind = "marker" // a person marked the moment
	MarkerEvent MarkerKind = "event"  // something happened to a key or to the server
	MarkerFired MarkerKind = "fired"  // the first request of an order that was fired from here
	MarkerAlert MarkerKind = "alert"  // an alert of the configuration began or ended
	MarkerAudit MarkerKind = "audit"  // a key was changed from here instead of fired at
)

// Marker is a moment of a recording that is worth going back to. Lists of markers are sorted by time.
type Marker struct {
	At   limiter.Instant // on the server's clock
	Kind MarkerKind
	Key  string // as the recording has it; "" the server, or no key
	Text string // raw, not for a terminal before it is cleaned; may be "" of one that a person set

	Seen limiter.Instant // when the recording tells of it, where that is later than At: what happened is known with the next batch
}

// Moment is where a replay stands that shows the marker: not before the recording tells of it.
func (m *Marker) Moment() limiter.Instant { return max(m.At, m.Seen) }

// SortMarkers puts markers in the order of their moments; of the same moment the order stays.
func SortMarkers(list []Marker) {
	slices.SortStableFunc(list, func(x, y Marker) int { return cmp.Compare(x.Moment(), y.Moment()) })
}

// NextMarker returns the first marker of a sorted list whose moment is later than an instant.
func NextMarker(list []Marker, at limiter.Instant) (m Marker, found bool) {
	i := slices.IndexFunc(list, func(m Marker) bool { return m.Moment() > at })
	if i < 0 {
		return Marker{}, false
	}
	return list[i], true
}

// PreviousMarker returns the last marker of a sorted list whose moment is earlier than an instant.
func PreviousMarker(list []Marker, at limiter.Instant) (m Marker, found bool) {
	i, _ := slices.BinarySearchFunc(list, at, func(m Marker, at limiter.Instant) int { return cmp.Compare(m.Moment(), at) })
	if i == 0 {
		return Marker{}, false
	}
	return list[i-1], true
}

// FindMarker returns the place of the marker that a person set of a key at an instant; -1 where there is none.
func FindMarker(list []Marker, at limiter.Instant, key string) int {
	return slices.IndexFunc(list, func(m Marker) bool { return m.Kind == MarkerSet && m.At == at && m.Key == key })
}

// MarkersExtension is what the name of a recording or a capsule gets behind it for the file of its markers.
// They lie beside it, so that the evidence itself stays as it was recorded.
const MarkersExtension = ".markers.jsonl"

// Bounds of a file of markers.
const (
	MostMarkers    = 10_000 // markers
	MaxMarkerText  = 500    // runes of a text
	MaxMarkersFile = 16 << 20
)

// markerLine is a marker in a file: JSON, one object a line.
type markerLine struct {
	At        limiter.Instant `json:"at"` // microseconds since the epoch, on the server's clock
	Key       string          `json:"key,omitempty"`
	KeyBase64 []byte          `json:"key_base64,omitempty"` // in place of a key that is not valid UTF-8
	Text      string          `json:"text,omitempty"`
}

// EncodeMarkers returns a file with those markers of a list that a person set.
func EncodeMarkers(list []Marker) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, m := range list {
		if m.Kind != MarkerSet {
			continue
		}
		l := markerLine{At: m.At, Key: m.Key, Text: m.Text}
		if !utf8.ValidString(m.Key) {
			l.Key, l.KeyBase64 = "", []byte(m.Key)
		}
		if err := e.Encode(l); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// DecodeMarkers reads a file of markers, sorted. Text that is too long is cut. The error is a clause that
// names the line.
func DecodeMarkers(content []byte) ([]Marker, error) {
	var list []Marker
	n := 0
	for text := range bytes.Lines(content) {
		n++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var l markerLine
		if err := json.Unmarshal(text, &l); err != nil || l.At <= 0 {
			return nil, fmt.Errorf("line %d is no marker", n)
		}
		if len(list) == MostMarkers {
			return nil, fmt.Errorf("line %d is beyond the %d markers that a recording may have", n, MostMarkers)
		}
		m := Marker{At: l.At, Kind: MarkerSet, Key: l.Key, Text: CutText(l.Text)}
		if len(l.KeyBase64) > 0 {
			m.Key = string(l.KeyBase64)
		}
		list = append(list, m)
	}
	SortMarkers(list)
	return slices.Clip(list), nil
}

// CutText returns a text without what is beyond MaxMarkerText.
func CutText(text string) string {
	n := 0
	for i := range text {
		if n == MaxMarkerText {
			return text[:i]
		}
		n++
	}
	return text
}
