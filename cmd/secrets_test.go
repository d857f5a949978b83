package cmd_test

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ratescope/cmd"
	"ratescope/feed"
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

// secretsText is keys that are no limiters; it says how they are written.
//
//go:embed testdata/secrets.txt
var secretsText string

// placeholders finds what differs from run to run in secretsText.
var placeholders = regexp.MustCompile(`\{(s|ms|us|sec|secret):([^{}]*)\}`)

// fillSecrets writes the keys of secretsText, and some of limiters that are known, and returns what no output may hold.
func fillSecrets(t *testing.T, s *servertest.Server) (secrets map[string]bool) {
	t.Helper()
	secrets = make(map[string]bool)
	now := s.Now()
	text := placeholders.ReplaceAllStringFunc(secretsText, func(word string) string {
		p := placeholders.FindStringSubmatch(word)
		if p[1] == "secret" {
			secrets[p[2]] = true
			return p[2]
		}
		later, err := time.ParseDuration(p[2])
		if err != nil {
			t.Fatal(err)
		}
		at := int64(now.Add(later))
		return map[string]string{
			"s": fmt.Sprint(at / 1e6), "ms": fmt.Sprint(at / 1e3), "us": fmt.Sprint(at), "sec": fmt.Sprintf("%.6f", float64(at)/1e6)}[p[1]]
	})
	for i := range 120 {
		text += fmt.Sprintf("SET rl:203.0.113.%d %d PX %d\n", i, 1+i%90, (800+i/2)*1000)
	}
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			fmt.Fprintf(conn, "%s\r\n", strings.TrimSpace(line))
		}
	}
	fmt.Fprint(conn, "QUIT\r\n")
	answers, err := io.ReadAll(conn)
	if at := bytes.Index(answers, []byte("-ERR")); err != nil || at >= 0 {
		t.Fatalf("%v: %.80s", err, answers[max(at, 0):])
	}
	return secrets
}

// TestNoSecretIsTold holds that no value of a key that is no limiter is in anything that ratescope
// prints, records or serves when it is pointed at a server without a pattern or a rule.
func TestNoSecretIsTold(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	client := s.Client()
	defer client.Close()
	if err := client.ConfigSet(t.Context(), "slowlog-log-slower-than", "0").Err(); err != nil { // every command is a slow one
		t.Fatal(err)
	}
	secrets := fillSecrets(t, s)
	folder := t.TempDir()
	recording, config := filepath.Join(folder, "seen.jsonl"), filepath.Join(folder, "config.yaml")
	server := []string{"--redis", s.URL(), "--budget", "50%", "--limit", "100/1m"}
	outputs, files := map[string]string{}, map[string]string{"the recording": recording, "the written configuration": config}
	var mu sync.Mutex // of outputs
	told := func(what, text string) {
		mu.Lock()
		defer mu.Unlock()
		outputs[what] = text
	}
	many := func(_ *testing.T, printed string) bool { return strings.Count(printed, "\n") > 20 }
	metrics := func(t *testing.T, printed string) bool {
		_, address, ok := strings.Cut(printed, "http://")
		if ok = ok && strings.Contains(address, "\n"); ok {
			told("the metrics", metricsOf(t, "http://"+strings.TrimSpace(address), "\nratescope_key_used{"))
		}
		return ok
	}
	t.Run("commands", func(t *testing.T) {
		for i, c := range []struct {
			what, file string
			done       func(t *testing.T, printed string) bool // nil for one that ends by itself
		}{
			{"snapshot", "", nil}, {"snapshot --json", "", nil}, {"snapshot --likely", "", nil}, {"snapshot --json --likely", "", nil},
			{"identify", "", nil}, {"identify --json", "", nil}, {"identify --yaml", "", nil}, {"identify --write --yes --config", config, nil},
			{"record --for 2s", recording, nil}, {"--plain --refresh 50ms", "", many}, {"export --listen localhost:0", "", metrics},
		} {
			debug := filepath.Join(folder, fmt.Sprintf("debug%d.jsonl", i))
			files["the debug log of "+c.what] = debug
			args := slices.Concat(strings.Fields(c.what+" "+c.file), server, []string{"--debug", debug})
			t.Run(c.what, func(t *testing.T) {
				t.Parallel()
				var done func(printed string) bool
				if c.done != nil {
					done = func(printed string) bool { return c.done(t, printed) }
				}
				told(c.what, runFor(t, done, args...))
			})
		}
	})
	r, err := feed.NewRedis(feed.Options{URLs: []string{s.URL()}, Budget: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var batch model.Batch
	if batch, err = feed.OnceWithin(t.Context(), r, feed.Bounds{}); err != nil {
		t.Fatal(err)
	}
	var exported strings.Builder
	if err := report.WriteJSON(&exported, report.SnapshotOf(batch, report.Options{Likely: true})); err != nil {
		t.Fatal(err)
	}
	outputs["the exported file"] = exported.String()
	for what, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		outputs[what] = string(content)
	}

	if len(secrets) < 150 {
		t.Fatalf("only %d secrets", len(secrets))
	}
	words := regexp.MustCompile(`s3cr3t\w*|[0-9]{9,}`)
	for name, text := range outputs {
		if len(text) < 50 {
			t.Errorf("%s printed only %q", name, text)
		}
		printed := 0
		for _, word := range words.FindAllString(text, -1) {
			if secrets[word] || strings.HasPrefix(word, "s3cr3t") {
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
