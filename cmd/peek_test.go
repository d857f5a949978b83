package cmd_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/internal/servertest"
)

// TestPeekSaysTheStricter: of a minute and an hour of one subject peek says the one that denies, whichever of their keys, or
// the name that they have in common, it is given; the label of one names that alone. Keys of another subject have no part.
func TestPeekSaysTheStricter(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	now := s.Amid(t, time.Minute).Time().UTC()
	minute, hour := "rl:alice:"+now.Format("200601021504"), "rl:alice:"+now.Format("2006010215")
	s.CLI("SET", minute, "2", "EX", "100")
	s.CLI("SET", hour, "100", "EX", "5000")
	s.CLI("SET", "rl:bob:"+now.Format("200601021504"), "3", "EX", "100")
	for _, order := range [][2]string{
		{`{name: "rl:{who}:{window:%Y%m%d%H%M}", read: value, limit: 10/1m}`, `{name: "rl:{who}:{window:%Y%m%d%H}", read: value, limit: 100/1h}`},
		{`{name: "rl:{who}:{window:%Y%m%d%H}", read: value, limit: 100/1h}`, `{name: "rl:{who}:{window:%Y%m%d%H%M}", read: value, limit: 10/1m}`},
	} {
		config := write(t, "config.yaml", "rules: ["+order[0]+", "+order[1]+"]\n")
		for key, says := range map[string]string{
			minute: `"limit": 100,`, hour: `"limit": 100,`, "rl:alice": `"limit": 100,`, "rl:bob": `"limit": 10,`,
			"rl:bob:" + now.Format("200601021504"): `"limit": 10,`,
		} {
			r := call(t, "peek", key, "--json", "--redis", s.URL(), "--config", config)
			if allowed := strings.Contains(r.out, `"allowed": true`); r.code != 0 || allowed != strings.Contains(key, "bob") || !strings.Contains(r.out, says) {
				t.Errorf("%s by %s: exit code %d, want %s\n%s%s", key, order[0], r.code, says, r.out, r.err)
			}
		}
	}
}
