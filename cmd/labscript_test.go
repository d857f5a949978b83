package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// labPicture draws the lab as a text and returns it.
func labPicture(t *testing.T, args ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "lab.txt")
	if r := call(t, append([]string{"lab", "--picture", name, "--size", "140x42"}, args...)...); r.code != 0 {
		t.Fatalf("%d: %s", r.code, r.err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLabScript: a script is a lane beside the algorithms, with what it read and wrote. Requests of one millisecond are one
// member in it, so that it admits more than the log.
func TestLabScript(t *testing.T) {
	t.Parallel()
	text := labPicture(t, "--script", write(t, "log.lua", memberIsTime), "--limit", "10/10s", "--from", "35s")
	for _, want := range []string{"script log.lua ", "sliding log", "limit 10 in 10s", "most in any 10s: 28 of 10", "read   ZCARD rl:alice  → 10",
		"wrote  ZREMRANGEBYSCORE rl:alice 0 "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestLabScriptLesson: in a lesson, and in a counter-example that check saved, the script is told the limit that holds there.
func TestLabScriptLesson(t *testing.T) {
	t.Parallel()
	file, folder := write(t, "log.lua", memberIsTime), filepath.Join(t.TempDir(), "found")
	if text := labPicture(t, "fixed-edge", "--script", file, "--from", "1s"); !strings.Contains(text, "script log.lua") {
		t.Errorf("no lane in\n%s", text)
	}
	call(t, "check", file, "--limit", "4/10s", "--save", folder)
	text := labPicture(t, filepath.Join(folder, "over-admits.json"), "--script", file, "--limit", "4/10s", "--from", "20s")
	if !strings.Contains(text, "script log.lua") || !strings.Contains(text, "limit 4 in 10s") {
		t.Errorf("no lane in\n%s", text)
	}
	call(t, "lab", "fixed-edge", "--script", file, "--limit", "4/10s").sentence(t, 2, "10 in 10s")
}

// TestLabScriptFails: a script that fails, or does not end, says so in its lane; one that cannot be run is an error.
func TestLabScriptFails(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{"return nothing.x": "failed at request 1", "while true do end": "does not end"} {
		if text := labPicture(t, "--script", write(t, "bad.lua", body), "--from", "2s"); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", body, want, text)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--script", write(t, "bad.lua", "return (")}, 1, "not Lua"},
		{[]string{"--script", filepath.Join(t.TempDir(), "none.lua")}, 2, "none.lua"},
		{[]string{"--script", write(t, "log.lua", memberIsTime), "--limit", "ten"}, 2, "ten"},
		{[]string{"--script", write(t, "log.lua", memberIsTime), "--serve", "127.0.0.1:0"}, 2, "--serve"},
		{[]string{"--limit", "10/10s"}, 2, "--script"},
	} {
		call(t, append([]string{"lab"}, c.args...)...).sentence(t, c.code, c.says)
	}
}
