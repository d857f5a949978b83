package metrics_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"ratescope/feed/connect"
	"ratescope/feed/metrics"
	"ratescope/feed/relay"
	"ratescope/internal/servertest"
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

// TestAFedDashboardOverTLS: a source reads an exporter that speaks TLS and knows its users, with the
// password and the authority that are given, and not without either.
func TestAFedDashboardOverTLS(t *testing.T) {
	cert, key := certificate(t)
	hash, err := bcrypt.GenerateFromPassword([]byte("s3cret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "users")
	servertest.WriteFile(t, users, "fed:"+string(hash)+"\n")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := metrics.New(metrics.Options{Access: metrics.Access{Cert: cert, Key: key, Users: users}})
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- metrics.Serve(ctx, telling{model.Batch{At: limiter.InstantOf(dawn), Local: dawn, Server: model.Server{Target: "redis://s", Link: model.Live}, Readings: []model.Reading{log("k0", 3, 10)}}}, l, c)
	}()
	defer func() {
		stop()
		<-served
	}()
	url := "https://fed@" + l.Addr().String()
	files := connect.TLSFiles{CA: cert, ServerName: "example.com"}
	for _, tc := range []struct {
		o    relay.Options
		says string // "" it is read
	}{
		{relay.Options{URLs: []string{url}, Password: "s3cret", TLS: files}, ""},
		{relay.Options{URLs: []string{url}, Password: "wrong", TLS: files}, "password"},
		{relay.Options{URLs: []string{url}, Password: "s3cret"}, "--tls-ca"},
	} {
		src, err := relay.New(tc.o)
		if err != nil {
			t.Fatal(err)
		}
		within, done := context.WithTimeout(t.Context(), 30*time.Second)
		found, told := false, ""
		err = src.Run(within, func(b model.Batch) {
			told = b.Server.Err
			key := len(b.Readings) == 1 && b.Readings[0].Key == "k0"
			if tc.says == "" && key || tc.says != "" && strings.Contains(b.Server.Err, tc.says) {
				found = true
				done()
			}
		})
		done()
		if err != nil || !found {
			t.Errorf("%+v: it says %q, want %q: %v", tc.o, told, tc.says, err)
		}
	}
}

// telling is a source of one batch.
type telling struct{ batch model.Batch }

// Run implements feed.Source.
func (s telling) Run(ctx context.Context, emit func(model.Batch)) error {
	emit(s.batch)
	<-ctx.Done()
	return nil
}
