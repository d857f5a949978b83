package servertest

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ratescope/limiter/limitertest"
)

// StartCluster starts n masters that share the slots evenly.
func StartCluster(t *testing.T, n int) []*Server {
	t.Helper()
	return StartReplicated(t, n, 0)
}

// StartReplicated starts a cluster of n masters, which come first, with as many replicas each.
func StartReplicated(t *testing.T, n, replicas int) []*Server {
	t.Helper()
	var nodes []*Server
	args := []string{"--cluster", "create"}
	for range n * (1 + replicas) {
		s := Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no")
		nodes = append(nodes, s)
		args = append(args, s.Addr())
	}
	out, err := exec.Command("redis-cli", append(args, "--cluster-replicas", strconv.Itoa(replicas), "--cluster-yes")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
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

func StartSentinel(t *testing.T, conf string) *Server {
	t.Helper()
	s := Start(t)
	s.Kill()
	path := s.Dir + "/sentinel.conf"
	WriteFile(t, path, "port "+strconv.Itoa(s.Port)+"\nbind 127.0.0.1\ndir "+s.Dir+"\n"+conf)
	s.log = &lockedBuffer{}
	s.cmd = exec.Command(limitertest.Binary(), path, "--sentinel")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	Await(t, "the sentinel to listen", func() bool {
		return exec.Command("redis-cli", "-p", strconv.Itoa(s.Port), "PING").Run() == nil
	})
	return s
}
