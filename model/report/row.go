package report

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/record"
)

// Row is one key at one moment, for evidence: a line of JSON, a record of CSV or a row of a
// Markdown table.
type Row struct {
	Time string `json:"time"`   // RFC 3339 in UTC, by the server's clock
	At   int64  `json:"at_ms"`  // the same, in milliseconds since the epoch
	Age  int64  `json:"age_ms"` // of the reading that the row is worked out from
	Step *Step  `json:"step,omitempty"`
	Key
}

// Step is what came at the key in the step of time that ends with a row; nil where that is not
// known, because nothing was read or the step is the first.
type Step struct {
	Admitted int64  `json:"admitted"`
	Denied   *int64 `json:"denied"`   // null where the store does not record denials
	Injected int64  `json:"injected"` // requests fired from here, whatever became of them
}

// RowOf works a reading out at an instant.
func RowOf(r *model.Reading, at limiter.Instant, o Options) Row {
	return Row{Time: rfc3339(at), At: at.Millis(), Age: max(Millis(at.Sub(r.At)), 0), Key: KeyOf(r, at, o)}
}

func rfc3339(at limiter.Instant) string { return at.Time().UTC().Format("2006-01-02T15:04:05.000Z") }

// Format is how rows are written.
type Format string

// The formats.
const (
	JSONLines Format = "jsonl"
	CSV       Format = "csv"
	Markdown  Format = "md"
)

// ReadFormat reads the name of a format. The error is one sentence.
func ReadFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case JSONLines, CSV, Markdown:
		return f, nil
	}
	return "", fmt.Errorf("the format %q is unknown: give jsonl, csv or md", name)
}

// WriteRows writes rows about a server in a format. In CSV a field of what is not known is empty,
// and a text that a spreadsheet would run as a formula begins with an apostrophe; nothing that is
// written is obeyed by a terminal.
func WriteRows(w io.Writer, f Format, server string, rows []Row) error {
	page := map[string]any{"server": server, "rows": rows}
	if len(rows) > 0 { // the key has a column of its own where there are several, and the steps where there are any
		page["first"], page["last"] = &rows[0], &rows[len(rows)-1]
		page["several"] = slices.ContainsFunc(rows, func(r Row) bool { return r.Key.Key != rows[0].Key.Key })
		page["steps"] = slices.ContainsFunc(rows, func(r Row) bool { return r.Step != nil })
	}
	return write(w, f, rows, csvHead, (*Row).fields, "rows.md", page)
}

// write writes a list in a format: as JSON, as CSV with the fields of each under a head, or as a page of Markdown.
func write[T any](w io.Writer, f Format, list []T, head []string, fields func(*T) []string, page string, data map[string]any) error {
	out := bufio.NewWriter(w)
	var err error
	switch f {
	case JSONLines:
		_, err = out.Write(lines(list))
	case CSV:
		c := csv.NewWriter(out)
		err = c.Write(head)
		for i := 0; i < len(list) && err == nil; i++ {
			err = c.Write(fields(&list[i]))
		}
		c.Flush()
		err = cmp.Or(err, c.Error())
	case Markdown:
		err = pages().ExecuteTemplate(out, page, data)
	default:
		return fmt.Errorf("rows cannot be written as %q", f)
	}
	if err = cmp.Or(err, out.Flush()); err != nil {
		return fmt.Errorf("the rows could not be written: %w", err)
	}
	return nil
}

var csvHead = []string{
	"time", "at_ms", "age_ms", "key", "type", "algorithm", "limit", "window_ms", "used", "remaining", "utilization",
	"previous", "current", "weight", "estimate", "exact", "next_admission_ms", "rate_per_s", "denied", "ttl_ms",
	"library", "evidence", "limit_from", "notes", "step_admitted", "step_denied", "step_injected",
}

// fields are the record of r under csvHead.
func (r *Row) fields() []string {
	step := make([]string, 3)
	if s := r.Step; s != nil {
		step = []string{strconv.FormatInt(s.Admitted, 10), known(s.Denied), strconv.FormatInt(s.Injected, 10)}
	}
	return append([]string{
		r.Time, strconv.FormatInt(r.At, 10), strconv.FormatInt(r.Age, 10), cell(r.Key.Key.Clean()), cell(r.Type.Clean()),
		known(r.Algorithm), known(r.Limit), known(r.Window), known(r.Used), known(r.Remaining), known(r.Utilization),
		known(r.Previous), known(r.Current), known(r.Weight), known(r.Estimate), known(r.Exact), known(r.Next), known(r.Rate),
		known(r.Denied.Count), known(r.TTL), known(r.Library), r.Evidence, known(r.LimitFrom), cell(r.notes()),
	}, step...)
}

// cell returns a text as one that a spreadsheet takes for nothing but text.
func cell(text string) string {
	if text != "" && strings.Contains("=+-@\t\r", text[:1]) {
		return "'" + text
	}
	return text
}

// known returns a value as a field; "" where it is not known.
func known[T any](p *T) string {
	if p == nil {
		return ""
	}
	switch v := any(*p).(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		return cell(v)
	case Window:
		return strconv.FormatInt(v.Count, 10)
	}
	return fmt.Sprint(*p)
}

// remarks are the notes about a row, and how old its reading is.
func (r *Row) remarks() string {
	list := collect.Map(r.Notes, Text.Clean)
	if r.Age > staleMillis {
		list = append(list, "last read "+format.Spaced(time.Duration(r.Age)*time.Millisecond)+" before")
	}
	return strings.Join(list, "; ")
}

// Instant prints milliseconds since the epoch as a moment in UTC.
func Instant(ms int64) string { return tableTime(ms) + " UTC" }

// tableTime writes milliseconds since the epoch as a table has them, in UTC.
func tableTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000")
}

// staleMillis is how old a reading may be before a table says so.
const staleMillis = 5000

// Event is something that happened, or a moment that a person marked: a line of JSON, a record of
// CSV or a row of a Markdown table.
type Event struct {
	Time      string `json:"time"`  // RFC 3339 in UTC, by the server's clock
	At        int64  `json:"at_ms"` // the same, in milliseconds since the epoch
	Kind      string `json:"kind"`  // marker, event, fired, alert or audit
	Key       *Text  `json:"key"`   // null where it is about the server
	KeyBase64 []byte `json:"key_base64,omitempty"`
	Text      Text   `json:"text"`
}

// EventOf returns a marker in the form in which it is written.
func EventOf(m record.Marker, o Options) Event {
	e := Event{Time: rfc3339(m.At), At: m.At.Millis(), Kind: string(m.Kind), Text: Text(m.Text)}
	if m.Key != "" {
		name := o.Name(m.Key)
		e.Key = &name
		if name.lossy() {
			e.KeyBase64 = []byte(name)
		}
	}
	return e
}

// WriteEvents writes markers about a server in a format, as WriteRows writes rows.
func WriteEvents(w io.Writer, f Format, server string, list []record.Marker, o Options) error {
	events := collect.Map(list, func(m record.Marker) Event { return EventOf(m, o) })
	fields := func(e *Event) []string {
		name := ""
		if e.Key != nil {
			name = e.Key.Clean()
		}
		return []string{e.Time, strconv.FormatInt(e.At, 10), e.Kind, cell(name), cell(e.Text.Clean())}
	}
	return write(w, f, events, []string{"time", "at_ms", "kind", "key", "text"}, fields, "events.md",
		map[string]any{"server": server, "events": events})
}
