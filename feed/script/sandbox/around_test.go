package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"ratescope/internal/servertest"
)

// TestTheLastMillisecond ends while the expiry of a key is set, as it does once in some ten thousand calls: the script still
// finds the key.
func TestTheLastMillisecond(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t)
	if err := client.Set(t.Context(), "k", "7", 0).Err(); err != nil {
		t.Fatal(err)
	}
	const late = `local server, times = redis, 0
		local redis = setmetatable({call = function(verb, ...)
			local reply = server.call(verb, ...)
			if verb == 'PEXPIRE' and times < 2 then times = times + 1 server.call('DEL', 'k') end
			return reply
		end}, {__index = server})
		`
	text := late + strings.Replace(around, "--[[script]]", " return redis.call('GET', KEYS[1])", 1)
	reply, err := client.Eval(t.Context(), text, []string{"k"}, 1, 0, 1, 1, "k", 1, "k").Slice()
	if err != nil || len(reply) != 4 || fmt.Sprint(reply[3]) != "[7]" {
		t.Errorf("the script finds %v, %v; want 7", reply, err)
	}
}
