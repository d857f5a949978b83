package e2e

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ratescope/internal/servertest"
)

// TestAFaultLeavesTheTerminalAsItWas has each part of the screen panic in a real terminal:
// what is left is one sentence, a shell that can be typed in, and no trace on the screen.
func TestAFaultLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	need(t, "tmux")
	crash := filepath.Join(t.TempDir(), "crash")
	if out, err := exec.Command("go", "build", "-o", crash, "./testdata/crash").CombinedOutput(); err != nil {
		t.Fatalf("the faulty program does not build: %v\n%s", err, out)
	}
	for _, tc := range []struct{ in, press, says string }{
		{"Update", "e", "a fault in Update"},
		{"View", "", "a fault in View"},
		{"Cmd", "Space", "a fault in a command"},
		{"Take", "", "a fault in a source"},
	} {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t, 100, 30)
			term.run("TMPDIR=%s %s %s; echo code''=$?.", t.TempDir(), crash, tc.in)
			if tc.press != "" {
				term.wait("LIVE")
				term.press(tc.press)
			}
			screen := term.wait("code=1.", tc.says, "please report it")
			if strings.Contains(screen, "goroutine") || strings.Contains(screen, ".go:") {
				t.Errorf("there is a trace on the screen:\n%s", screen)
			}
			term.settled()
		})
	}
}

// TestAClosedTerminalEndsTheProgram takes the terminal away: nothing goes on without it.
func TestAClosedTerminalEndsTheProgram(t *testing.T) {
	t.Parallel()
	term := openTerminal(t, 100, 30)
	term.run("%s", program)
	term.wait("LIVE")
	shell := strings.TrimSpace(term.tmux("display-message", "-p", "#{pane_pid}"))
	out, err := exec.Command("ps", "-o", "pid=", "--ppid", shell).Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	term.tmux("kill-server")
	servertest.Await(t, "the program has ended", func() bool { return syscall.Kill(pid, 0) != nil })
}
