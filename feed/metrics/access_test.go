package metrics_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"ratescope/feed/metrics"
	"ratescope/internal/servertest"
)

// TestUsers: with a file of users only they read the metrics.
func TestUsers(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("s3cret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "users")
	servertest.WriteFile(t, name, "# who scrapes\nprometheus:"+string(hash)+"\n\n")
	guarded, err := metrics.Access{Users: name}.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		user, password string
		code           int
	}{{"prometheus", "s3cret", 204}, {"prometheus", "s3cret", 204}, {"prometheus", "wrong", 401}, {"nobody", "s3cret", 401}, {"", "", 401}, {"prometheus", "s3cret", 204}} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		if tc.user != "" {
			r.SetBasicAuth(tc.user, tc.password)
		}
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		if w.Code != tc.code || tc.code == 401 && !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic") {
			t.Errorf("%s with %s gets %d, want %d", tc.user, tc.password, w.Code, tc.code)
		}
	}
	for text, want := range map[string]string{"": "no user", "name:plain-password\n": "users:1:", ":" + string(hash): "users:1:"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (metrics.Access{Users: name}).Guard(nil); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "plain-password") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := (metrics.Access{Users: name + ".absent"}).Guard(nil); err == nil {
		t.Error("a file that is not there is none")
	}
}

// certificate writes the certificate of a test server, which is its own authority and holds for example.com, and its key.
func certificate(t *testing.T) (cert, key string) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "server.crt"), filepath.Join(t.TempDir(), "server.key")
	servertest.WriteFile(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	servertest.WriteFile(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return cert, key
}

// TestTLS: with a certificate the listener speaks TLS alone.
func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secure, err := metrics.Access{Cert: cert, Key: key, Connections: 2}.Listen(l)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}
	go func() { _ = server.Serve(secure) }()
	t.Cleanup(func() { server.Close() })
	roots := x509.NewCertPool()
	if ca, err := os.ReadFile(cert); err != nil || !roots.AppendCertsFromPEM(ca) {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"}}
	t.Cleanup(transport.CloseIdleConnections)
	answer, err := (&http.Client{Transport: transport}).Get("https://" + l.Addr().String() + "/metrics")
	if err != nil || answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%v %v", answer, err)
	}
	answer.Body.Close()
	for _, bad := range []metrics.Access{{Cert: cert}, {Key: key}, {Cert: key, Key: cert}, {Cert: "/nosuch", Key: "/nosuch"}} {
		if _, err := bad.Listen(l); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
