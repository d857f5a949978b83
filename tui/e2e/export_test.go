package e2e

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/internal/servertest"
)

// TestExport scrapes the program and ends it.
func TestExport(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	window := quietWindow(s.now(t))
	for range 3 {
		now := strconv.FormatInt(s.now(t).UnixMicro(), 10)
		s.cli(t, "ZADD", `rl:"a"`, now, now)
	}
	address := "localhost:" + strconv.Itoa(servertest.FreePort(t))
	cmd := exec.Command(program, "export", "--listen", address, "--redis", s.URL(), "--watch", "rl:*", "--limit", "12/"+window.String())
	var errOut bytes.Buffer
	cmd.Stderr, cmd.Env = &errOut, environment(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(2*servertest.Patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	var page string
	servertest.Await(t, "the key is told", func() bool {
		answer, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		page = string(text)
		return strings.Contains(page, "ratescope_key_used{")
	})
	for _, line := range []string{
		`ratescope_key_used{algorithm="sliding-log",key="rl:\"a\""} 3`, `ratescope_key_limit{algorithm="sliding-log",key="rl:\"a\""} 12`,
		`ratescope_key_utilization_ratio{algorithm="sliding-log",key="rl:\"a\""} 0.25`, `ratescope_key_next_admission_seconds{algorithm="sliding-log",key="rl:\"a\""} 0`,
		"ratescope_up 1", "ratescope_keys 1",
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("it does not tell %s:\n%s", line, page)
		}
	}
	if strings.Contains(page, "ratescope_key_denied{") {
		t.Error("it tells denials that were not recorded")
	}
	ratescope(t, "export", "--listen", address).sentence(t, 1, address)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || errOut.String() != "ratescope: the metrics are on http://127.0.0.1:"+address[len("localhost:"):]+"/metrics\n" {
		t.Errorf("exit code %d, stderr %q", code, &errOut)
	}
}
