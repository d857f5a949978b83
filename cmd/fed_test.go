package cmd

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestFromIsForExporters: what --from cannot be given with, and URLs that are none of an exporter, are wrong
// usage with a remedy; so are parts of a server that are none.
func TestFromIsForExporters(t *testing.T) {
	for _, tc := range []struct{ args, says string }{
		{"--from http://a --redis redis://b", "--redis"},
		{"--from http://a --limit 10/s", "ratescope export"},
		{"--from http://a --allow-inject", "--allow-inject"},
		{"--from http://a prod", "prod"},
		{"--from redis://a", "no URL of an exporter"},
		{"--from http://a --fps 0", "--fps"},
		{"--from http://a --password-file /nowhere", "/nowhere"},
		{"export --shard 5/4", "1/4"},
		{"export --slots 9", "0-8191"},
		{"export --slots 0-1 --shard 1/2", "one of them"},
	} {
		p := new(program)
		root := p.tree()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(strings.Fields(tc.args))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !errors.As(p.failed, new(exitError)) || !strings.Contains(p.failed.Error(), tc.says) {
			t.Errorf("%s: %v", tc.args, p.failed)
		}
	}
}
