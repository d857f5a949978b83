package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ratescope/internal/servertest"
)

// TestSeveralServersInOneView: one table of the keys of two servers, each with its own guards, link and clock;
// one that goes away leaves the other as it is.
func TestSeveralServersInOneView(t *testing.T) {
	t.Parallel()
	eu, us := startRedis(t), startRedis(t)
	add := func(s redisServer, key, member string) {
		s.cli(t, "ZADD", key, strconv.FormatInt(s.now(t).UnixMilli(), 10), member)
	}
	for _, member := range []string{"a", "b", "c"} {
		add(us, "z:both", member)
	}
	add(eu, "z:both", "a")
	add(eu, "z:only-eu", "a")
	add(us, "z:only-us", "a")
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := "targets:\n  in-eu: {redis: '" + eu.URL() + "'}\n  in-us: {redis: '" + us.URL() + "', inject: false}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	term := openTerminal(t, 160, 48)
	term.run("%s in-eu in-us --config %s --watch 'z:*' --algorithm sliding-log --limit 1000/30m --allow-inject", program, config)
	term.wait("in-eu", "in-us", "keys 4", "z:only-eu", "z:only-us")
	term.wait(" 3/1000 ") // the same key on both servers
	for _, of := range []string{"in-eu", "in-us"} {
		if !strings.Contains(rowOf(term.screen(), "z:both", of), of) {
			t.Errorf("z:both of %s is not listed:\n%s", of, term.screen())
		}
	}

	term.selectRow("z:only-us")
	term.pressUntil("!", "inject: false")
	term.press("Space")
	term.wait("inject: false")
	term.selectRow("z:only-eu")
	term.wait("! arms")
	term.arm()
	term.fireOne("ZCARD is 2", func() {}, func() bool { return eu.cli(t, "ZCARD", "z:only-eu") == "2" })
	if got := us.cli(t, "ZCARD", "z:only-us") + us.cli(t, "ZCARD", "z:both") + us.cli(t, "DBSIZE"); got != "132" {
		t.Errorf("firing at a key of one server changed the other: %s", got)
	}
	audit(t, term.env, "z:only-eu", 1)

	us.Kill()
	term.wait("DOWN")
	add(eu, "z:only-eu", "later")
	servertest.Await(t, "the other server is followed", func() bool { return strings.Contains(row(term.screen(), "z:only-eu"), " 3/1000 ") })
	us.Start()
	servertest.Await(t, "both servers answer", func() bool { return strings.Count(term.screen(), "LIVE") == 3 })
	term.press("q")
	term.settled()
}

// rowOf returns the line of the key table that is about a key of a server.
func rowOf(screen, name, server string) string {
	for l := range strings.Lines(screen) {
		if strings.HasPrefix(l, "│") && strings.Contains(l, name) && strings.Contains(l, server) {
			return l
		}
	}
	return ""
}
