package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ratescope/internal/servertest"
)

// output keeps what a program writes, for a test that reads it meanwhile.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns what was written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestServices runs what a service manager starts without HOME, without a terminal and in an
// empty folder: each begins, SIGTERM ends it with 0, and nothing is left but what it was to write.
func TestServices(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	s.cli(t, "SET", "rl:a", "3", "EX", "3600")
	for name, c := range map[string]struct {
		args  []string
		ready func(says, folder string) bool
		leave []string
	}{
		"export": {[]string{"export", "--listen", "127.0.0.1:0"}, func(says, _ string) bool { return strings.Contains(says, "the metrics are on") }, nil},
		"watch":  {[]string{"watch"}, func(says, _ string) bool { return says != "" }, nil},
		"record": {[]string{"record", "kept.jsonl.gz"}, func(_, folder string) bool {
			info, err := os.Stat(filepath.Join(folder, "kept.jsonl.gz")) // empty while it is found out whether it can be made
			return err == nil && info.Size() > 0
		}, []string{"kept.jsonl.gz"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			var says output
			cmd := exec.Command(program, append(c.args, "--redis", s.URL(), "--watch", "rl:*", "--limit", "100/1h")...)
			cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = []string{"PATH=/nowhere"}, folder, &says, &says
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			kill := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
			defer kill.Stop()
			servertest.Await(t, "the begin of "+name, func() bool { return c.ready(says.String(), folder) })
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 0 || strings.Contains(says.String(), "goroutine ") {
				t.Errorf("SIGTERM ends it with %d: %s", code, &says)
			}
			left, err := os.ReadDir(folder)
			if err != nil || len(left) != len(c.leave) {
				t.Errorf("it left %v in its folder, want %v (%v)", left, c.leave, err)
			}
		})
	}
}

// TestNoHome: without a folder for the audit file nothing is fired, and the sentence says what
// to set.
func TestNoHome(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	folder := t.TempDir()
	cmd := exec.Command(program, "fire", "rl:a", "-n", "1", "--redis", s.URL(), "--algorithm", "fixed-window", "--limit", "10/1h", "--allow-inject", "--create")
	cmd.Env, cmd.Dir = []string{"PATH=/nowhere"}, folder
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "set HOME or XDG_STATE_HOME") {
		t.Errorf("%v: %s", err, out)
	}
	if keys := s.cli(t, "KEYS", "*"); keys != "" {
		t.Errorf("it fired all the same: %s", keys)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("it left %v in its folder (%v)", left, err)
	}
}

// TestABrokenConfigurationIsNotUsed: while a service and a dashboard run, a configuration that is broken is named and the one before
// stays, and one that is mended is used.
func TestABrokenConfigurationIsNotUsed(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	h := newHook(t)
	config := filepath.Join(t.TempDir(), "config.yaml")
	write := func(limit string) {
		servertest.WriteFile(t, config, "rules: [{match: 'rl:*', algorithm: fixed-window, limit: "+limit+"}]\nalerts:\n"+
			"  - {name: full, when: utilization >= 1, clear: 200ms, webhook: '"+h.URL+"'}\n")
	}
	write("10/1h")
	var says output
	cmd := exec.Command(program, "watch", "--alerts", "--redis", s.URL(), "--config", config)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(t), &says, &says
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	said := func(text string) func() bool { return func() bool { return strings.Contains(says.String(), text) } }
	servertest.Await(t, "the server to answer", said("answers"))
	term := openTerminal(t, 180, 40)
	term.run("%s --redis %s --config %s", program, s.URL(), config)
	term.wait("LIVE")
	write("ten an hour")
	term.wait("configuration has changed and is not used: ", `limit "ten an hour"`)
	servertest.Await(t, "the broken one to be named", said("the configuration has changed and is not used: "))
	s.cli(t, "SET", "rl:a", "10", "EX", "3600")
	servertest.Await(t, "the alert by the rules before", said("rl:a is at 100 % of 10"))
	write("20/1h")
	servertest.Await(t, "the mended one to be used", said("the configuration has changed and is in use"))
	servertest.Await(t, "the end by its rules", said("full: it is over at rl:a"))
	if strings.Contains(says.String(), "goroutine ") {
		t.Errorf("it says\n%s", &says)
	}
}
