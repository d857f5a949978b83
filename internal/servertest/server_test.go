package servertest

import (
	"net"
	"testing"
)

// TestAPortThatIsTaken: a server whose port another one has taken is told from that one, which answers there.
func TestAPortThatIsTaken(t *testing.T) {
	first := Start(t)
	second := &Server{t: t, Port: first.Port, Dir: t.TempDir()}
	t.Cleanup(second.Kill)
	if second.launch(); second.listens() {
		t.Error("the server of another test is taken for its own")
	}
	if !first.listens() {
		t.Error("the server that listens is not known")
	}
}

// TestAClusterPortThatIsTaken: a node of a cluster that cannot listen on its second port, 10,000 above
// the first, says so at once, as does one whose second port would be too high.
func TestAClusterPortThatIsTaken(t *testing.T) {
	Need(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, port := range []int{taken.Addr().(*net.TCPAddr).Port - 10_000, 60_000} {
		node := &Server{t: t, Port: port, Dir: t.TempDir(), args: []string{"--cluster-enabled", "yes"}}
		t.Cleanup(node.Kill)
		if node.launch(); node.listens() {
			t.Errorf("a node listens on port %d", port)
		}
	}
}

// TestCLI: replies are text as redis-cli prints it.
func TestCLI(t *testing.T) {
	s := Start(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"SET", "k", "a\r\n$3\r\nb"}, "OK"},
		{[]string{"GET", "k"}, "a\r\n$3\r\nb"},
		{[]string{"GET", "none"}, ""},
		{[]string{"RPUSH", "l", "a", "", "b"}, "3"},
		{[]string{"LRANGE", "l", "0", "-1"}, "a\n\nb"},
		{[]string{"LRANGE", "none", "0", "-1"}, ""},
		{[]string{"EVAL", "return {1, {'a', false}, 'b'}", "0"}, "1\na\n\nb"},
		{[]string{"GET", "l"}, "WRONGTYPE Operation against a key holding the wrong kind of value"},
	} {
		if got := s.CLI(c.args...); got != c.want {
			t.Errorf("%q is %q, want %q", c.args, got, c.want)
		}
	}
}
