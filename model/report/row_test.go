package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/report"
)

// TestRows: every format holds what a name holds, and obeys nothing of it; what is not known is
// null, empty or a dash.
func TestRows(t *testing.T) {
	at := limiter.InstantOf(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC))
	names := []string{"rl:a", "=cmd|' /C calc'!A0", "two\nlines,\"quoted\"\x1b[2J", "`|<b>"}
	rows := make([]report.Row, len(names))
	for i, name := range names {
		r := model.Reading{Key: name, Type: "string", At: at.Add(-time.Duration(i) * 10 * time.Second), TTL: time.Minute}
		if i == 0 {
			r.Target = model.Target{Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 10, Window: time.Minute}, Window: time.Minute, LimitKnown: true, Evidence: model.Known}
			r.State = limiter.State{Algorithm: limiter.FixedWindow, Start: at, Current: 4}
		}
		rows[i] = report.RowOf(&r, at, report.Options{})
	}
	rows[0].Step = &report.Step{Admitted: 3, Injected: 1}
	written := func(f report.Format, rows []report.Row) string {
		var b bytes.Buffer
		if err := report.WriteRows(&b, f, "redis://x", rows); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\x1b\a\r") {
			t.Errorf("%s holds what a terminal obeys: %q", f, b.String())
		}
		return b.String()
	}
	lines := strings.Split(strings.TrimSpace(written(report.JSONLines, rows)), "\n")
	for i, line := range lines {
		var got struct {
			Time, Key string
			Used      *int64
			Step      *report.Step
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Key != names[i] || got.Time != "2026-11-20T09:00:00.000Z" || (got.Used == nil) != (i > 0) || (got.Step == nil) != (i > 0) {
			t.Errorf("line %d is %s: %+v %v", i, line, got, err)
		}
	}
	table, err := csv.NewReader(strings.NewReader(written(report.CSV, rows))).ReadAll()
	if err != nil || len(table) != 5 {
		t.Fatalf("%d records, %v", len(table), err)
	}
	field := func(i int, name string) string {
		for c, head := range table[0] {
			if head == name {
				return table[i+1][c]
			}
		}
		t.Fatalf("there is no field %s", name)
		return ""
	}
	if field(0, "used") != "4" || field(0, "step_admitted") != "3" || field(0, "step_denied") != "" || field(1, "used") != "" || field(1, "step_admitted") != "" {
		t.Errorf("the records are %q", table)
	}
	if got := field(1, "key"); got != "'"+names[1] {
		t.Errorf("a formula is written as %q", got)
	}
	text := written(report.Markdown, rows)
	if n := strings.Count(text, "\n| "); n != 5 || !strings.Contains(text, "At 2026-11-20 09:00:00.000 UTC") || !strings.Contains(text, "| – |") || !strings.Contains(text, "last read 10") {
		t.Errorf("the table has %d rows:\n%s", n, text)
	}
	for line := range strings.Lines(text) {
		if n := strings.Count(line, " | "); strings.HasPrefix(line, "| ") && n != 10 {
			t.Errorf("%d columns in %q", n+1, line)
		}
	}
	if text := written(report.Markdown, rows[:1]); !strings.Contains(text, "Key `rl:a`, fixed-window, limit 10 in 1 m.") {
		t.Errorf("one key's table is\n%s", text)
	}
	if f, err := report.ReadFormat("xml"); err == nil || !strings.Contains(err.Error(), "jsonl, csv or md") {
		t.Errorf("xml is %q, %v", f, err)
	}
}
