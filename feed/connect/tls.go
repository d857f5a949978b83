package connect

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// Config loads the files; nil when none is named.
func (f TLSFiles) Config() (*tls.Config, error) {
	if f == (TLSFiles{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("the certificate authority cannot be read: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the certificate authority %q holds no PEM certificate", f.CA)
		}
	}
	if f.Cert != "" || f.Key != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate %q with key %q cannot be used: %w", f.Cert, f.Key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// TLSFiles names PEM files for rediss:// URLs; empty fields mean the system's roots,
// no client certificate, and the host of the URL.
type TLSFiles struct {
	CA, Cert, Key string
	ServerName    string
}
