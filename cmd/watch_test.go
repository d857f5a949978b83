package cmd_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ratescope/cmd"
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

// background runs a command until SIGTERM, and returns what ends it and gives its exit code.
func background(args ...string) (out, errOut *text, end func() int) {
	out, errOut = &text{}, &text{}
	code := make(chan int, 1)
	go func() { code <- cmd.Run("test", args, out, errOut) }()
	return out, errOut, func() int {
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		return <-code
	}
}

// TestAlertsLeave: a key is driven over its limit, the webhook gets one POST when the alert
// has lasted and one when it ends; the server is restarted empty, and its limits were
// forgotten; a changed configuration is used; SIGTERM ends it with 0.
func TestAlertsLeave(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, "--save", "", "--appendonly", "no")
	hook := newWebhook(t)
	rule := "rules: [{match: 'rl:calm*', algorithm: fixed-window, limit: 10/1h}, {match: 'rl:*', algorithm: sliding-log, limit: 10/10m}]\nalerts:\n"
	throttled := "  - {name: throttled, match: 'rl:hot*', when: utilization >= 1, for: 500ms, severity: page, webhook: '" + hook.URL + "'}\n"
	forgotten := "  - {name: lost, when: forgotten, webhook: '" + hook.URL + "'}\n  - {name: away, when: no_data, for: 300ms, webhook: '" + hook.URL + "'}\n"
	path := write(t, "config.yaml", rule+throttled+forgotten)
	add := func(key string, n int) {
		s.CLI("EVAL", "local t = redis.call('TIME'); for i = 1, tonumber(ARGV[1]) do redis.call('ZADD', KEYS[1], t[1] * 1000000 + t[2] + i, t[1] .. t[2] .. i) end redis.call('EXPIRE', KEYS[1], 600)", "1", key, strconv.Itoa(n))
	}
	s.CLI("SET", "rl:calm", "5", "EX", "600")
	s.CLI("SET", "rl:calm:2", "5", "EX", "600")
	_, errOut, end := background("watch", "--alerts", "--redis", s.URL(), "--watch", "rl:*", "--config", path, "--refresh", "100ms")
	servertest.Await(t, "the link", func() bool { return strings.Contains(errOut.String(), "answers") })
	add("rl:hot", 12)
	servertest.Await(t, "the beginning", func() bool { return len(hook.of("throttled")) == 1 })
	s.CLI("ZREMRANGEBYRANK", "rl:hot", "0", "8")
	servertest.Await(t, "the end", func() bool { return len(hook.of("throttled")) == 2 })
	got := hook.of("throttled")
	begin, over := got[0], got[1]
	if begin.State != "firing" || over.State != "resolved" || begin.Key == nil || *begin.Key != "rl:hot" || begin.Severity != "page" ||
		begin.Value == nil || *begin.Value != 1.2 || begin.Limit == nil || *begin.Limit != 10 || begin.Window == nil || *begin.Window != 600_000 {
		t.Errorf("the webhook got %+v", got)
	}
	if late := begin.At - begin.Since; late < 500 || late > 60_000 {
		t.Errorf("the alert began %d ms after its condition, want 500", late)
	}

	s.Kill()
	away := func() string { // the last word of it: a server that stood still was away before
		if got := hook.of("away"); len(got) > 0 {
			return got[len(got)-1].State
		}
		return ""
	}
	servertest.Await(t, "word of the server", func() bool { return away() == "firing" })
	s.Start()
	servertest.Await(t, "word of the limits", func() bool { return len(hook.of("lost")) == 1 && away() == "resolved" })
	if lost := hook.of("lost")[0]; lost.State != "firing" || lost.Key != nil || lost.Value == nil || *lost.Value != 3 {
		t.Errorf("the webhook got %+v", lost)
	}

	if err := os.WriteFile(path, []byte("rules: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	servertest.Await(t, "word of the broken configuration", func() bool { return strings.Contains(errOut.String(), "is not used") })
	if err := os.WriteFile(path, []byte(strings.Replace(rule, "10/10m", "3/1h", 1)+throttled), 0o600); err != nil {
		t.Fatal(err)
	}
	servertest.Await(t, "word of the configuration", func() bool { return strings.Contains(errOut.String(), "is in use") })
	add("rl:hot:2", 3)
	servertest.Await(t, "the alert by the new limit", func() bool { return len(hook.of("throttled")) == 3 })
	if d := hook.of("throttled")[2]; d.Limit == nil || *d.Limit != 3 || *d.Key != "rl:hot:2" {
		t.Errorf("the webhook got %+v", d)
	}
	if code := end(); code != 0 {
		t.Errorf("SIGTERM ends it with %d: %s", code, errOut)
	}
	if n := len(hook.of("throttled")); n != 3 {
		t.Errorf("%d posts about one key that began and ended once, and one that began", n)
	}
}

// TestAlertTest tries every way out.
func TestAlertTest(t *testing.T) {
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
