package session

import (
	"fmt"
	"strings"
	"testing"
)

// TestCleanedKeepsNames: a long name is cleaned once, also when others come between, a short one
// each time, and what is kept stays within its bound.
func TestCleanedKeepsNames(t *testing.T) {
	var c cleaned
	times := map[string]int{}
	clean := func(key string) string { times[key]++; return strings.ToUpper(key) }
	long := strings.Repeat("key", 100)
	for range 3 {
		for _, key := range []string{long, "short", long + "2"} {
			if got := c.of(key, clean); got != strings.ToUpper(key) {
				t.Errorf("%s is shown as %s", key, got)
			}
		}
	}
	if times[long] != 1 || times[long+"2"] != 1 || times["short"] != 3 {
		t.Errorf("the names were cleaned %v times", times)
	}
	for i := range 10_000 {
		c.of(fmt.Sprint(i)+long, clean)
		if kept := len(c.names) * 2 * len(long); kept > mostCleaned {
			t.Fatalf("%d bytes are kept", kept)
		}
	}
	if len(c.names) == 0 {
		t.Error("nothing is kept")
	}
}
