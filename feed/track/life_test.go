package track

import (
	"strings"
	"testing"

	"ratescope/limiter"
)

// TestMisfit holds a refusal to make sense: the type that a key has and the type that its rule
// wants are named beside each other only where they differ.
func TestMisfit(t *testing.T) {
	for _, a := range limiter.Algorithms() {
		for _, typ := range []string{"string", "list", "set", "zset", "hash", "stream"} {
			l := &Tracker{Name: "k"}
			l.misfit("k", typ, a)
			if !strings.Contains(l.wrong, " "+typ+" ") && !strings.Contains(l.wrong, " "+typ+",") {
				t.Errorf("%s of %s: %q does not say what the key holds", typ, a, l.wrong)
			}
			if contrast := strings.Contains(l.wrong, "the rule says"); contrast != (wants(a) != typ) {
				t.Errorf("%s of %s: %q", typ, a, l.wrong)
			}
		}
	}
}
