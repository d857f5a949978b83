package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"ratescope/model/marker"
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
func EventOf(m marker.Marker, o Options) Event {
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
func WriteEvents(w io.Writer, f Format, server string, list []marker.Marker, o Options) error {
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
