package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/internal/servertest"
)

// BenchmarkScreen measures what the program costs while it shows a dashboard in a real
// terminal of 160x48: processor time as a share of one core, and its memory. One
// iteration is twenty seconds of watching.
func BenchmarkScreen(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("SKIPPED: the cost of a process is read from /proc")
	}
	for _, bc := range []struct {
		name      string
		perSecond int // requests that arrive, over ten keys
		window    string
	}{
		{"idle", 0, "30m"}, // nothing arrives, and a window this long hardly moves
		{"ten live keys", 20, "10s"},
		{"2000 requests a second", 2000, "10s"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			s := startRedis(b)
			stop := s.traffic(b, bc.perSecond)
			defer stop()
			screenCosts(b, fmt.Sprintf("%s --redis %s --watch 'bench:*' --limit 100000/%s", program, s.URL(), bc.window), "bench:9")
		})
	}
	b.Run("the demo", func(b *testing.B) { screenCosts(b, program, "video:encode") })
}

// screenCosts tells what a command takes that shows a text, from then on.
func screenCosts(b *testing.B, command, text string) {
	b.Helper()
	term := openTerminal(b, 160, 48)
	term.run("%s", command)
	term.wait("LIVE", text)
	pid := term.child()
	const settling, span = 8 * time.Second, 20 * time.Second
	time.Sleep(settling)
	for b.Loop() {
		before, started := processorTime(b, pid), time.Now()
		time.Sleep(span)
		b.ReportMetric(100*(processorTime(b, pid)-before).Seconds()/time.Since(started).Seconds(), "%core")
	}
	b.ReportMetric(float64(resident(b, pid))/(1<<20), "MB")
	term.press("q")
	term.settled()
}

// BenchmarkFirstFrame measures from exec to the first rows of keys in a terminal of 160x48, in turns
// with a bare Bubble Tea program, and prints medians.
func BenchmarkFirstFrame(b *testing.B) {
	need(b, "script")
	bare := filepath.Join(b.TempDir(), "bare")
	if out, err := exec.Command("go", "build", "-o", bare, "./testdata/bare").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	s := startRedis(b)
	for i := range 30 {
		s.cli(b, "SET", fmt.Sprintf("rl:u%d", i), "1", "EX", "3000")
	}
	programs := []struct{ name, command, text string }{
		{"bare", bare, "bare"},
		{"lab", program + " lab", "most in any"},
		{"server", program + " --redis " + s.URL() + " --watch 'rl:*' --limit 100/1m", "rl:u"},
		{"demo", program, "api:search"},
	}
	took := make([][]float64, len(programs))
	for b.Loop() {
		for range 9 {
			for i, p := range programs {
				took[i] = append(took[i], firstFrame(b, p.command, p.text))
			}
		}
	}
	floor := 0.0
	for i, p := range programs {
		slices.Sort(took[i])
		median := took[i][len(took[i])/2]
		if b.ReportMetric(median, p.name+"-ms"); i == 0 {
			floor = median
		} else {
			b.ReportMetric(median/floor, p.name+"/bare")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// firstFrame returns how many milliseconds a command takes until it has written a text to its terminal.
func firstFrame(b *testing.B, command, text string) float64 {
	b.Helper()
	ctx, stop := context.WithTimeout(b.Context(), servertest.Patience)
	defer stop()
	cmd := exec.CommandContext(ctx, "script", "-qfec", "stty rows 48 cols 160; exec "+command, "/dev/null")
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "XDG_STATE_HOME="+b.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var seen []byte
	buffer := make([]byte, 64<<10)
	for !bytes.Contains(seen, []byte(text)) {
		n, err := out.Read(buffer)
		seen = append(seen, buffer[:n]...)
		if err != nil {
			b.Fatalf("%s ended without %q: %v", command, text, err)
		}
	}
	took := time.Since(begun)
	_, _ = io.WriteString(in, "q")
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // what is measured has happened
	return float64(took.Microseconds()) / 1000
}

// child is the process id of the program in the terminal.
func (m *terminal) child() int {
	m.t.Helper()
	shell := strings.TrimSpace(m.tmux("display-message", "-p", "#{pane_pid}"))
	text, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%s/children", shell, shell))
	if err != nil {
		m.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		m.t.Fatal(err)
	}
	return pid
}

// processorTime is what a process has used of the processors so far.
func processorTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name of the program stands in brackets and can hold anything; of what follows
	// it, fields 12 and 13 are user and system time in ticks of 10 ms.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// resident is the memory that a process holds, in bytes.
func resident(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// traffic writes one entry into each of ten logs, and then perSecond more over all of
// them, ten times a second, until the returned function is called.
func (s redisServer) traffic(t testing.TB, perSecond int) (stop func()) {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, c) }()
	w := bufio.NewWriter(c)
	n := 0
	send := func(requests int) error {
		now := time.Now().UnixMilli()
		for range requests {
			fmt.Fprintf(w, "ZADD bench:%d %d %d-%d\r\n", n%10, now, now, n)
			n++
		}
		return w.Flush()
	}
	if err := send(10); err != nil {
		t.Fatal(err)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for perSecond > 0 {
			select {
			case <-done:
				return
			case <-tick.C:
				if send(perSecond/10) != nil {
					return
				}
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		c.Close()
	}
}
