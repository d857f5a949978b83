package cmd

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ratescope/feed/connect"
	"ratescope/tui/shell"
)

// TestDebugLog writes a line a message and a line a round trip, for the owner alone, and goes on
// with a log that is there.
func TestDebugLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "debug.jsonl")
	for range 2 {
		d, err := openDebugLog(name, debugLimit)
		if err != nil {
			t.Fatal(err)
		}
		d.Message(shell.Timing{Message: "tea.KeyPressMsg", Update: 1500 * time.Microsecond, View: 20 * time.Microsecond})
		d.RoundTrip(connect.RoundTrip{Server: "localhost:6379", Took: time.Millisecond})
		d.RoundTrip(connect.RoundTrip{Server: "localhost:6379", Commands: map[string]int{"pttl": 2, "zcard": 1}, Took: 250 * time.Microsecond, Failed: "NOPERM"})
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		d.Message(shell.Timing{Message: "after its end"})
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Errorf("the file is %v %v", info.Mode(), err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := `,"level":"INFO","msg":"message","type":"tea.KeyPressMsg","update_ms":1.5,"view_ms":0.02}
,"level":"INFO","msg":"round trip","server":"localhost:6379","commands":null,"latency_ms":1,"failed":""}
,"level":"INFO","msg":"round trip","server":"localhost:6379","commands":{"pttl":2,"zcard":1},"latency_ms":0.25,"failed":"NOPERM"}
`
	if got := regexp.MustCompile(`(?m)^{"time":"[^"]*"`).ReplaceAllString(string(content), ""); got != want+want {
		t.Errorf("the log is\n%swant twice\n%s", content, want)
	}
}

// TestDebugLogIsBounded: it stops below its limit, says so to the user, and a full one is refused.
func TestDebugLogIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "debug.jsonl")
	const limit = 10_000
	d, err := openDebugLog(name, limit)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		d.Message(shell.Timing{Message: fmt.Sprintf("message %d", i), Update: time.Millisecond})
	}
	if err := d.Close(); err == nil || !strings.Contains(err.Error(), "is full: name another file") {
		t.Errorf("the user is told %v", err)
	}
	content, err := os.ReadFile(name)
	if err != nil || len(content) > limit || len(content) < limit/2 || !strings.HasSuffix(string(content), "}\n") {
		t.Errorf("the file has %d bytes (%v) of at most %d, and ends in %q", len(content), err, limit, content[max(len(content)-9, 0):])
	}
	if err := os.WriteFile(name, make([]byte, limit), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openDebugLog(name, limit); err == nil || !strings.Contains(err.Error(), "remove it or name another file") {
		t.Errorf("a full log: %v", err)
	}
	for name, want := range map[string]string{"/dev/null": "no regular file", t.TempDir(): "directory"} {
		if _, err := openDebugLog(name, debugLimit); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
