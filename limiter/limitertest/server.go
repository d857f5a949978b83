package limitertest

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RequireRedis is the environment variable that makes a missing redis-server a failure
// instead of a skipped test.
const RequireRedis = "RATESCOPE_REQUIRE_REDIS"

// Binary is the program that tests start as their server: redis-server, or the one that
// RATESCOPE_REDIS_SERVER names, as in a path to another version or to valkey-server.
func Binary() string { return cmp.Or(os.Getenv("RATESCOPE_REDIS_SERVER"), "redis-server") }

// Need skips a test that has no server, loudly, or fails it where RequireRedis is set.
func Need(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath(Binary()); err != nil {
		if os.Getenv(RequireRedis) != "" {
			t.Fatalf("%s is not installed: run make test, which installs redis-server", Binary())
		}
		t.Skipf("SKIPPED: %s is not installed, so nothing was tested on a real server", Binary())
	}
}

// Server is a real redis-server on a free port of this machine, which saves nothing and
// ends with the test.
type Server struct {
	Address string // host:port

	t    testing.TB
	args []string
	cmd  *exec.Cmd
}

// NewServer runs a redis-server with these options on top of its own, and waits for it.
func NewServer(t testing.TB, options ...string) *Server {
	t.Helper()
	return launch(t, append(options, "--save", "", "--appendonly", "no")...)
}

func launch(t testing.TB, options ...string) *Server {
	t.Helper()
	port := FreePort(t)
	s := &Server{Address: fmt.Sprintf("127.0.0.1:%d", port), t: t}
	s.args = append(options, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", t.TempDir())
	s.Restart()
	t.Cleanup(s.Kill)
	return s
}

// Restart ends the server, if it runs, and starts it again, with nothing that it held.
func (s *Server) Restart() {
	s.t.Helper()
	Need(s.t)
	s.Kill()
	s.cmd = exec.Command(Binary(), s.args...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	within(s.t, "redis-server at "+s.Address+" answers", func() bool {
		conn, err := net.DialTimeout("tcp", s.Address, time.Second)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
}

// Kill ends the server as a crash would.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Address starts a server and returns its address.
func Address(t testing.TB) string {
	t.Helper()
	return NewServer(t).Address
}

// Client starts a server and returns a client of it. Its options are go-redis' defaults,
// retries included.
func Client(t testing.TB) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: Address(t)})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// FreePort returns a port of this machine on which nothing listens.
func FreePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// patience is how long something is waited for that must come: long, because the machine may
// be busy, and it costs nothing where it comes in time.
const patience = 90 * time.Second

// within waits until something happens, and fails the test when it does not.
func within(t testing.TB, what string, happens func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !happens(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain until %s", patience, what)
		}
	}
}
