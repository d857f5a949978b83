package session_test

import (
	"os/exec"
	"strings"
	"testing"

	"ratescope/model"
	"ratescope/tui/session"
)

// TestLinesAreSafe: in bash every name is one argument, byte by byte.
func TestLinesAreSafe(t *testing.T) {
	for _, name := range []string{"rl:a", "a b", "it's", "$(id)`id`;rm -rf *", "\x1b]0;x\a", "\xff\xfe1", "new\nline\\'", "-n", "ü\x00end"} {
		quoted := session.ShellQuote(name)
		for i := range len(quoted) {
			if quoted[i] < ' ' || quoted[i] > '~' {
				t.Errorf("%q: %q would be obeyed by a terminal", name, quoted)
			}
		}
		out, err := exec.Command("bash", "-c", "printf '%s' "+quoted).Output()
		want, _, _ := strings.Cut(name, "\x00") // no program has an argument with a NUL
		if err != nil {
			t.Skipf("SKIPPED: there is no bash: %v", err)
		}
		if string(out) != want && !strings.Contains(name, "\x00") {
			t.Errorf("%q: %s is %q in bash", name, quoted, out)
		}
	}
	k := &model.Watched{Reading: model.Reading{Key: "rl:a", Type: "zset"}}
	lines := session.Lines(k, model.Server{Target: "redis://h:6379/0", Role: "master"})
	for _, want := range []string{"redis-cli -u 'redis://h:6379/0' ZPOPMIN 'rl:a'\n", "redis-cli -u 'redis://h:6379/0' UNLINK 'rl:a'\n"} {
		if !strings.Contains(lines, want) {
			t.Errorf("there is no %q in\n%s", want, lines)
		}
	}
	k.Reading.Members, k.Reading.Type = []string{"a:1", "a:2"}, "string"
	if lines := session.Lines(k, model.Server{Target: "redis+sentinel://h:26379/m", Role: "cluster"}); strings.Contains(lines, "-u") || strings.Count(lines, "redis-cli -c UNLINK") != 2 || strings.Contains(lines, "ZPOPMIN") {
		t.Errorf("of a cluster it is\n%s", lines)
	}
}
