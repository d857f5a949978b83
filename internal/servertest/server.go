// Package servertest starts the servers that tests need: Redis servers,
// clusters and sentinels on free ports, an authority that signs certificates, and a proxy
// that does harm. The server is redis-server, or the program that RATESCOPE_REDIS_SERVER
// names: another version, or Valkey. Tests skip, loudly, where it is not installed, and
// fail instead when RATESCOPE_REQUIRE_REDIS is set.
package servertest

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
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

// Server is a redis-server of the test's own on a free port of this machine, which saves nothing
// and ends with the test.
type Server struct {
	t    testing.TB
	Port int
	args []string
	Dir  string
	cmd  *exec.Cmd
}

// Start starts a server with these arguments on top of its own, and waits for it.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	Need(t)
	for range mostPorts {
		s := &Server{t: t, Port: FreePort(t), args: args, Dir: t.TempDir()}
		if s.launch(); s.listens() {
			s.await(false)
			t.Cleanup(s.Kill)
			return s
		}
		s.Kill()
	}
	t.Fatalf("the server could listen on none of %d ports that were free", mostPorts)
	return nil
}

// mostPorts is on how many ports a server is tried. A port that was free may be given to another test, of this
// package or of one that is tested at the same time, before the server listens there: what then answers is
// the other's server. A node of a cluster listens on a second port, 10,000 above, which may be taken or too high.
const mostPorts = 10

// listens waits until the server itself listens on its ports, and reports false where it cannot.
func (s *Server) listens() (own bool) {
	s.t.Helper()
	Await(s.t, "the server to say that it listens", func() bool {
		content, _ := os.ReadFile(s.log()) // it is there before the server is
		log := string(content)
		own = strings.Contains(log, "Ready to accept connections")
		return own || strings.Contains(log, "Failed listening") || strings.Contains(log, "already in use") ||
			strings.Contains(log, "port number too high")
	})
	return own
}

// Client starts a server and returns a client of it. Its options are go-redis' defaults,
// retries included.
func Client(t testing.TB) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: Start(t).Addr()})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Start starts the server, again perhaps, with the arguments that it had and more, and waits
// until it answers, if only that it is loading where that was asked for.
func (s *Server) Start(more ...string) {
	s.t.Helper()
	s.launch(more...)
	s.await(len(more) > 0)
}

// launch starts the process of the server.
func (s *Server) launch(more ...string) {
	s.t.Helper()
	args := []string{"--port", strconv.Itoa(s.Port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.Dir,
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"} // a replica is in sync in less than a second, not in 5 or 10
	s.run(slices.Concat(args, s.args, more)...)
}

// log is the file of what the server says.
func (s *Server) log() string { return s.Dir + "/log" }

// run starts the program of the server.
func (s *Server) run(args ...string) {
	s.t.Helper()
	s.cmd = exec.Command(Binary(), args...)
	log, err := os.Create(s.log())
	if err == nil {
		defer log.Close()
		s.cmd.Stdout, s.cmd.Stderr = log, log
		err = s.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// await waits until the server answers; with loading, also that it is loading.
func (s *Server) await(loading bool) {
	s.t.Helper()
	Await(s.t, "the server to listen", func() bool {
		c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
		if err != nil {
			return false
		}
		defer c.Close()
		fmt.Fprintf(c, "PING\r\n")
		c.SetReadDeadline(time.Now().Add(time.Second))
		line, err := bufio.NewReader(c).ReadString('\n')
		return err == nil && (loading || !strings.Contains(line, "LOADING"))
	})
}

// Restart ends the server and starts it again, with nothing that it held.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Start()
}

// Kill ends the server as a crash would.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.cmd = nil
}

func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.Port) }

func (s *Server) URL() string { return "redis://" + s.Addr() }

// CLI runs one command as redis-cli does, over a connection of its own, and returns what redis-cli would print: the items of
// the reply, or an error of the server, a line each.
func (s *Server) CLI(args ...string) string {
	s.t.Helper()
	out, err := s.ask(args)
	if err != nil {
		s.t.Fatalf("%q: %v", args, err)
	}
	return out
}

// Ask is CLI for a server that may hang up, as one does that changes its role, or that is not there yet.
func (s *Server) Ask(args ...string) string {
	out, _ := s.ask(args)
	return out
}

// ask runs one command. It fails where there is no answer.
func (s *Server) ask(args []string) (string, error) {
	c, err := proto.Dial(s.Addr())
	if err != nil {
		return "", err
	}
	defer c.Close()
	reply, err := c.Do(args...)
	var items []string
	for reply != "" {
		item, rest, _ := strings.Cut(reply, "\r\n")
		if reply = rest; item[0] == '$' {
			n, _ := strconv.Atoi(item[1:])
			item = "$" + rest[:max(n, 0)]
			reply = strings.TrimPrefix(rest[max(n, 0):], "\r\n")
		}
		if item[0] != '*' {
			items = append(items, item[1:])
		}
	}
	return strings.TrimSpace(strings.Join(items, "\n")), err
}

// Client returns a client of the server, which bears a server that stands still, for the time of the test.
func (s *Server) Client() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2, ReadTimeout: Patience, WriteTimeout: Patience})
	s.t.Cleanup(func() { c.Close() })
	return c
}

// Now is the server's clock.
func (s *Server) Now() limiter.Instant {
	f := strings.Fields(s.CLI("TIME"))
	sec, _ := strconv.ParseInt(f[0], 10, 64)
	us, _ := strconv.ParseInt(f[1], 10, 64)
	return limiter.Instant(sec*1e6 + us)
}

// Amid returns the server's clock when the present period, such as an hour or a day of UTC, lasts for a third of it or for a
// minute more: what a test then writes belongs to the same period when it is read, also on a busy machine.
func (s *Server) Amid(t testing.TB, period time.Duration) (now limiter.Instant) {
	t.Helper()
	Within(t, 2*time.Minute, "the next "+period.String(), func() bool {
		now = s.Now()
		return now.Floor(period).Add(period).Sub(now) >= min(period/3, time.Minute)
	})
	return now
}

// Patience is how long a test waits for what must come. It is long because the machine may
// be busy with other things; what comes in time costs no more than it takes.
const Patience = 30 * time.Second

// Await waits until a condition holds.
func Await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	Within(t, Patience, what, ok)
}

// Within polls a condition until it holds.
func Within(t testing.TB, d time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(d)
	for begun := time.Now(); !ok(); begun = time.Now() {
		if begun.After(deadline) {
			t.Fatalf("waited %v in vain for %s", d, what)
		}
		time.Sleep(min(max(5*time.Millisecond, 3*time.Since(begun)), 50*time.Millisecond)) // a question that takes long is asked less often
	}
}

// CPU returns the processor time that the server has taken, by its own account.
func (s *Server) CPU() time.Duration {
	s.t.Helper()
	return CPUOf(s.CLI("INFO", "cpu"))
}

// CPUOf reads the processor time out of what INFO says.
func CPUOf(info string) time.Duration {
	var sum float64
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			v, _ := strconv.ParseFloat(value, 64)
			sum += v
		}
	}
	return time.Duration(sum * float64(time.Second))
}

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Freeze stops the server's process, which keeps its connections open; thaw lets it go on.
func (s *Server) Freeze() { s.cmd.Process.Signal(syscall.SIGSTOP) }

func (s *Server) Thaw() { s.cmd.Process.Signal(syscall.SIGCONT) }

func WriteFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Main runs the tests of a package that wait for servers most of the time, eight at once
// unless -parallel says how many. It returns the exit code.
func Main(m *testing.M) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8") // a flag of this name and kind exists in every test
	}
	return m.Run()
}

// StartCluster starts n masters that share the slots evenly.
func StartCluster(t *testing.T, n int) []*Server {
	t.Helper()
	return StartReplicated(t, n, 0)
}

// StartReplicated starts a cluster of n masters, which come first, with as many replicas each.
func StartReplicated(t *testing.T, n, replicas int) []*Server {
	t.Helper()
	var nodes []*Server
	for range n * (1 + replicas) {
		nodes = append(nodes, Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", nodeTimeout, "--cluster-require-full-coverage",
			"no"))
	}
	for i, s := range nodes {
		s.CLI("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		if i < n {
			args := []string{"CLUSTER", "ADDSLOTS"}
			for slot := firstSlot(i, n); slot < firstSlot(i+1, n); slot++ {
				args = append(args, strconv.Itoa(slot))
			}
			s.CLI(args...)
		}
	}
	meet(t, nodes)
	for i, s := range nodes[n:] {
		master := nodes[i%n].CLI("CLUSTER", "MYID")
		Await(t, "a node to become a replica", func() bool { return s.CLI("CLUSTER", "REPLICATE", master) == "OK" })
	}
	Await(t, "the cluster to be well", func() bool {
		return !slices.ContainsFunc(nodes, func(s *Server) bool { return !strings.Contains(s.CLI("CLUSTER", "INFO"), "cluster_state:ok") })
	})
	Await(t, "every node to know all others", func() bool {
		for _, s := range nodes {
			slots := s.CLI("CLUSTER", "SLOTS")
			for _, other := range nodes {
				if !strings.Contains(slots, strconv.Itoa(other.Port)) {
					return false
				}
			}
		}
		return true
	})
	for _, s := range nodes[n:] {
		Await(t, "a replica to follow its master", func() bool { return strings.Contains(s.CLI("INFO", "replication"), "master_link_status:up") })
	}
	return nodes
}

// firstSlot returns the first slot of the master i of n that share all 16,384 evenly.
func firstSlot(i, n int) int { return (i*16384 + n/2) / n }

// nodeTimeout is after how many milliseconds without an answer a node of a cluster is held to be away by the
// others: longer than a machine stands still.
const nodeTimeout = "5000"

// meet makes nodes known to one another. A node that stands still loses a handshake, which is then begun
// anew; redis-cli --cluster create begins one only, and waits for its end for ever.
func meet(t *testing.T, nodes []*Server) {
	t.Helper()
	met := func(s, other *Server) bool {
		for line := range strings.Lines(s.CLI("CLUSTER", "NODES")) {
			if strings.Contains(line, other.Addr()+"@") && !strings.Contains(line, "handshake") {
				return true
			}
		}
		s.CLI("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(other.Port))
		return false
	}
	for i, s := range nodes { // what one learns from another takes seconds
		for _, other := range nodes[:i] {
			met(s, other)
		}
	}
	for _, s := range nodes[1:] { // all others are made known by the first, too
		Await(t, "two nodes to know each other", func() bool { return met(s, nodes[0]) && met(nodes[0], s) })
	}
	Await(t, "all nodes to know one another", func() bool {
		return !slices.ContainsFunc(nodes, func(s *Server) bool {
			known := s.CLI("CLUSTER", "NODES")
			return strings.Contains(known, "handshake") || strings.Count(known, "@") != len(nodes)
		})
	})
}

// StartSentinel starts a sentinel with the lines of a configuration file. It goes on where it stood still itself,
// after which a sentinel does nothing for half a minute; those before Redis 7 do not know how to.
func StartSentinel(t *testing.T, conf string) *Server {
	t.Helper()
	s := Start(t)
	s.Kill()
	path := s.Dir + "/sentinel.conf"
	WriteFile(t, path, "port "+strconv.Itoa(s.Port)+"\nbind 127.0.0.1\ndir "+s.Dir+"\n"+conf)
	s.run(path, "--sentinel")
	Await(t, "the sentinel to listen", func() bool { return s.Ask("PING") == "PONG" })
	s.Ask("SENTINEL", "DEBUG", "TILT-TRIGGER", "60000")
	return s
}

// DownAfter is how long a sentinel of the tests waits for an answer: longer than a machine stands still, after
// which a master that is well would lose its role.
const DownAfter = 4 * time.Second
