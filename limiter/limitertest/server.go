package limitertest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RequireRedis is the environment variable that makes a missing redis-server a failure
// instead of a skipped test.
const RequireRedis = "RATESCOPE_REQUIRE_REDIS"

// Address starts a real redis-server that holds nothing and saves nothing, on a free
// port of this machine, and ends it with the test.
func Address(t testing.TB) string {
	t.Helper()
	return start(t)
}

// Cluster starts a real server as the only node of a cluster, which holds every slot and
// refuses what would not work on several nodes, and returns a client of it.
func Cluster(t testing.TB) *redis.ClusterClient {
	t.Helper()
	address := start(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf")
	node := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = node.Close() }()
	ctx := context.Background()
	if err := node.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(node.ClusterInfo(ctx).Val(), "cluster_state:ok"); {
		if time.Now().After(deadline) {
			t.Fatal("the cluster does not come up")
		}
		time.Sleep(5 * time.Millisecond)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address}})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func start(t testing.TB, extra ...string) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv(RequireRedis) != "" {
			t.Fatalf("redis-server is not installed, and %s is set", RequireRedis)
		}
		t.Skip("SKIPPED: redis-server is not installed, so nothing was tested against a real server")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	args := append([]string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir()}, extra...)
	cmd := exec.Command(path, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	await(t, address)
	return address
}

// Client returns a client of a server started by Address. Its options are go-redis'
// defaults, retries included.
func Client(t testing.TB) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: Address(t)})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// await returns when the server answers.
func await(t testing.TB, address string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server at %s does not answer: %v", address, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
