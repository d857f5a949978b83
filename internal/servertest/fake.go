package servertest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Replies are what a fake server answers to commands, by their names in lower case.
type Replies map[string]func(io.Writer)

// Fake starts a server that is no Redis: it answers the commands that are listed with what
// is listed, HELLO with an error and all others with +OK. It returns its URL.
func Fake(t testing.TB, replies Replies) string {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listen.Close() })
	go func() {
		for {
			c, err := listen.Accept()
			if err != nil {
				return
			}
			go answer(c, replies)
		}
	}()
	return "redis://" + listen.Addr().String()
}

// answer serves one connection until it ends.
func answer(c net.Conn, replies Replies) {
	defer c.Close()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		var arguments int
		if _, err := fmt.Sscanf(lines.Text(), "*%d", &arguments); err != nil {
			return
		}
		name := ""
		for i := range 2 * arguments { // a length and a value each
			if lines.Scan(); i == 1 {
				name = strings.ToLower(lines.Text())
			}
		}
		switch reply := replies[name]; {
		case reply != nil:
			reply(c)
		case name == "hello":
			_, _ = io.WriteString(c, "-ERR unknown command\r\n")
		default:
			_, _ = io.WriteString(c, "+OK\r\n")
		}
	}
}

// Monitor returns what lists the names of the commands that the server is sent from now on, in order, by its own account.
func (s *Server) Monitor() (names func() []string) {
	counts := func() map[string]int {
		all := map[string]int{}
		for line := range strings.Lines(s.CLI("INFO", "commandstats")) { // cmdstat_config|get:calls=1,usec=…
			name, said, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
			if command, _, _ := strings.Cut(name, "|"); command != "config" { // whose subcommands differ in what they do
				name = command
			}
			calls := 0
			_, _ = fmt.Sscanf(said, "calls=%d", &calls)
			all[name] += calls
		}
		return all
	}
	before := counts()
	return func() []string {
		after := counts()
		maps.DeleteFunc(after, func(name string, calls int) bool { return calls == before[name] })
		return slices.Sorted(maps.Keys(after))
	}
}

// Key is a Redis key as a fixture of a limiter has it; see feed/decode/testdata/record/README.md.
type Key struct {
	Key   json.RawMessage `json:"key"`
	Type  string          `json:"type"`
	TTL   float64         `json:"ttl_ms"`
	Value json.RawMessage `json:"value"`
}

// Text reads a string, or {"base64": "..."} in its place.
func Text(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b struct {
		Base64 string `json:"base64"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return strings.Trim(string(raw), `"`) // a bare number
	}
	out, err := base64.StdEncoding.DecodeString(b.Base64)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Restore writes the key and returns its name.
func (k Key) Restore(t testing.TB, p redis.Pipeliner) (name string) {
	t.Helper()
	ctx := t.Context()
	name = Text(t, k.Key)
	switch k.Type {
	case "string":
		p.Set(ctx, name, Text(t, k.Value), 0)
	case "hash":
		var fields map[string]json.RawMessage
		unmarshal(t, k.Value, &fields)
		for f, v := range fields {
			p.HSet(ctx, name, f, Text(t, v))
		}
	case "zset":
		var pairs [][2]json.RawMessage
		unmarshal(t, k.Value, &pairs)
		for _, e := range pairs {
			p.Do(ctx, "ZADD", name, Text(t, e[1]), Text(t, e[0]))
		}
	case "list", "set":
		var elements []json.RawMessage
		unmarshal(t, k.Value, &elements)
		for _, e := range elements {
			if k.Type == "set" {
				p.SAdd(ctx, name, Text(t, e))
				continue
			}
			p.RPush(ctx, name, Text(t, e))
		}
	case "stream":
		var entries [][2]json.RawMessage
		unmarshal(t, k.Value, &entries)
		for _, e := range entries {
			var fields map[string]json.RawMessage
			unmarshal(t, e[1], &fields)
			var values []string
			for f, v := range fields {
				values = append(values, f, Text(t, v))
			}
			p.XAdd(ctx, &redis.XAddArgs{Stream: name, ID: Text(t, e[0]), Values: values})
		}
	default:
		t.Fatalf("%s: type %q", name, k.Type)
	}
	if k.TTL > 0 {
		p.PExpire(ctx, name, time.Duration(math.Round(k.TTL))*time.Millisecond)
	}
	return name
}

func unmarshal(t testing.TB, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%v: %.80s", err, raw)
	}
}

// Authority makes certificates for the tests.
type Authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func NewAuthority(t *testing.T) *Authority {
	a := &Authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.Issue("ca", nil)
	return a
}

func (a *Authority) Path(name string) string { return filepath.Join(a.dir, name) }

// Issue writes name.crt and name.key, signed by the authority or by itself.
func (a *Authority) Issue(name string, by *Authority) (*x509.Certificate, *ecdsa.PrivateKey) {
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
	WriteFile(a.t, a.Path(name+".crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	WriteFile(a.t, a.Path(name+".key"), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return parsed, key
}
