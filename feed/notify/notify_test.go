package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ratescope/feed/notify"
	"ratescope/model/report"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
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
	return report.Alert{Alert: name, State: report.Firing, Severity: "page", Key: &k, Value: &value, Server: "redis://h", Text: "it is full",
		Dedup: "of " + key, Count: 1, Keys: []report.Text{k}}
}

func resolved(name, key string) report.Alert {
	a := firing(name, key)
	a.State = report.Resolved
	return a
}

// deliveries collects what is told of deliveries.
type deliveries struct {
	mu   sync.Mutex
	list []string
}

func (d *deliveries) tell(one report.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, one.String())
}

func (d *deliveries) said() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.list)
}

// TestWebhook gets the alert once, again after a fault of its own, and never after a
// refusal; the token in its URL is in no error.
func TestWebhook(t *testing.T) {
	t.Parallel()
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
			var told deliveries
			err := h.route().Deliver(t.Context(), firing("full", "rl:a"), told.tell)
			if said := strings.Join(told.said(), "\n"); strings.Contains(said, "is tried again") != (tc.posts == 2) ||
				strings.Contains(said, "was delivered to the webhook at 127.0.0.1") != (tc.says == "") || strings.Contains(said, "refuses it") != (tc.says != "") {
				t.Errorf("it tells %s", said)
			}
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
			for _, field := range strings.Fields("alert state severity key value limit window_ms since_ms at_ms server text dedup_key count keys") {
				if _, there := body[field]; !there {
					t.Errorf("the body has no %s", field)
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone := notify.Route{Webhook: func() (string, error) { return "http://127.0.0.1:1/t0ken", nil }}
	if err := gone.Deliver(ctx, firing("full", "k"), func(report.Delivery) {}); err == nil || strings.Contains(err.Error(), "t0ken") {
		t.Errorf("no receiver: %v", err)
	}
	missing := notify.Route{Webhook: func() (string, error) { return "", errors.New("no such file") }}
	if err := missing.Deliver(t.Context(), firing("full", "k"), func(report.Delivery) {}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no URL: %v", err)
	}
}

// TestCommand runs a program without a shell: whatever a key's name holds stays one
// argument.
func TestCommand(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	hostile := "a; touch " + out + ".owned $(id) `id` \"' {server} \x1b[31m"
	r := notify.Route{Command: []string{"/bin/sh", "-c", `printf '%s\n' "$@" > "$0"`, out, "{alert}", "{key}", "x{value}y", "{limit}", "{nosuch}"}}
	if err := r.Deliver(t.Context(), firing("full", hostile), func(report.Delivery) {}); err != nil {
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
		if err := (notify.Route{Command: []string{command}}).Deliver(t.Context(), firing("full", "k"), func(report.Delivery) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// hangs takes a POST and answers it when it is given up.
type hangs chan struct{}

func (h hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	close(h)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestCloseDoesNotWaitForEver for a receiver that hangs.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging := hangs(make(chan struct{}))
		was := notify.SetTransport(hanging)
		defer notify.SetTransport(was)
		failed := make(chan report.Delivery, 10)
		q := notify.NewQueue(map[string]notify.Route{"full": hooked}, func(d report.Delivery) { failed <- d })
		q.Put(firing("full", "rl:a"))
		<-hanging
		begun := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		q.Close(ctx)
		if d := <-failed; !strings.Contains(d.String(), "was not delivered") || d.Outcome != report.Failed || time.Since(begun) > 0 {
			t.Errorf("it says %v after %v", d, time.Since(begun))
		}
	})
}
