package report

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/record"
)

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
	events := make([]Event, len(list))
	for i, m := range list {
		events[i] = EventOf(m, o)
	}
	return listing{
		n: len(events), value: func(i int) any { return events[i] },
		head: []string{"time", "at_ms", "kind", "key", "text"},
		fields: func(i int) []string {
			e := &events[i]
			return []string{e.Time, strconv.FormatInt(e.At, 10), e.Kind, cell(e.name().Clean()), cell(e.Text.Clean())}
		},
		table: func(to *bufio.Writer) {
			fmt.Fprintf(to, "# What happened on %s\n\n", CodeSpan(server))
			if len(events) == 0 {
				to.WriteString("Nothing happened, and no moment was marked.\n")
				return
			}
			to.WriteString("| time (UTC) | kind | key | what |\n|---|---|---|---|\n")
			for i := range events {
				e := &events[i]
				name := Dash
				if e.Key != nil {
					name = CodeSpan(string(*e.Key))
				}
				fmt.Fprintf(to, "| %s | %s | %s | %s |\n", tableTime(e.At), e.Kind, name, PlainMarkdown(string(e.Text)))
			}
		},
	}.write(w, f)
}

// name is the name of the key; "" for none.
func (e *Event) name() Text {
	if e.Key == nil {
		return ""
	}
	return *e.Key
}

// Export writes the snapshot of b to a new file in a folder and returns its path. The
// name says when, by the server's clock; a file that is there already is never changed.
func Export(folder string, b model.Batch, o Options) (path string, err error) {
	return export(folder, b.At, "json", func(w io.Writer) error { return SnapshotOf(b, o).JSON(w) })
}

// ExportRows writes a row for every reading of b, at b's instant, to a new file as Export does.
func ExportRows(folder string, b model.Batch, f Format, o Options) (path string, err error) {
	rows := make([]Row, len(b.Readings))
	for i := range b.Readings {
		rows[i] = RowOf(&b.Readings[i], b.At, o)
	}
	return export(folder, b.At, string(f), func(w io.Writer) error { return WriteRows(w, f, b.Server.Target, rows) })
}

// ExportEvents writes what happened at a server to a new file as Export does.
func ExportEvents(folder string, at limiter.Instant, f Format, server string, list []record.Marker, o Options) (path string, err error) {
	return export(folder, at, "events."+string(f), func(w io.Writer) error { return WriteEvents(w, f, server, list, o) })
}

func export(folder string, at limiter.Instant, extension string, write func(io.Writer) error) (path string, err error) {
	path = filepath.Join(folder, "ratescope-"+at.Time().Format("20060102-150405.000")+"."+extension)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("nothing was exported to %s: %w", path, err)
	}
	if err = write(f); err == nil {
		err = f.Close()
	}
	if err != nil {
		return "", fmt.Errorf("the export to %s is not whole: %w", path, err)
	}
	return path, nil
}
