package connect_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/connect"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
)

// TestTLS watches through TLS with a private authority and a client certificate.
func TestTLS(t *testing.T) {
	a := newAuthority(t)
	a.issue("server", a)
	a.issue("client", a)
	port := servertest.FreePort(t)
	s := servertest.Start(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", a.path("server.crt"), "--tls-key-file", a.path("server.key"),
		"--tls-ca-cert-file", a.path("ca.crt"), "--tls-auth-clients", "yes")
	s.CLI("XADD", "k", "*", "count", "2")
	url := "rediss://127.0.0.1:" + strconv.Itoa(port)
	full := connect.TLSFiles{CA: a.path("ca.crt"), Cert: a.path("client.crt"), Key: a.path("client.key")}
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
	absent := feed.Options{Watch: feedtest.EveryKey, URLs: []string{url}, TLS: connect.TLSFiles{CA: a.path("absent")}}
	if _, err := feed.NewRedis(absent); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("an absent authority: %v", err)
	}
}

// authority makes certificates for the tests.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca", nil)
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// issue writes name.crt and name.key, signed by the authority or by itself.
func (a *authority) issue(name string, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: by == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"redis.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, signer := c, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	servertest.WriteFile(a.t, a.path(name+".crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	servertest.WriteFile(a.t, a.path(name+".key"), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return parsed, key
}
