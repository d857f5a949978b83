package cmd

import (
	"io"
	"path/filepath"
	"testing"
)

// TestAwayIsOneCode: what reads a server that is away ends with the same code in every command.
func TestAwayIsOneCode(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"snapshot"}, {"snapshot", "--json"}, {"peek", "k", "--limit", "10/1m"}, {"identify"},
		{"fire", "k", "-n", "1", "--limit", "10/1m", "--allow-inject"},
		{"record", filepath.Join(dir, "r.jsonl")}, {"capsule", filepath.Join(dir, "c.zip")},
	} {
		if code := Run("", append(args, "--redis", "redis://127.0.0.1:1"), io.Discard, io.Discard); code != exitNothing {
			t.Errorf("%v ended with %d, want %d", args, code, exitNothing)
		}
	}
}
