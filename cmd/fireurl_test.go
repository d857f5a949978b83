package cmd_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adrg/xdg"
	"golang.org/x/time/rate"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/httplimit"
)

// stateHome gives the test an audit file of its own and returns its path.
func stateHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	xdg.Reload()
	t.Cleanup(xdg.Reload)
	return filepath.Join(dir, "ratescope", "audit.jsonl")
}

// application serves one answer after the other; the last one stays.
func application(t *testing.T, answers ...http.HandlerFunc) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(requests.Add(1)) - 1
		answers[min(n, len(answers)-1)](w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// says answers with a status and header fields.
func says(status int, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(fields); i += 2 {
			w.Header().Set(fields[i], fields[i+1])
		}
		w.WriteHeader(status)
	}
}

// firedAt is what fire --url --json prints.
type firedAt struct {
	Key, URL, Method string
	Requests         []struct {
		Outcome    string
		Status     int
		Remaining  *int64
		RetryAfter *int64 `json:"retry_after_ms"`
	}
	Findings []struct {
		Header, What string
		Said, True   *int64
	}
	Summary struct {
		ID                               string
		Admitted, Denied, Error, Unknown int
	}
}

func fireAt(t *testing.T, code int, args ...string) (f firedAt, all result) {
	t.Helper()
	r := call(t, append([]string{"fire", "--json", "--allow-inject"}, args...)...)
	if err := json.Unmarshal([]byte(r.out), &f); err != nil || r.code != code {
		t.Fatalf("exit code %d, want %d: %v: %q %q", r.code, code, err, r.out, r.err)
	}
	return f, r
}

func TestFireAtAnApplication(t *testing.T) {
	stateHome(t)
	soon := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	url, _ := application(t, says(200, "RateLimit-Remaining", "0"), says(204), says(429, "Retry-After", "10"), says(429, "Retry-After", soon), says(429),
		says(503, "Retry-After", "3"), says(503), says(404), says(302, "Location", "/elsewhere?token=s3cr3t"), says(500))
	f, r := fireAt(t, 1, "--url", url, "-n", "10")
	want := []string{"admitted 0", "admitted 0", "denied 10000", "denied 3" /* an hour, less the part of a second that passed */, "denied null", "denied 3000", "error null", "error null", "error null", "error null"}
	for i, q := range f.Requests {
		wait := "null"
		if q.RetryAfter != nil {
			wait = strconv.FormatInt(*q.RetryAfter, 10)
		}
		if got := q.Outcome + " " + wait; i >= len(want) || !strings.HasPrefix(got, want[i]) {
			t.Errorf("request %d: %s (HTTP %d), want %s", i+1, got, q.Status, want[i])
		}
	}
	if s := f.Summary; len(f.Requests) != 10 || s.Admitted != 2 || s.Denied != 4 || s.Error != 4 || s.Unknown != 0 || s.ID == "" || f.Method != "GET" || f.URL != url || f.Key != url {
		t.Errorf("%+v", f)
	}
	if q := f.Requests[0]; q.Remaining == nil || *q.Remaining != 0 {
		t.Errorf("remaining is %v, want 0", q.Remaining)
	}
	if strings.Contains(r.out+r.err, "s3cr3t") {
		t.Errorf("the secret of a redirect was printed: %s%s", r.out, r.err)
	}
}

// TestFireAtAnApplicationIsRefused: without the flag, and without a reason where it is not on
// this machine, nothing is sent.
func TestFireAtAnApplicationIsRefused(t *testing.T) {
	audit := stateHome(t)
	url, requests := application(t, says(200))
	call(t, "fire", "--url", url).sentence(t, 1, "--allow-inject")
	call(t, "fire", "--url", "http://192.0.2.1/", "--allow-inject").sentence(t, 1, "not on this machine", "--reason")
	call(t, "fire", "--url", "ftp://127.0.0.1/", "--allow-inject").sentence(t, 2, "http://")
	call(t, "fire", "--url", url, "--allow-inject", "--cost", "2").sentence(t, 2, "--cost")
	call(t, "fire", "--url", url, "--allow-inject", "--report", "r.md").sentence(t, 2, "--report is for requests at a key")
	call(t, "fire", "--url", url, "--allow-inject", "-n", "10001").sentence(t, 2, "10001 requests are out of range")
	call(t, "fire", "--url", url, "--allow-inject", "-H", "no colon").sentence(t, 2, "has no name")
	call(t, "fire", "--url", url, "--allow-inject", "-X", "B D").sentence(t, 2, "no method")
	call(t, "fire", "--url", url, "--allow-inject", "--body", filepath.Join(t.TempDir(), "none")).sentence(t, 2, "there is no file")
	call(t, "fire", "k", "-X", "POST", "--allow-inject").sentence(t, 2, "--url")
	config := write(t, "config.yaml", "targets:\n  quiet: {redis: 'redis://127.0.0.1:1', inject: false}\n  prod: {redis: 'redis://127.0.0.1:1', production: true}\n")
	call(t, "fire", "--url", url, "--allow-inject", "--config", config, "--target", "quiet").sentence(t, 1, "inject: false")
	call(t, "fire", "--url", url, "--allow-inject", "--config", config, "--target", "prod").sentence(t, 1, "production: true", "--reason")
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if _, err := os.Stat(audit); err == nil {
		t.Error("what was refused is in the audit file")
	}
}

// TestFireAtAnApplicationKeepsSecrets: what is sent is what was ordered, and neither the audit
// file nor the output holds a value that may be secret.
func TestFireAtAnApplicationKeepsSecrets(t *testing.T) {
	audit := stateHome(t)
	got := make(chan string, 1)
	url, _ := application(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- fmt.Sprint(r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), r.Header.Get("Content-Type"), r.Host, string(body))
		w.WriteHeader(200)
	})
	body, fields := write(t, "body", "b0dy"), write(t, "fields", "X-Api-Key: k3y\n\n")
	for _, form := range []string{"--json", "--mask"} {
		r := call(t, "fire", "--allow-inject", form, "--url", strings.Replace(url, "http://", "http://u:p4ss@", 1)+"/a?token=t0ken", "-X", "PUT",
			"-H", "Authorization: Bearer s3cr3t", "-H", "@"+fields, "-H", "Content-Type: text/plain", "-H", "Host: shop.example", "--body", body, "--reason", "drill")
		if want := "PUT/a?token=t0kenBearer s3cr3tk3ytext/plainshop.exampleb0dy"; r.code != 0 || <-got != want {
			t.Fatalf("exit code %d, %s, want %s to be sent", r.code, r.err, want)
		}
		for _, secret := range []string{"p4ss", "t0ken", "s3cr3t", "k3y", "b0dy"} {
			if text, _ := os.ReadFile(audit); strings.Contains(r.out+r.err+string(text), secret) {
				t.Errorf("%s is in the output or in the audit file:\n%s%s%s", secret, r.out, r.err, text)
			}
		}
	}
	text, _ := os.ReadFile(audit)
	for _, want := range []string{`"outcome":"begun"`, `"outcome":"pending"`, `"outcome":"admitted"`, `"outcome":"ended"`, `"method":"PUT"`, `"Authorization":"***"`, `"Content-Type":"text/plain"`, `"reason":"drill"`, `"body_bytes":4`, `"status":200`, `/a?token=***`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the audit file lacks %s:\n%s", want, text)
		}
	}
}

// TestNothingIsSentAgain: a request whose connection is lost is unknown, ends the firing, and
// was sent once.
func TestNothingIsSentAgain(t *testing.T) {
	stateHome(t)
	url, requests := application(t, says(200), func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			c.Close()
		}
	}, says(200))
	f, r := fireAt(t, 1, "--url", url, "-n", "5")
	if s := f.Summary; s.Admitted != 1 || s.Unknown != 1 || len(f.Requests) != 2 || requests.Load() != 2 {
		t.Errorf("%+v after %d requests, %s", s, requests.Load(), r.err)
	}
}

// TestRedirectsAreNotFollowed: what lies behind one is not asked.
func TestRedirectsAreNotFollowed(t *testing.T) {
	stateHome(t)
	behind, asked := application(t, says(200))
	url, _ := application(t, says(307, "Location", behind))
	f, _ := fireAt(t, 1, "--url", url)
	if f.Summary.Error != 1 || asked.Load() != 0 {
		t.Errorf("%+v, and behind the redirect came %d requests", f.Summary, asked.Load())
	}
}

// TestAWrongRetryAfterIsFound at an application with httplimit whose header was changed on the
// way; a right one is not.
func TestAWrongRetryAfterIsFound(t *testing.T) {
	stateHome(t)
	var now atomic.Int64 // the limiter's clock: each request comes a second after the one before
	now.Store(int64(limiter.InstantOf(time.Now())))
	memory, err := limiter.NewMemory(limiter.SlidingLog, limiter.WithClock(func() limiter.Instant { return limiter.Instant(now.Load()) }))
	if err != nil {
		t.Fatal(err)
	}
	per := func(window time.Duration) http.Handler {
		limited, err := httplimit.New(httplimit.Config{Limiter: memory, Limit: limiter.Limit{Count: 1, Window: window}, Key: func(*http.Request) string { return window.String() }, OnFailure: httplimit.FailOpen})
		if err != nil {
			t.Fatal(err)
		}
		return limited.Handler(says(200))
	}
	limit := per(3 * time.Second)
	wrong, _ := application(t, func(w http.ResponseWriter, r *http.Request) {
		now.Add(int64(time.Second / time.Microsecond))
		limit.ServeHTTP(&liar{w}, r)
	})
	f, _ := fireAt(t, 0, "--url", wrong, "-n", "6")
	if len(f.Findings) == 0 || f.Findings[0].Header != "Retry-After" || !strings.Contains(f.Findings[0].What, "after 40s") {
		t.Errorf("a Retry-After of 40 s that is wrong gives the findings %+v", f.Findings)
	}
	right, _ := application(t, per(time.Hour).ServeHTTP) // on its clock, which stands still, no time passes as it does here
	f, _ = fireAt(t, 0, "--url", right, "-n", "6")
	if f.Findings == nil || len(f.Findings) != 0 || f.Summary.Denied != 5 {
		t.Errorf("a limiter that says what it does gives %+v, %+v", f.Findings, f.Summary)
	}
}

// TestAWrongRetryAfterOfALibraryIsFound at an application that limits with golang.org/x/time/rate, which
// says nothing of when to come again: its handler names the whole minute of the limit, as many do,
// where a token comes back every two seconds.
func TestAWrongRetryAfterOfALibraryIsFound(t *testing.T) {
	stateHome(t)
	var seconds atomic.Int64 // the limiter's clock: each request comes a second after the one before
	begun := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	bucket := rate.NewLimiter(rate.Every(2*time.Second), 3) // 30 in a minute
	url, _ := application(t, func(w http.ResponseWriter, _ *http.Request) {
		if bucket.AllowN(begun.Add(time.Duration(seconds.Add(1))*time.Second), 1) {
			return
		}
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	f, _ := fireAt(t, 0, "--url", url, "-n", "9")
	if f.Summary.Denied == 0 || len(f.Findings) != 1 || f.Findings[0].Header != "Retry-After" || !strings.Contains(f.Findings[0].What, "after 1m0s") || !strings.Contains(f.Findings[0].What, "was admitted") {
		t.Errorf("a Retry-After of a minute that is wrong gives the findings %+v, %+v", f.Findings, f.Summary)
	}
}

// liar changes the Retry-After of what is denied.
type liar struct{ http.ResponseWriter }

func (l *liar) WriteHeader(status int) {
	if status == http.StatusTooManyRequests {
		l.Header().Set("Retry-After", "40")
	}
	l.ResponseWriter.WriteHeader(status)
}

// TestAnAnswerIsComparedWithTheKey: the application says one thing, and the key behind it another.
func TestAnAnswerIsComparedWithTheKey(t *testing.T) {
	stateHome(t)
	s := servertest.Start(t)
	s.CLI("ZADD", "rl:alice", strconv.FormatInt(s.Now().Millis(), 10), "a")
	url, _ := application(t, says(429, "Retry-After", "1"))
	f, _ := fireAt(t, 0, "rl:alice", "--url", url, "--redis", s.URL(), "--algorithm", "sliding-log", "--limit", "1/10m")
	if len(f.Findings) != 1 || !strings.Contains(f.Findings[0].What, "the key admits after") || f.Key != "rl:alice" {
		t.Errorf("%+v", f)
	}
	if n := s.CLI("ZCARD", "rl:alice"); n != "1" {
		t.Errorf("the key has %s members: it was written to", n)
	}
}
