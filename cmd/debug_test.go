package cmd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratescope/feed/connect"
)

// debugLines returns the lines of a debug log.
func debugLines(t *testing.T, name string) (list []debugLine) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var line debugLine
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", in.Text(), err)
		}
		list = append(list, line)
	}
	return list
}

// TestDebugLog writes a line a message and a line a round trip, for the owner alone, and goes on
// with a log that is there.
func TestDebugLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "debug.jsonl")
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for range 2 {
		d, err := openDebugLog(name, debugLimit, func() time.Time { return at })
		if err != nil {
			t.Fatal(err)
		}
		d.Message("tea.KeyPressMsg", 1500*time.Microsecond, 20*time.Microsecond)
		d.RoundTrip(connect.RoundTrip{Server: "localhost:6379", Took: time.Millisecond})
		d.RoundTrip(connect.RoundTrip{Server: "localhost:6379", Commands: map[string]int{"pttl": 2, "zcard": 1}, Took: 250 * time.Microsecond, Failed: "NOPERM"})
		if said := d.Close() + d.Close(); said != "" {
			t.Error(said)
		}
		d.Message("after its end", 0, 0)
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Errorf("the file is %v %v", info.Mode(), err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"at":"2026-11-22T09:00:00.000000Z","message":"tea.KeyPressMsg","update_ms":1.5,"view_ms":0.02}
{"at":"2026-11-22T09:00:00.000000Z","server":"localhost:6379","connected":true,"latency_ms":1}
{"at":"2026-11-22T09:00:00.000000Z","server":"localhost:6379","commands":{"pttl":2,"zcard":1},"latency_ms":0.25,"failed":"NOPERM"}
`
	if string(content) != want+want {
		t.Errorf("the log is\n%swant twice\n%s", content, want)
	}
}

// TestDebugLogIsBounded: it stops below its limit, says so in the file and to the user, and a full
// one is refused.
func TestDebugLogIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "debug.jsonl")
	const limit = 10_000
	d, err := openDebugLog(name, limit, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		d.Message(fmt.Sprintf("message %d", i), time.Millisecond, time.Millisecond)
	}
	if said := d.Close(); !strings.Contains(said, "has reached 10.0 kB and ends there") {
		t.Errorf("the user is told %q", said)
	}
	info, err := os.Stat(name)
	if err != nil || info.Size() > limit {
		t.Errorf("the file has %d bytes (%v), more than %d", info.Size(), err, limit)
	}
	lines := debugLines(t, name)
	if last := lines[len(lines)-1]; !strings.Contains(last.Ended, "10.0 kB") || lines[len(lines)-2].Message == "" {
		t.Errorf("its last line is %+v", last)
	}
	if err := os.WriteFile(name, make([]byte, limit), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openDebugLog(name, limit, time.Now); err == nil || !strings.Contains(err.Error(), "remove it or name another file") {
		t.Errorf("a full log: %v", err)
	}
	for name, want := range map[string]string{"/dev/null": "no regular file", t.TempDir(): "directory"} {
		if _, err := openDebugLog(name, debugLimit, time.Now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
