package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratescope/feed/notify"
	"ratescope/model/report"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
}

// hook is a webhook that answers with the given codes in turn, the last one for ever.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	codes  []int
	bodies []string
}

func newHook(t *testing.T, codes ...int) *hook {
	h := &hook{codes: codes}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		if r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("it got %s %v", r.Method, r.Header)
		}
		h.bodies = append(h.bodies, string(body))
		code := h.codes[0]
		if len(h.codes) > 1 {
			h.codes = h.codes[1:]
		}
		if code/100 == 3 {
			w.Header().Set("Location", "http://elsewhere.example/")
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) got() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.bodies)
}

func (h *hook) route() notify.Route {
	return notify.Route{Webhook: func() (string, error) { return h.URL + "/t0ken", nil }}
}

func firing(name, key string) report.Alert {
	k := report.Text(key)
	value := 1.2
	return report.Alert{Alert: name, State: report.Firing, Severity: "page", Key: &k, Value: &value, Server: "redis://h", Text: "it is full"}
}

// TestWebhook gets the alert once, again after a fault of its own, and never after a
// refusal; the token in its URL is in no error.
func TestWebhook(t *testing.T) {
	for name, tc := range map[string]struct {
		codes []int
		posts int
		says  string
	}{
		"taken":       {[]int{200}, 1, ""},
		"no content":  {[]int{204}, 1, ""},
		"after a 503": {[]int{503, 200}, 2, ""},
		"refused":     {[]int{404}, 1, "404"},
		"redirected":  {[]int{302}, 1, "302"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t, tc.codes...)
			err := h.route().Deliver(t.Context(), firing("full", "rl:a"))
			if (err == nil) != (tc.says == "") || err != nil && (!strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "t0ken")) {
				t.Errorf("it returns %v", err)
			}
			posts := h.got()
			if len(posts) != tc.posts {
				t.Fatalf("%d posts, want %d", len(posts), tc.posts)
			}
			var body map[string]any
			if err := json.Unmarshal([]byte(posts[0]), &body); err != nil || body["alert"] != "full" || body["state"] != "firing" || body["key"] != "rl:a" || body["limit"] != nil || body["value"] != 1.2 {
				t.Errorf("the body is %s, %v", posts[0], err)
			}
			for _, field := range strings.Fields("alert state severity key value limit window_ms since_ms at_ms server text") {
				if _, there := body[field]; !there {
					t.Errorf("the body has no %s", field)
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone := notify.Route{Webhook: func() (string, error) { return "http://127.0.0.1:1/t0ken", nil }}
	if err := gone.Deliver(ctx, firing("full", "k")); err == nil || strings.Contains(err.Error(), "t0ken") {
		t.Errorf("no receiver: %v", err)
	}
	missing := notify.Route{Webhook: func() (string, error) { return "", errors.New("no such file") }}
	if err := missing.Deliver(t.Context(), firing("full", "k")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no URL: %v", err)
	}
}

// TestCommand runs a program without a shell: whatever a key's name holds stays one
// argument.
func TestCommand(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	hostile := "a; touch " + out + ".owned $(id) `id` \"' {server} \x1b[31m"
	r := notify.Route{Command: []string{"/bin/sh", "-c", `printf '%s\n' "$@" > "$0"`, out, "{alert}", "{key}", "x{value}y", "{limit}", "{nosuch}"}}
	if err := r.Deliver(t.Context(), firing("full", hostile)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if err != nil || len(lines) != 5 || lines[0] != "full" || !strings.Contains(lines[1], "$(id) `id`") || !strings.Contains(lines[1], "{server}") || strings.Contains(lines[1], "\x1b") ||
		lines[2] != "x1.2y" || lines[3] != "" || lines[4] != "{nosuch}" {
		t.Errorf("the arguments are %q, %v", lines, err)
	}
	if _, err := os.Stat(out + ".owned"); err == nil {
		t.Error("the name of a key was run")
	}
	for command, want := range map[string]string{"false": "failed", "/nosuch/program": "failed"} {
		if err := (notify.Route{Command: []string{command}}).Deliver(t.Context(), firing("full", "k")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// TestQueue delivers the beginning and the end of each alert in their order, no more than
// so many a minute, and the end of none whose beginning was not delivered.
func TestQueue(t *testing.T) {
	h := newHook(t, 200)
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	var said []string
	q := notify.NewQueue(map[string]notify.Route{"full": h.route()}, func(err error) { said = append(said, err.Error()) }, func() time.Time { return now })
	for i := range 50 {
		q.Put(firing("full", fmt.Sprintf("rl:%d", i)))
	}
	for i := range 50 {
		end := firing("full", fmt.Sprintf("rl:%d", i))
		end.State = report.Resolved
		q.Put(end)
	}
	now = now.Add(time.Minute)
	q.Put(firing("full", "rl:later"))
	q.Close(t.Context())
	q.Put(firing("full", "rl:closed"))
	posts := h.got()
	if len(posts) != 61 {
		t.Fatalf("%d posts, want 30 beginnings, their ends and a later one", len(posts))
	}
	for i, post := range posts[:60] {
		key, state := fmt.Sprintf(`"key":"rl:%d"`, i%30), `"state":"firing"`
		if i >= 30 {
			state = `"state":"resolved"`
		}
		if !strings.Contains(post, key) || !strings.Contains(post, state) {
			t.Errorf("post %d is %s", i, post)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "30 times within a minute") {
		t.Errorf("it says %q", said)
	}
}

// TestCloseDoesNotWaitForEver for a receiver that hangs.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer hanging.Close()
	defer close(release)
	failed := make(chan error, 10)
	q := notify.NewQueue(map[string]notify.Route{"full": {Webhook: func() (string, error) { return hanging.URL, nil }}}, func(err error) { failed <- err }, nil)
	q.Put(firing("full", "rl:a"))
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q.Close(ctx)
	if err := <-failed; !strings.Contains(err.Error(), "was not delivered") {
		t.Errorf("it says %v", err)
	}
}
