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

const auditLines = `{"action":"a-1","outcome":"begun","at":"2026-01-02T03:04:05.000Z","server":"redis://h:1","key":"k"}
{"action":"a-1","request":"a-1.1","outcome":"admitted","server_us":7,"cost":2,"used":3}
{"action":"a-1","outcome":"ended","at":"2026-01-02T03:04:06.000Z"}
`

// TestAnActionIsFoundInAFilePutAside: the file grows too long between an action and its undo.
func TestAnActionIsFoundInAFilePutAside(t *testing.T) {
	a := &audit{path: filepath.Join(t.TempDir(), "audit[1].jsonl")}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(a.path, auditLines+strings.Repeat(strings.Repeat(" ", 1023)+"\n", maxAudit>>10))
	a.mu.Lock()
	err := a.rotate()
	a.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	put(a.path, "{\"action\":\"a-2\",\"outcome\":\"begun\"}\n{\"action\":\"a-1\",\"outco")
	f, err := a.find("a-1")
	if err != nil || !f.ended || f.first.Key != "k" || f.last.Action != "a-1" {
		t.Errorf("found %+v, %v", f, err)
	}
	if f, err := a.find("a-2"); err != nil || f.ended {
		t.Errorf("an action that has not ended: %+v, %v", f, err)
	}
	if _, err := a.find("a-3"); err == nil || !strings.Contains(err.Error(), "no action") {
		t.Errorf("an action that was never fired: %v", err)
	}
	if list := f.charges; len(list) != 1 || list[0] != (charge{at: 7, cost: 2, used: 3}) {
		t.Errorf("charged %+v", list)
	}
	put(a.asidePrefix()+"20261126T101500.jsonl.bak", "")
	if n := len(a.files()); n != 2 {
		t.Errorf("%d files are searched, want 2", n)
	}
}

// FuzzAudit reads an audit file that another program has written to.
func FuzzAudit(f *testing.F) {
	f.Add(auditLines, "a-1")
	f.Add("{\"action\":\"\"}\nnull\n[]\n{", "")
	f.Fuzz(func(t *testing.T, text, id string) {
		a := &audit{path: filepath.Join(t.TempDir(), "audit.jsonl")}
		if err := os.WriteFile(a.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := a.find(id)
		if err == nil && (found.first.Action != id || found.last.Action != id) {
			t.Errorf("%q finds %q and %q", id, found.first.Action, found.last.Action)
		}
		if list := found.charges; len(list) > strings.Count(text, "\n")+1 {
			t.Errorf("%d charges in %q", len(list), text)
		}
	})
}

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
	x := Extract{Since: limiter.InstantOf(now.Add(-time.Minute)), Server: "here",
		Shown: func(key string) bool { return key == "shown" || key == raw }}
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
	if text := string(AuditSince(name, x)); strings.Contains(text, "shown") || strings.Contains(text, "hidden") ||
		!strings.Contains(text, "***") {
		t.Errorf("with --mask it is %s", text)
	}
	if AuditSince(filepath.Join(t.TempDir(), "none"), x) != nil {
		t.Error("a file that is not there has lines")
	}
}
