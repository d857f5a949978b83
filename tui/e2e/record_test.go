package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/internal/servertest"
	"ratescope/model/record"
)

// arrivals returns how many arrivals of a key a recording holds so far, while it goes on too.
func arrivals(t *testing.T, file, key string) (n int64) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		return 0 // it has not begun
	}
	defer f.Close()
	in, err := record.NewReader(f)
	if err != nil {
		return 0
	}
	for {
		b, err := in.Next()
		if err != nil {
			return n
		}
		for _, r := range b.Readings {
			if r.Key != key {
				continue
			}
			for _, a := range r.Arrivals {
				n += a.N
			}
		}
	}
}

// TestRecordAndReplay records what other programs do on a server, takes the server away,
// and looks at the same figures again.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	window := quietWindow(s.now(t))
	hit := func(n int) {
		for range n {
			now := strconv.FormatInt(s.now(t).UnixMicro(), 10)
			s.cli(t, "ZADD", "rl:alice", now, now)
		}
	}
	hit(4)
	file := filepath.Join(t.TempDir(), "seen.jsonl.gz")
	cmd := exec.Command(program, "record", file, "--redis", s.URL(), "--watch", "rl:*", "--limit", "20/"+window.String())
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &errOut, environment(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(3*servertest.Patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	servertest.Await(t, "the recording has begun", func() bool { return arrivals(t, file, "rl:alice") == 4 })
	hit(9)
	servertest.Await(t, "the recording has the rest", func() bool { return arrivals(t, file, "rl:alice") == 13 })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || out.Len() > 0 || !strings.Contains(errOut.String(), "recorded 1 key in ") {
		t.Fatalf("exit code %d, stdout %q, stderr %q", code, &out, &errOut)
	}
	var snap snapshot
	ratescope(t, "snapshot", "--json", "--redis", s.URL(), "--watch", "rl:*", "--limit", "20/"+window.String()).ok(t, &snap)
	if k := snap.find(t, "rl:alice"); *k.Used != 13 {
		t.Fatalf("used is %s, want 13", number(k.Used))
	}
	for line := range strings.Lines(s.cli(t, "INFO", "commandstats")) {
		name, stats, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if calls, _, _ := strings.Cut(stats, ","); name == "zadd" && calls != "13" || strings.HasPrefix(name, "set") || strings.HasPrefix(name, "del") || strings.HasPrefix(name, "eval") && !strings.HasSuffix(name, "_ro") {
			t.Errorf("recording is not harmless: %s", line)
		}
	}
	s.Kill()

	again := ratescope(t, "record", file, "--redis", "redis://127.0.0.1:1")
	again.sentence(t, 2, "seen.jsonl.gz", "--force")
	text := ratescope(t, "replay", file, "--plain", "--speed", "50")
	text.ok(t, nil)
	if !strings.Contains(text.out, "1 key: 0 throttled") || !strings.HasSuffix(text.out, "end of the recording\n") {
		t.Errorf("in plain text it is told as %q", text.out)
	}

	term := openTerminal(t, 120, 30)
	term.run("%s replay %s --speed 2", program, file)
	term.wait("REPLAY 0:", "rl:alice")
	screen := term.wait("end of recording", "13/20")
	if !strings.Contains(screen, "this is a recording") {
		t.Errorf("the screen does not say why nothing can be fired:\n%s", screen)
	}
	term.press("Space")
	term.wait("this is a recording: nothing can be fired at it")
	term.pressUntil("R", "REPLAY 0:00", "×2") // it goes on at once: pressed again, it begins again
	term.press("R", "p")
	term.wait("paused")
	term.pressUntil("Left", "REPLAY 0:00", "paused", "4/20")
	term.pressUntil("Right", "13/20")
	term.press("q")
	term.settled()
}

// TestRecordIsInterrupted: what was recorded until then is whole.
func TestRecordIsInterrupted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "demo.jsonl")
	cmd := exec.Command(program, "record", file)
	var errOut bytes.Buffer
	cmd.Stderr, cmd.Env = &errOut, environment(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	servertest.Await(t, "something is recorded", func() bool {
		text, _ := os.ReadFile(file)
		return bytes.Count(text, []byte(`{"b":`)) > 8
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(errOut.String(), "recorded 15 keys") {
		t.Errorf("exit code %d, stderr %q", code, &errOut)
	}
	text, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(text, []byte(`{"end":`)) {
		t.Errorf("the file does not end as one that was finished: %v", err)
	}
	cut := filepath.Join(t.TempDir(), "cut.jsonl")
	if err := os.WriteFile(cut, text[:len(text)-300], 0o600); err != nil {
		t.Fatal(err)
	}
	r := ratescope(t, "replay", cut, "--plain", "--speed", "100")
	r.ok(t, nil)
	if !strings.HasSuffix(r.out, "the file was cut off\n") {
		t.Errorf("of a file that was cut off it says %q", r.out)
	}
}

func TestWhatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, word := range map[string]string{
		"": "no recording", "hello\n": "no recording", `{"recording":{"version":7,"by":"ratescope 9"}}` + "\n": "version 7",
		`{"recording":{"version":1}}` + "\n": "nothing to show",
	} {
		name := filepath.Join(dir, "x.jsonl")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ratescope(t, "replay", name).sentence(t, 2, "x.jsonl", word)
	}
	ratescope(t, "replay", filepath.Join(dir, "nothere")).sentence(t, 2, "nothere")
	ratescope(t, "record", filepath.Join(dir, "no", "folder")).sentence(t, 1, "folder")
	ratescope(t, "record", filepath.Join(dir, "y"), "--redis", "redis://127.0.0.1:1").sentence(t, 4, "127.0.0.1")
	if _, err := os.Stat(filepath.Join(dir, "y")); err == nil {
		t.Error("a recording of nothing leaves a file")
	}
}
