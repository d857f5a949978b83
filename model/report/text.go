// Package report prints what is known about keys for programs and for people who
// have no screen: the JSON of snapshot and peek, which other programs rely on,
// and the same facts as text in columns.
//
// In the JSON a number that is not known is null, never 0; times are whole
// milliseconds, rounded up so that waiting that long is enough. In the text it is a
// dash. Whatever bytes a key's name holds, the JSON is valid, and neither form carries
// a byte that a terminal would obey.
package report

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"ratescope/limiter"
	"ratescope/model/format"
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
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
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

// Columns is text in columns. Cells are clean text; the columns are as wide as their
// widest cell, in terminal cells.
type Columns struct {
	heads []string
	right []bool
	rows  [][]string
}

// NewColumns names the columns. A name that begins with ">" is of a column whose
// cells stand at the right edge, as numbers do.
func NewColumns(heads ...string) *Columns {
	c := &Columns{right: make([]bool, len(heads))}
	for i, h := range heads {
		h, c.right[i] = strings.CutPrefix(h, ">")
		c.heads = append(c.heads, h)
	}
	return c
}

// Add appends one row; cells that are missing at its end are empty.
func (c *Columns) Add(cells ...string) { c.rows = append(c.rows, cells) }

// String lays the rows out under their heads, each line ended, none with blanks at
// its end.
func (c *Columns) String() string {
	widths := make([]int, len(c.heads))
	rows := append([][]string{c.heads}, c.rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], safetext.Width(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			gap := strings.Repeat(" ", widths[i]-safetext.Width(cell))
			if c.right[i] {
				line.WriteString(gap + cell)
			} else {
				line.WriteString(cell + gap)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Dash stands for what is not known.
const Dash = "–"

// Number prints a pointer of Key.
func Number(n *int64) string { return cmp.Or(known(n), Dash) }

// Wait prints a time of Key in milliseconds; zero and below have words of their own.
func Wait(ms *int64, zero, negative string) string {
	switch {
	case ms == nil:
		return Dash
	case *ms < 0:
		return negative
	case *ms == 0:
		return zero
	}
	return format.Spaced(time.Duration(*ms) * time.Millisecond)
}

func percent(u *float64) string {
	if u == nil {
		return Dash
	}
	return strconv.FormatFloat(*u*100, 'f', 0, 64) + " %"
}

// Word prints a word that may not be known.
func Word(s *string) string {
	if s == nil {
		return Dash
	}
	return *s
}

// Each prints the length of a window: 60000 as "1 m".
func Each(ms *int64) string {
	if ms == nil {
		return Dash
	}
	return format.Each(time.Duration(*ms) * time.Millisecond)
}

// plainMarkdown returns a text as one that Markdown takes for nothing but text.
func plainMarkdown(text any) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "|", `\|`, "#",
		`\#`).Replace(safetext.Sentence(fmt.Sprint(text)))
}

// codeSpan returns a name in a code span, in which nothing can end it.
func codeSpan(name any) string {
	if p, is := name.(*Text); is {
		name = *p
	}
	text := safetext.Shorten(safetext.Clean(fmt.Sprint(name)), 100, safetext.Ellipsis)
	return "`" + strings.NewReplacer("`", "'", "|", "¦").Replace(text) + "`"
}

//go:embed pages
var pageFiles embed.FS

// pages are the forms in which reports are printed.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"code": codeSpan, "md": plainMarkdown, "word": Word, "number": Number, "percent": percent, "each": Each,
		"wait": func(ms *int64) string { return Wait(ms, "now", "never") }, "instant": Instant, "time": tableTime,
		"latency": format.Latency, "signed": format.Signed, "remarks": func(r Row) string { return r.remarks() },
		"day":    func(at limiter.Instant) string { return at.Time().UTC().Format("2006-01-02 15:04:05 UTC") },
		"clock":  func(at limiter.Instant) string { return at.Time().UTC().Format("15:04:05.000") },
		"moment": func(ms int64) limiter.Instant { return limiter.Instant(ms * 1000) },
	}).ParseFS(pageFiles, "pages/*"))
})
