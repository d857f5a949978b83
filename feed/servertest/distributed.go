package servertest

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// StartCluster starts masters that share the slots evenly.
func StartCluster(t *testing.T, n int) []*Server {
	t.Helper()
	var nodes []*Server
	args := []string{"--cluster", "create"}
	for range n {
		s := Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no")
		nodes = append(nodes, s)
		args = append(args, s.Addr())
	}
	out, err := exec.Command("redis-cli", append(args, "--cluster-yes")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	Within(t, 10*time.Second, "the cluster to be well", func() bool {
		return !slices.ContainsFunc(nodes, func(s *Server) bool { return !strings.Contains(s.CLI("CLUSTER", "INFO"), "cluster_state:ok") })
	})
	return nodes
}

func StartSentinel(t *testing.T, conf string) *Server {
	t.Helper()
	s := Start(t)
	s.Kill()
	path := s.Dir + "/sentinel.conf"
	WriteFile(t, path, "port "+strconv.Itoa(s.Port)+"\nbind 127.0.0.1\ndir "+s.Dir+"\n"+conf)
	s.log = &lockedBuffer{}
	s.cmd = exec.Command(Binary(), path, "--sentinel")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	Within(t, 10*time.Second, "the sentinel to listen", func() bool {
		return exec.Command("redis-cli", "-p", strconv.Itoa(s.Port), "PING").Run() == nil
	})
	return s
}
