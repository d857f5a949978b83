package servertest

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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
	for _, s := range nodes[1:] { // all others are made known by the first
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
	Await(t, "the sentinel to listen", func() bool {
		return exec.Command("redis-cli", "-p", strconv.Itoa(s.Port), "PING").Run() == nil
	})
	s.Ask("SENTINEL", "DEBUG", "TILT-TRIGGER", "60000")
	return s
}

// DownAfter is how long a sentinel of the tests waits for an answer: longer than a machine stands still, after
// which a master that is well would lose its role.
const DownAfter = 4 * time.Second
