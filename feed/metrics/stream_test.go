package metrics_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ratescope/feed/metrics"
	"ratescope/feed/relay"
	"ratescope/limiter"
	"ratescope/model"
)

// TestStreamIsGuarded: the stream is answered for the hosts that the metrics are answered for,
// and begins with where everything stands.
func TestStreamIsGuarded(t *testing.T) {
	c := metrics.New(metrics.Options{Hosts: []string{"exporter.test"}})
	c.Put(model.Batch{At: limiter.InstantOf(dawn), Local: dawn, Server: model.Server{Target: "redis://s", Link: model.Live}, Readings: []model.Reading{log("k0", 3, 10)}})
	server := httptest.NewServer(metrics.Handler(c))
	defer server.Close()
	get := func(host string) *http.Response {
		t.Helper()
		request, err := http.NewRequest(http.MethodGet, server.URL+relay.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	refused := get("evil.test")
	refused.Body.Close()
	if refused.StatusCode != http.StatusForbidden {
		t.Errorf("another host is answered %d", refused.StatusCode)
	}
	answer := get("exporter.test")
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for _, want := range []string{`{"recording":{`, `{"anew":`, `"name":"k0"`, `{"b":{`} {
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("the stream says %q, want %s", lines.Text(), want)
		}
	}
}
