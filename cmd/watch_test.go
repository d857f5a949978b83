package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ratescope/internal/servertest"
)

// text is an output that several goroutines use.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// delivered is what a webhook got.
type delivered struct {
	Alert, State, Severity string
	Key                    *string
	Value                  *float64
	Limit                  *int64
	Window                 *int64 `json:"window_ms"`
	Since                  int64  `json:"since_ms"`
	At                     int64  `json:"at_ms"`
}

// webhook collects what is delivered.
type webhook struct {
	*httptest.Server
	mu  sync.Mutex
	got []delivered
}

func newWebhook(t *testing.T) *webhook {
	w := &webhook{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var d delivered
		if err := json.Unmarshal(body, &d); err != nil {
			t.Errorf("the webhook got %s: %v", body, err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.got = append(w.got, d)
	}))
	t.Cleanup(w.Close)
	return w
}

// of returns what was delivered of one alert.
func (w *webhook) of(name string) (list []delivered) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.got {
		if d.Alert == name {
			list = append(list, d)
		}
	}
	return list
}

// background runs a command in a process of its own until SIGTERM, and returns what it says on stderr and what ends it and gives
// its exit code.
func background(t *testing.T, args ...string) (errOut *text, end func() int) {
	t.Helper()
	errOut = &text{}
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), runVariable+"=1", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	c.Stderr = errOut
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := sync.OnceFunc(func() { _ = c.Wait() })
	t.Cleanup(func() { _ = c.Process.Kill(); ended() })
	return errOut, func() int {
		_ = c.Process.Signal(syscall.SIGTERM)
		ended()
		return c.ProcessState.ExitCode()
	}
}

// watched is a server whose alerts a webhook gets.
type watched struct {
	*servertest.Server
	t            *testing.T
	hook         *webhook
	path         string // of the configuration
	rules, alert string // what stands in it
	said         *text
	end          func() int
}

// watch watches a server by rules and the alert throttled, and by more alerts.
func watch(t *testing.T, more func(hook string) string) *watched {
	t.Helper()
	w := &watched{Server: servertest.Start(t, "--save", "", "--appendonly", "no"), t: t, hook: newWebhook(t)}
	w.rules = "rules: [{match: 'rl:calm*', algorithm: fixed-window, limit: 10/1h}, " +
		"{match: 'rl:*', algorithm: sliding-log, limit: 10/10m}]\nalerts:\n"
	w.alert = "  - {name: throttled, match: 'rl:hot*', when: utilization >= 1, for: 500ms, severity: page, webhook: '" + w.hook.URL + "'}\n"
	w.path = write(t, "config.yaml", w.rules+w.alert+more(w.hook.URL))
	w.said, w.end = background(t, "watch", "--alerts", "--redis", w.URL(), "--watch", "rl:*", "--config", w.path, "--refresh", "100ms")
	w.says("answers")
	return w
}

// says waits until a word is said on stderr.
func (w *watched) says(word string) {
	w.t.Helper()
	servertest.Await(w.t, "word that it "+word, func() bool { return strings.Contains(w.said.String(), word) })
}

// add has n requests admitted at a key.
func (w *watched) add(key string, n int) {
	w.CLI("EVAL", "local t = redis.call('TIME'); for i = 1, tonumber(ARGV[1]) do "+
		"redis.call('ZADD', KEYS[1], t[1] * 1000000 + t[2] + i, t[1] .. t[2] .. i) end redis.call('EXPIRE', KEYS[1], 600)",
		"1", key, strconv.Itoa(n))
}

// posts waits for the nth POST of an alert, and returns all of them.
func (w *watched) posts(alert string, n int) []delivered {
	w.t.Helper()
	servertest.Await(w.t, fmt.Sprintf("post %d of %s", n, alert), func() bool { return len(w.hook.of(alert)) >= n })
	return w.hook.of(alert)
}

// ends ends the watching by SIGTERM, which is no failure, after n POSTs of throttled.
func (w *watched) ends(n int) {
	w.t.Helper()
	if code := w.end(); code != 0 {
		w.t.Errorf("SIGTERM ends it with %d: %s", code, w.said)
	}
	if got := w.hook.of("throttled"); len(got) != n {
		w.t.Errorf("%d posts, want %d: %+v", len(got), n, got)
	}
}

// TestAlertsLeave: a key is driven over its limit, the webhook gets one POST when the alert has lasted and one when it ends; SIGTERM
// ends the watching with 0.
func TestAlertsLeave(t *testing.T) {
	t.Parallel()
	w := watch(t, func(string) string { return "" })
	w.add("rl:hot", 12)
	w.posts("throttled", 1)
	w.CLI("ZREMRANGEBYRANK", "rl:hot", "0", "8")
	got := w.posts("throttled", 2)
	begin, over := got[0], got[1]
	if begin.State != "firing" || over.State != "resolved" || begin.Key == nil || *begin.Key != "rl:hot" || begin.Severity != "page" ||
		begin.Value == nil || *begin.Value != 1.2 || begin.Limit == nil || *begin.Limit != 10 || begin.Window == nil || *begin.Window != 600_000 {
		t.Errorf("the webhook got %+v", got)
	}
	if late := begin.At - begin.Since; late < 500 || late > 60_000 {
		t.Errorf("the alert began %d ms after its condition, want 500", late)
	}
	w.ends(2)
}

// TestForgottenLimitsLeave: a server that was watched is restarted empty: that it was away is told, and that its limits were
// forgotten.
func TestForgottenLimitsLeave(t *testing.T) {
	t.Parallel()
	seen := write(t, "seen", "") // names of keys that were read: a command is run at once
	w := watch(t, func(hook string) string {
		return "  - {name: lost, when: forgotten, webhook: '" + hook + "'}\n" +
			"  - {name: away, when: no_data, for: 300ms, webhook: '" + hook + "'}\n" +
			"  - {name: seen, match: 'rl:*', when: utilization > 0, command: [sh, -c, 'echo \"$1\" >> \"$0\"', '" + seen + "', '{key}']}\n"
	})
	w.CLI("SET", "rl:calm", "5", "EX", "600")
	w.CLI("SET", "rl:calm:b", "5", "EX", "600") // a number would be the hour of the day once a day
	w.add("rl:hot", 3)
	servertest.Await(t, "all three to be read", func() bool {
		content, _ := os.ReadFile(seen)
		return len(slices.Compact(slices.Sorted(strings.FieldsSeq(string(content))))) == 3
	})
	w.Kill()
	away := func() string { // the last word of it: a server that stood still was away before
		if got := w.hook.of("away"); len(got) > 0 {
			return got[len(got)-1].State
		}
		return ""
	}
	servertest.Await(t, "word of the server", func() bool { return away() == "firing" })
	w.Start()
	lost := w.posts("lost", 1)[0]
	servertest.Await(t, "word that it is back", func() bool { return away() == "resolved" })
	if lost.State != "firing" || lost.Key != nil || lost.Value == nil || *lost.Value != 3 {
		t.Errorf("the webhook got %+v", lost)
	}
	w.ends(0)
}

// TestChangedAlertsLeave: a configuration that is broken while the watching goes on is not used, and one that is whole is.
func TestChangedAlertsLeave(t *testing.T) {
	t.Parallel()
	w := watch(t, func(string) string { return "" })
	servertest.WriteFile(t, w.path, "rules: [")
	w.says("is not used")
	servertest.WriteFile(t, w.path, strings.Replace(w.rules, "10/10m", "3/1h", 1)+w.alert)
	w.says("is in use")
	w.add("rl:hot:2", 3)
	if d := w.posts("throttled", 1)[0]; d.Limit == nil || *d.Limit != 3 || *d.Key != "rl:hot:2" {
		t.Errorf("the webhook got %+v", d)
	}
	w.ends(1)
}

// TestAlertTest tries every way out.
func TestAlertTest(t *testing.T) {
	t.Parallel()
	hook := newWebhook(t)
	path := write(t, "config.yaml", "alerts:\n  - {name: a, when: utilization >= 1, webhook: '"+hook.URL+"'}\n  - {name: b, when: no_data, command: ['false']}\n  - {name: c, when: sick}\n")
	r := call(t, "alert", "test", "a", "--config", path)
	if r.code != 0 || len(hook.of("a")) != 2 || hook.of("a")[0].State != "firing" || hook.of("a")[1].State != "resolved" {
		t.Errorf("exit code %d, %s%s; it got %+v", r.code, r.out, r.err, hook.of("a"))
	}
	r = call(t, "alert", "test", "--config", path)
	r.sentence(t, 1, "2 of 4 deliveries failed")
	if !strings.Contains(r.out, "c: goes nowhere") || !strings.Contains(r.out, "b: firing was not delivered") {
		t.Errorf("it prints %s", r.out)
	}
	call(t, "alert", "test", "nosuch", "--config", path).sentence(t, 2, "nosuch")
	call(t, "watch", "--alerts", "--config", write(t, "empty.yaml", "rules: []\n")).sentence(t, 2, "no alerts")
}

// TestConfigCommands write, check, find and show a file.
func TestConfigCommands(t *testing.T) {
	path := t.TempDir() + "/sub/config.yaml"
	if r := call(t, "config", "init", "--config", path); r.code != 0 || strings.TrimSpace(r.out) != path {
		t.Fatalf("exit code %d, %q %q", r.code, r.out, r.err)
	}
	call(t, "config", "init", "--config", path).sentence(t, 2, "is there already")
	if r := call(t, "config", "check", "--config", path); r.code != 0 || !strings.Contains(r.out, "is valid") {
		t.Errorf("exit code %d, %q %q", r.code, r.out, r.err)
	}
	if r := call(t, "config", "path", "--config", path); r.code != 0 || strings.TrimSpace(r.out) != path {
		t.Errorf("exit code %d, %q %q", r.code, r.out, r.err)
	}
	example, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// What the example explains is right: it is read without its comment signs, too.
	plain := strings.NewReplacer("rules: []", "rules:", "targets: {}", "targets:", "alerts: []", "alerts:", "\n#  ", "\n  ").Replace(string(example))
	whole := write(t, "whole.yaml", plain)
	if r := call(t, "config", "check", "--config", whole); r.code != 0 || !strings.Contains(r.out, "5 rules, 1 target, 1 alert\n") {
		t.Errorf("exit code %d, %q %q\n%s", r.code, r.out, r.err, plain)
	}
	secret := write(t, "secret.yaml", "alerts: [{name: a, when: sick, webhook: 'https://hooks.example/t0ken'}]\n")
	r := call(t, "config", "show", "--config", secret)
	if r.code != 0 || strings.Contains(r.out, "t0ken") || !strings.Contains(r.out, "hooks.example") {
		t.Errorf("exit code %d, %q %q", r.code, r.out, r.err)
	}
	shown := write(t, "shown.yaml", call(t, "config", "show", "--config", whole).out)
	if r := call(t, "config", "check", "--config", shown); r.code != 0 {
		t.Errorf("what is shown is no configuration: %s", r.err)
	}
	broken := write(t, "broken.yaml", "rules:\n  - {match: a, limt: 5/1m}\n")
	call(t, "config", "check", "--config", broken).sentence(t, 2, broken+":2:16:", "did you mean limit?")
	call(t, "snapshott").sentence(t, 2, "did you mean snapshot?")
	call(t, "peek", "k", "--jsn").sentence(t, 2, "did you mean --json?")
	unusable := write(t, "unusable.yaml", "targets: {a: {redis: 'localhost:6379'}}\n")
	call(t, "config", "check", "--config", unusable).sentence(t, 2, unusable, "the target a", "write redis://localhost:6379")
	call(t, "config").sentence(t, 2, "config init")
	call(t, "config", "check", "--config", "/dev/zero").sentence(t, 2, "regular file")
}
