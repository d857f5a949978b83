package fire

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
)

// TestAuditSince hands on what this process wrote and what is about the same server and keys: the
// file is of everything that was fired from this machine.
func TestAuditSince(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	at := now.Format(stamp)
	raw := "bytes\xff"
	var file []byte
	for _, e := range []entry{
		{At: now.Add(-time.Hour).Format(stamp), Action: "earlier", Server: "here", Key: "shown"},
		{At: at, Action: "taken", Server: "here", Key: "shown", Before: []savedKey{{Key: "shown", Dump: []byte("s3cr3t")}}},
		{At: at, Action: "other key", Server: "here", Key: "hidden"},
		{At: at, Action: "other server", Server: "there", Key: "shown"},
		{At: at, Action: "own", Server: "there", Key: "hidden", PID: os.Getpid()},
		{At: at, Action: "quoted", Server: "here", Key: strconv.Quote(raw), KeyQuoted: true},
		{At: at, Action: "arming", Server: "here", Outcome: armed},
		{At: at, Action: "application", URL: "http://elsewhere"},
	} {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		file = append(append(file, line...), '\n')
	}
	file = append(file, "no JSON\n"...)
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	x := Extract{Since: limiter.InstantOf(now.Add(-time.Minute)), Server: "here", Shown: func(key string) bool { return key == "shown" || key == raw }}
	var actions []string
	for line := range strings.Lines(string(AuditSince(name, x))) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || strings.Contains(line, "s3cr3t") {
			t.Fatalf("%s: %v", line, err)
		}
		actions = append(actions, e.Action)
	}
	if got := strings.Join(actions, ", "); got != "taken, own, quoted, arming" {
		t.Errorf("handed on are %s", got)
	}
	x.Mask = true
	if text := string(AuditSince(name, x)); strings.Contains(text, "shown") || strings.Contains(text, "hidden") || !strings.Contains(text, "***") {
		t.Errorf("with --mask it is %s", text)
	}
	if AuditSince(filepath.Join(t.TempDir(), "none"), x) != nil {
		t.Error("a file that is not there has lines")
	}
}
