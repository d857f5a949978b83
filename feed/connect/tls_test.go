package connect_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"ratescope/feed"
	"ratescope/feed/connect"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
)

// TestTLS watches through TLS with a private authority and a client certificate.
func TestTLS(t *testing.T) {
	a := servertest.NewAuthority(t)
	a.Issue("server", a)
	a.Issue("client", a)
	port := servertest.FreePort(t)
	s := servertest.Start(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", a.Path("server.crt"), "--tls-key-file", a.Path("server.key"),
		"--tls-ca-cert-file", a.Path("ca.crt"), "--tls-auth-clients", "yes")
	s.CLI("XADD", "k", "*", "count", "2")
	url := "rediss://127.0.0.1:" + strconv.Itoa(port)
	full := connect.TLSFiles{CA: a.Path("ca.crt"), Cert: a.Path("client.crt"), Key: a.Path("client.key")}
	b, got := feedtest.Once(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{url}, TLS: full})
	if x := got["k"]; feedtest.Used(x) != 2 {
		t.Errorf("used %d through TLS, want 2 (%q)", feedtest.Used(x), b.Server.Err)
	}
	named := full
	named.ServerName = "redis.example"
	if _, got := feedtest.Once(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{url}, TLS: named}); feedtest.Used(got["k"]) != 2 {
		t.Error("the server's name was not taken")
	}
	wrong := full
	wrong.ServerName = "other.example"
	for name, c := range map[string]struct {
		files connect.TLSFiles
		want  string
	}{
		"no authority":   {connect.TLSFiles{}, "unknown authority"},
		"no certificate": {connect.TLSFiles{CA: full.CA}, "certificate"},
		"another name":   {wrong, "another name"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
		_, err := feed.OnceWithin(ctx, feedtest.NewRedis(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{url}, TLS: c.files}), feed.Bounds{})
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := feed.NewRedis(feed.Options{Watch: feedtest.EveryKey, URLs: []string{url}, TLS: connect.TLSFiles{CA: a.Path("absent")}}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("an absent authority: %v", err)
	}
}
