// Package e2e drives the built program from outside, as its users do: as a command
// with its output and exit code, and on the screen of a real terminal (tmux), against
// a redis-server that the tests start. Keys are written with redis-cli alone, as other
// programs would write them.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/internal/servertest"
)

// program is the path of the built program.
var program string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ratescope-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "ratescope")
	cmd := exec.Command("go", "build", "-o", program, "../..")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the program does not build:", err)
		return 1
	}
	return servertest.Main(m)
}

// need skips the test when a program is missing, loudly, unless it has to be there.
func need(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("RATESCOPE_REQUIRE_REDIS") != "" {
		t.Fatalf("%s is not installed, and this run requires it", name)
	}
	t.Skipf("SKIPPED: %s is not installed; make test installs it", name)
}

// result is what one run of the program came to.
type result struct {
	out, err string
	code     int
	took     time.Duration
}

// environment is that of a fresh user: no settings, no server, audit files apart.
func environment(t testing.TB, extra ...string) []string {
	t.Helper()
	home := t.TempDir()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=xterm-256color", "LANG=C.UTF-8", "COLORTERM=truecolor",
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
	}
	return append(env, extra...)
}

// ratescope runs the program to its end in a fresh user's environment.
func ratescope(t testing.TB, args ...string) result {
	t.Helper()
	return ratescopeIn(t, environment(t), args...)
}

// ratescopeIn runs the program to its end.
func ratescopeIn(t testing.TB, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &errOut, env
	begun := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Errorf("ratescope %q: %v", args, errors.Join(err, ctx.Err())) // may be called from any goroutine
	}
	return result{out.String(), errOut.String(), cmd.ProcessState.ExitCode(), time.Since(begun)}
}

// ok fails unless the run ended well, and decodes its output into v when v is not nil.
func (r result) ok(t testing.TB, v any) {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit code %d, stderr %q, stdout %q", r.code, r.err, r.out)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal([]byte(r.out), v); err != nil {
		t.Fatalf("%v in %s", err, r.out)
	}
}

// sentence fails unless the run ended with that exit code, nothing on stdout, and one
// line on stderr that holds every one of the words.
func (r result) sentence(t testing.TB, code int, words ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	if r.out != "" {
		t.Errorf("stdout is not empty: %q", r.out)
	}
	line, rest, ended := strings.Cut(r.err, "\n")
	if !ended || rest != "" || !strings.HasPrefix(line, "ratescope: ") || len(line) < 20 {
		t.Errorf("stderr is not one sentence: %q", r.err)
	}
	for _, bad := range []string{"\x1b", "goroutine", "panic", "strconv", "%!"} {
		if strings.Contains(line, bad) {
			t.Errorf("the sentence holds %q: %q", bad, line)
		}
	}
	for _, word := range words {
		if !strings.Contains(line, word) {
			t.Errorf("the sentence does not say %q: %q", word, line)
		}
	}
}

// redisServer is a server of the test's own, with commands that must not fail.
type redisServer struct{ *servertest.Server }

// startRedis starts one on a free port; it ends with the test.
func startRedis(t testing.TB, args ...string) redisServer {
	t.Helper()
	return redisServer{servertest.Start(t, args...)}
}

// cli runs one command as servertest.Server.CLI does, and fails where the server answers with an error.
func (s redisServer) cli(t testing.TB, args ...string) string {
	t.Helper()
	text := s.CLI(args...)
	if strings.HasPrefix(text, "ERR ") || strings.HasPrefix(text, "WRONGTYPE ") {
		t.Fatalf("%q: %s", args, text)
	}
	return text
}

// now is the server's clock.
func (s redisServer) now(t testing.TB) time.Time {
	t.Helper()
	sec, micro, _ := strings.Cut(s.cli(t, "TIME"), "\n")
	a, err1 := strconv.ParseInt(sec, 10, 64)
	b, err2 := strconv.ParseInt(micro, 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return time.UnixMicro(a*1_000_000 + b)
}

// quietWindow is a window of about ten minutes whose last clock-aligned edge is half a minute away
// from now at least, and the next one four minutes, so that none passes during the test, on a machine
// that stands still now and then too.
func quietWindow(now time.Time) time.Duration {
	for w := 10 * time.Minute; ; w += time.Minute {
		start := time.UnixMilli(now.UnixMilli() / w.Milliseconds() * w.Milliseconds())
		if into := now.Sub(start); into > 30*time.Second && into < w-4*time.Minute {
			return w
		}
	}
}

// interrupt runs the program and sends SIGINT as soon as it has fired that many requests,
// by its audit file, which has two lines for each.
func interrupt(t *testing.T, requests int, args ...string) result {
	t.Helper()
	env := environment(t)
	cmd := exec.Command(program, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &errOut, env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(2*servertest.Patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	servertest.Await(t, "requests are fired", func() bool { return len(auditLines(t, env)) >= 2*requests })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // its exit code is looked at by the caller
	return result{out: out.String(), err: errOut.String(), code: cmd.ProcessState.ExitCode()}
}
