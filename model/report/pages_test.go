package report_test

import (
	"strings"
	"testing"

	"ratescope/model/record"
	"ratescope/model/report"
)

// TestEventsInMarkdown: a row names the key of an event, masked where names are, and has a dash for the server.
func TestEventsInMarkdown(t *testing.T) {
	for _, c := range []struct {
		list []record.Marker
		o    report.Options
		want string
	}{
		{nil, report.Options{}, "Nothing happened, and no moment was marked.\n"},
		{[]record.Marker{{At: 5000, Kind: record.MarkerEvent, Key: "rl:al`ice", Text: "is *throttled*"}}, report.Options{},
			"| 1970-01-01 00:00:00.005 | event | `rl:al'ice` | is \\*throttled\\* |\n"},
		{[]record.Marker{{At: 5000, Kind: record.MarkerAlert, Text: "a\nb"}}, report.Options{},
			"| 1970-01-01 00:00:00.005 | alert | – | a\\\\nb |\n"},
		{[]record.Marker{{Key: "rl:alice:12345678"}}, report.Options{Mask: true},
			"`" + string(report.Options{Mask: true}.Name("rl:alice:12345678")) + "`"},
	} {
		var b strings.Builder
		if err := report.WriteEvents(&b, report.Markdown, "redis://h", c.list, c.o); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("%+v: %v, no %q in\n%s", c.list, err, c.want, b.String())
		}
	}
}
