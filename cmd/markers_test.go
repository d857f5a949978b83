package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratescope/model"
	"ratescope/model/record"
	"ratescope/model/report"
	"ratescope/tui/tuitest"
)

// TestReplayPrintsEvents of a capsule: what its recording tells, its alerts and audit lines, and the
// markers beside it, by time, in every format.
func TestReplayPrintsEvents(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	feed, board := tuitest.NewFeed(begin), &model.Board{}
	tail := record.NewTail(record.Header{By: "test"}, 10*time.Minute, 1<<20)
	for passed := time.Duration(0); passed <= 30*time.Second; passed += tuitest.Refresh {
		b := feed.Advance(begin.Add(passed))
		board.Apply(b)
		if err := tail.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	ms := func(d time.Duration) int64 { return tail.Begin().Add(d).Millis() }
	key := report.Text("login:otp")
	audited := tail.Begin().Add(4 * time.Second).Add(-board.Server.Offset).Time().UTC().Format("2006-01-02T15:04:05.000000Z")
	name := filepath.Join(t.TempDir(), "incident.zip")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	capsule := report.Capsule{
		By: "test", Made: begin, Begin: tail.Begin(), Board: board, Recording: tail,
		Alerts: []report.Alert{{Alert: "full", State: report.Firing, Severity: "page", Key: &key, At: ms(2 * time.Second)}, {Alert: "long ago", State: report.Firing, At: 5}},
		Audit: []byte(`{"at":"` + audited + `","action":"1","request":"","key":"login:otp","outcome":"begun","change":"free"}` + "\n" +
			`{"at":"` + audited + `","action":"2","request":"2-1","key":"login:otp","outcome":"pending"}` + "\nno line\n"),
	}
	if capsule.Write(out) != nil || out.Close() != nil {
		t.Fatal("the capsule cannot be written")
	}
	marked, err := record.EncodeMarkers([]record.Marker{{At: tail.Begin().Add(3 * time.Second), Kind: record.MarkerSet, Key: "login:otp", Text: "=the |peak|"}, {At: tail.Begin().Add(5 * time.Second), Kind: record.MarkerSet, Key: "other"}})
	if err != nil || os.WriteFile(name+record.MarkersExtension, marked, 0o600) != nil {
		t.Fatal(err)
	}

	r := call(t, "replay", name, "--events", "--format", "csv", "--key", "login:otp")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != 0 || lines[0] != "time,at_ms,kind,key,text" {
		t.Fatalf("exit code %d, %s%s", r.code, r.out, r.err)
	}
	var kinds []string
	for _, line := range lines[1:] {
		if fields := strings.Split(line, ","); fields[3] != "login:otp" {
			t.Errorf("of another key: %s", line)
		} else if fields[2] != "event" {
			kinds = append(kinds, strings.Join(fields[2:], ","))
		}
	}
	want := "alert,login:otp,alert full (page) is firing|marker,login:otp,'=the |peak||audit,login:otp,was changed from here: free"
	if got := strings.Join(kinds, "|"); got != want || len(lines) < 4 {
		t.Errorf("the rows are\n%s\nwant\n%s\n%s", got, want, r.out)
	}
	if r := call(t, "replay", name, "--events", "--format", "md"); r.code != 0 || !strings.Contains(r.out, `=the \|peak\|`) || !strings.Contains(r.out, "is throttled") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
	if r := call(t, "replay", name, "--events", "--format", "jsonl", "--mask"); r.code != 0 || !strings.Contains(r.out, `"kind":"marker"`) || strings.Contains(r.out, "login:otp") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
	call(t, "replay", name, "--events").sentence(t, 2, "--events", "--format")
	call(t, "replay", name, "--events", "--format", "csv", "--at", "5s").sentence(t, 2, "--at")
	if err := os.WriteFile(name+record.MarkersExtension, append(marked, "x\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, "replay", name, "--events", "--format", "csv").sentence(t, 1, "line 3", "move the file away")
}
