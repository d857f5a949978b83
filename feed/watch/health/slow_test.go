package health

import (
	"reflect"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestSlowLogHasNoValues: of the commands of others only names are kept.
func TestSlowLogHasNoValues(t *testing.T) {
	for text, want := range map[string]struct {
		command string
		keys    []string
		rest    int
	}{
		"SET session:1 s3cret EX 60":              {"SET", []string{"session:1"}, 3},
		"hset user:1 password s3cret":             {"HSET", []string{"user:1"}, 3 - 1},
		"MGET a b c":                              {"MGET", []string{"a", "b", "c"}, 0},
		"EVALSHA 0123 2 a b s3cret":               {"EVALSHA", []string{"a", "b"}, 1},
		"EVAL s3cret -5 a":                        {"EVAL", nil, 3},
		"EVAL s3cret 99999999999999999999 a":      {"EVAL", nil, 3},
		"EVAL s3cret 9 a":                         {"EVAL", []string{"a"}, 0},
		"CONFIG SET requirepass s3cret":           {"CONFIG SET", nil, 2},
		"AUTH s3cret":                             {"AUTH", nil, 1},
		"MODULE.SOMETHING s3cret":                 {"MODULE.SOMETHING", nil, 1},
		"KEYS s3cret*":                            {"KEYS", nil, 1},
		"DEL " + strings.Repeat("k ", 20) + "end": {"DEL", strings.Fields(strings.Repeat("k ", 16)), 5},
		"PING": {"PING", nil, 0},
		"":     {"", nil, 0},
	} {
		c := slowCommand(redis.SlowLog{ID: 7, Args: strings.Fields(text)})
		if c.ID != 7 || c.Command != want.command || c.Rest != want.rest || len(c.Keys) != len(want.keys) || len(want.keys) > 0 && !reflect.DeepEqual(c.Keys, want.keys) {
			t.Errorf("%q: %+v, want %+v", text, c, want)
		}
		if strings.Contains(c.Command+strings.Join(c.Keys, " "), "s3cret") {
			t.Errorf("%q: a value is kept: %+v", text, c)
		}
	}
}
