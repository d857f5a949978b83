package cmd_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ratescope/cmd"
	"ratescope/feed"
	"ratescope/feed/decode/decodetest"
	"ratescope/internal/servertest"
	"ratescope/model"
	"ratescope/model/report"
)

// runVariable makes the test's own program do what its arguments say, as ratescope does.
const runVariable = "RATESCOPE_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(runVariable) != "" {
		os.Exit(cmd.Run("", os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// runFor runs ratescope until it ends, or until enough of what it prints satisfies done, and
// returns what it printed on both outputs.
func runFor(t *testing.T, done func(printed string) bool, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*servertest.Patience)
	defer cancel()
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Env = append(os.Environ(), runVariable+"=1", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	c.Dir = t.TempDir()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = c.Stdout
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	part := make([]byte, 64<<10)
	for ended := false; ; {
		n, err := out.Read(part)
		printed.Write(part[:n])
		if !ended && done != nil && done(printed.String()) {
			ended = true
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
		if err != nil {
			break
		}
	}
	if err := c.Wait(); err != nil && done == nil {
		t.Errorf("ratescope %s: %v\n%s", strings.Join(args, " "), err, &printed)
	}
	return printed.String()
}

// TestNoSecretIsTold holds that no value of a key that is no limiter is in anything that ratescope
// prints, records or serves when it is pointed at a server without a pattern or a rule.
func TestNoSecretIsTold(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	p := decodetest.Populate(s.Now(), 5000, 2)
	if err := client.ConfigSet(t.Context(), "slowlog-log-slower-than", "0").Err(); err != nil { // every command is a slow one
		t.Fatal(err)
	}
	p.Fill(t, client)
	debug, config := filepath.Join(t.TempDir(), "debug.jsonl"), filepath.Join(t.TempDir(), "config.yaml")
	server := []string{"--redis", s.URL(), "--budget", "50%", "--limit", "100/1m", "--debug", debug}
	args := func(command ...string) []string { return append(command, server...) }

	outputs := map[string]string{}
	for _, command := range [][]string{
		{"snapshot"}, {"snapshot", "--json"}, {"snapshot", "--likely"}, {"snapshot", "--json", "--likely"},
		{"identify"}, {"identify", "--json"}, {"identify", "--yaml"},
	} {
		outputs[strings.Join(command, " ")] = runFor(t, nil, args(command...)...)
	}
	outputs["identify --write"] = runFor(t, nil, args("identify", "--write", "--yes", "--config", config)...)
	recording := filepath.Join(t.TempDir(), "seen.jsonl")
	outputs["record"] = runFor(t, nil, args("record", recording, "--for", "2s")...)
	outputs["--plain"] = runFor(t, func(printed string) bool { return strings.Count(printed, "\n") > 20 }, args("--plain", "--refresh", "50ms")...)
	outputs["export"] = runFor(t, func(printed string) bool {
		_, address, ok := strings.Cut(printed, "http://")
		if ok = ok && strings.Contains(address, "\n"); ok {
			outputs["the metrics"] = metricsOf(t, "http://"+strings.TrimSpace(address), "\nratescope_key_used{")
		}
		return ok
	}, args("export", "--listen", "localhost:0")...)
	r, err := feed.NewRedis(feed.Options{URLs: []string{s.URL()}, Budget: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var batch model.Batch
	if batch, err = feed.OnceWithin(t.Context(), r, feed.Bounds{}); err != nil {
		t.Fatal(err)
	}
	file, err := report.Export(t.TempDir(), batch, report.Options{Likely: true})
	if err != nil {
		t.Fatal(err)
	}
	for what, name := range map[string]string{"the recording": recording, "the written configuration": config, "the debug log": debug, "the exported file": file} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		outputs[what] = string(content)
	}

	if len(p.Secrets) < 1000 {
		t.Fatalf("only %d secrets", len(p.Secrets))
	}
	secret := make(map[string]bool, len(p.Secrets))
	for _, x := range p.Secrets {
		secret[x] = true
	}
	words := regexp.MustCompile(`s3cr3t\w*|[0-9]{9,}`)
	for name, text := range outputs {
		if len(text) < 50 {
			t.Errorf("%s printed only %q", name, text)
		}
		printed := 0
		for _, word := range words.FindAllString(text, -1) {
			if secret[word] || strings.HasPrefix(word, "s3cr3t") {
				if printed++; printed <= 3 {
					t.Errorf("%s tells %q", name, word)
				}
			}
		}
	}
	if text := outputs["snapshot"]; !strings.Contains(text, "rl:203.0.") {
		t.Errorf("no limiter is listed: %.300s", text)
	}
}

// metricsOf asks an exporter until it tells of a hundred keys' series, and returns the answer.
func metricsOf(t *testing.T, url, series string) (text string) {
	t.Helper()
	servertest.Await(t, fmt.Sprintf("%s at %s", series, url), func() bool {
		answer, err := http.Get(url)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		content, err := io.ReadAll(answer.Body)
		text = string(content)
		return err == nil && strings.Count(text, series) > 100
	})
	return text
}
