package servertest

import "testing"

// TestAPortThatIsTaken: a server whose port another one has taken is told from that one, which answers there.
func TestAPortThatIsTaken(t *testing.T) {
	first := Start(t)
	second := &Server{t: t, Port: first.Port, Dir: t.TempDir()}
	t.Cleanup(second.Kill)
	if second.Start(); second.listens() {
		t.Error("the server of another test is taken for its own")
	}
	if !first.listens() {
		t.Error("the server that listens is not known")
	}
}
