package health

import (
	"strings"
	"testing"
)

// TestSlowCommand tells of a slow command its name and its keys, and no value.
func TestSlowCommand(t *testing.T) {
	for args, want := range map[string]string{
		"":                                "",
		"PING":                            "PING",
		"GET session:1":                   "GET session:1",
		"SET session:1 s3cr3t EX 60":      "SET session:1 (3 more arguments)",
		"LPUSH q s3cr3t":                  "LPUSH q (1 more argument)",
		"CONFIG SET requirepass s3cr3t":   "CONFIG SET (2 more arguments)",
		"AUTH default s3cr3t":             "AUTH (2 more arguments)",
		"ECHO s3cr3t":                     "ECHO (1 more argument)",
		"EVALSHA 0a1b 2 rl:a rl:b s3cr3t": "EVALSHA 0a1b rl:a rl:b (1 more argument)",
		"EVAL s3cr3t 1 rl:a 5":            "EVAL rl:a (1 more argument)",
		"FCALL limit 1 rl:a 5 6":          "FCALL limit rl:a (2 more arguments)",
		"EVALSHA 0a1b 99 rl:a ... ":       "EVALSHA 0a1b rl:a ...",
		"EVALSHA 0a1b s3cr3t x":           "EVALSHA 0a1b (1 more argument)",
		"DEBUG SLEEP 1":                   "DEBUG SLEEP (1 more argument)",
	} {
		if got := slowCommand(strings.Fields(args)); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}
