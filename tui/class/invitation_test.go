package class

import (
	"net"
	"testing"
)

func TestTheLineOfAStudentNamesAMachine(t *testing.T) {
	for at, want := range map[string]string{
		"127.0.0.1:2222": "ssh -p 2222 NAME@127.0.0.1", "[::1]:22": "ssh -p 22 NAME@::1",
		"[::]:2222": "ssh -p 2222 NAME@THIS-MACHINE", "0.0.0.0:2222": "ssh -p 2222 NAME@THIS-MACHINE",
	} {
		addr, err := net.ResolveTCPAddr("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if got := invitation(addr); got != want {
			t.Errorf("a class at %s is joined with %q, want %q", at, got, want)
		}
	}
}
