package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/internal/servertest"
)

// terminal is a real terminal with a shell in it, kept by tmux.
type terminal struct {
	t      testing.TB
	socket string
	env    []string
}

// openTerminal starts a shell in a terminal of that size. It ends with the test.
func openTerminal(t testing.TB, width, height int) *terminal {
	t.Helper()
	need(t, "tmux")
	// The path of a socket must be short, so not the test's own folder.
	dir, err := os.MkdirTemp("", "tmux")
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, socket: filepath.Join(dir, "s"), env: environment(t)}
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", term.socket, "kill-server").Run()
		os.RemoveAll(dir)
	})
	args := []string{"-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height)}
	for _, e := range term.env {
		args = append(args, "-e", e)
	}
	term.tmux(append(args, "sh")...)
	term.tmux("set", "-g", "status", "off")
	term.run("PS1='READY''> '; clear") // what is typed does not read as the prompt
	term.wait("READY>")
	return term
}

func (m *terminal) tmux(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", m.socket}, args...)...)
	cmd.Env = append(m.env, "TMUX=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %q: %v %s", args, err, out)
	}
	return string(out)
}

// run types a command line into the shell.
func (m *terminal) run(format string, args ...any) {
	m.t.Helper()
	m.tmux("send-keys", "-l", fmt.Sprintf(format, args...))
	m.tmux("send-keys", "Enter")
}

// press sends keys by their names in tmux, as "Space", "Up", "C-c" or "q".
func (m *terminal) press(keys ...string) {
	m.t.Helper()
	m.tmux(append([]string{"send-keys"}, keys...)...)
}

// screen is what stands on the screen, blanks at the ends of lines cut.
func (m *terminal) screen() string {
	m.t.Helper()
	return m.tmux("capture-pane", "-p")
}

// wait polls the screen until it holds all of the words, and returns it.
func (m *terminal) wait(words ...string) string {
	m.t.Helper()
	var screen string
	deadline := time.Now().Add(servertest.Patience)
	for {
		screen = m.screen()
		missing := ""
		for _, w := range words {
			if !strings.Contains(screen, w) {
				missing = w
			}
		}
		if missing == "" {
			return screen
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("after %v the screen does not say %q:\n%s", servertest.Patience, missing, screen)
		}
		time.Sleep(15 * time.Millisecond) // about as long as tmux takes to say what is on the screen
	}
}

// pressUntil presses a key again and again until the screen holds all of the words.
func (m *terminal) pressUntil(key string, words ...string) {
	m.t.Helper()
	servertest.Await(m.t, fmt.Sprintf("%s leads to %q", key, words), func() bool {
		m.press(key)
		screen := m.screen()
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(screen, w) })
	})
}

// arm arms firing.
func (m *terminal) arm() {
	m.t.Helper()
	m.press("!")
	m.wait("ARMED ")
}

// fireOne fires one request by its ticket, calls confirm before it is confirmed, and returns when it has done
// what it should.
func (m *terminal) fireOne(what string, confirm func(), done func() bool) {
	m.t.Helper()
	m.press("Space")
	m.wait("will do", "EVALSHA")
	confirm()
	m.press("Enter")
	servertest.Await(m.t, what, done)
}

// row returns the line of the key table that is about that key: it stands in the frame
// at the left.
func row(screen, name string) string {
	for l := range strings.Lines(screen) {
		cells, framed := strings.CutPrefix(l, "│")
		if cells, _, _ = strings.Cut(cells, "│"); framed && strings.Contains(cells, name) {
			return cells
		}
	}
	return ""
}

// mode says whether the terminal is in a mode that a program switches on: the
// alternate screen, a hidden cursor, or reports of the mouse.
func (m *terminal) mode() string {
	m.t.Helper()
	return strings.TrimSpace(m.tmux("display-message", "-p", "alternate=#{alternate_on} cursor=#{cursor_flag} mouse=#{mouse_any_flag}"))
}

// plainMode is the mode of a terminal in order.
const plainMode = "alternate=0 cursor=1 mouse=0"

// settled says that a shell is back on the screen, reads what is typed and shows it.
func (m *terminal) settled() {
	m.t.Helper()
	servertest.Await(m.t, "the terminal is as it was and the shell waits", func() bool {
		return m.mode() == plainMode && strings.HasSuffix(strings.TrimRight(m.screen(), "\n "), "READY>")
	})
	m.run("echo $((6*7))-answers; stty -a | tr ' ' '\\n' | grep -x -e -echo -e -icanon")
	screen := m.wait("42-answers\n")
	if strings.Contains(screen, "\n-echo") || strings.Contains(screen, "\n-icanon") {
		m.t.Errorf("the terminal is left raw:\n%s", screen)
	}
}
