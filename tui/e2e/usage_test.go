package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ratescope/feed/fire"
	"ratescope/internal/servertest"
)

// TestWrongUsage: each is one sentence that names the value, and exit code 2.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args string
		says []string
	}{
		{"snapshot --redis nonsense", []string{"nonsense"}},
		{"snapshot --redis http://localhost:1", []string{"http"}},
		{"snapshot --redis redis://:secret@localhost:6379/x", []string{"URL"}},
		{"snapshot --redis redis://[::1", []string{"URL"}},
		{"--redis nonsense", []string{"nonsense"}},
		{"snapshot --limit 100/", []string{"100/", "100/1m"}},
		{"snapshot --limit -5/1m", []string{"-5/1m", "out of range"}},
		{"snapshot --limit 10/0s", []string{"10/0s"}},
		{"snapshot --limit ten/1m", []string{"ten/1m"}},
		{"snapshot --limit 99999999999999999999/1m", []string{"99999999999999999999/1m"}},
		{"snapshot --algorithm leaky", []string{"leaky", "leaky-bucket"}},
		{"snapshot --burst -1 --limit 5/s", []string{"burst of -1"}},
		{"snapshot --burst many", []string{"many", "whole number"}},
		{"snapshot --refresh soon", []string{"soon", "200ms"}},
		{"snapshot --refresh 0s", []string{"--refresh"}},
		{"snapshot --fps 0", []string{"--fps"}},
		{"--theme nosuch", []string{"nosuch", "phosphor"}},
		{"snapshot --config /does/not/exist.yaml", []string{"/does/not/exist.yaml"}},
		{"snapshot --watch=", []string{"--watch"}},
		{"snapshot extra", []string{"extra"}},
		{"snapshot --nosuch", []string{"--nosuch"}},
		{"snapshot --limit", []string{"--limit"}},
		{"lab", []string{"lab"}},
		{"record", []string{"file"}},
		{"record a b", []string{"file"}},
		{"record a --for soon", []string{"soon"}},
		{"record a --for -1s", []string{"-1s"}},
		{"export x", []string{"x", "--listen"}},
		{"export --listen nonsense", []string{"nonsense", ":9464"}},
		{"export --max-keys 0", []string{"--max-keys 0"}},
		{"replay", []string{"file"}},
		{"replay x --speed fast", []string{"fast", "number"}},
		{"replay /does/not/exist", []string{"/does/not/exist"}},
		{"fire", []string{"key"}},
		{"fire a b", []string{"key"}},
		{"fire k -n 0 --limit 5/s", []string{"0 requests", "10000"}},
		{"fire k -n 10001 --limit 5/s", []string{"10001", "10000"}},
		{"fire k --cost 0 --limit 5/s", []string{"cost of 0"}},
		{"fire k --rate 1001/s --limit 5/s", []string{"1001/s", "1000"}},
		{"fire k --rate fast --limit 5/s", []string{"fast"}},
		{"fire nosuchkey", []string{"nosuchkey", "--limit"}},
		{"peek", []string{"key"}},
		{"verify", []string{"file"}},
		{"verify /does/not/exist.json", []string{"there is no file /does/not/exist.json"}},
		{"lab ./nosuch.json", []string{"there is no file ./nosuch.json"}},
		{"accuracy --trace /does/not/exist", []string{"there is no file /does/not/exist"}},
		{"verify x.json --on disk", []string{"disk"}},
		{"verify x.json --on redis", []string{"--redis"}},
		{"", []string{"terminal", "snapshot"}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			t.Parallel()
			r := ratescope(t, strings.Fields(tc.args)...)
			r.sentence(t, 2, tc.says...)
			if strings.Contains(r.err, "secret") {
				t.Errorf("the password shows: %q", r.err)
			}
		})
	}
	ratescope(t, "peek", "").sentence(t, 2, "key", "empty")
}

func TestBrokenConfig(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not yaml":      "rules: [",
		"no list":       "just words",
		"bad limit":     "- {match: 'a*', limit: 100/}",
		"bad algorithm": "- {match: 'a*', algorithm: magic}",
		"unknown field": "- {match: 'a*', limt: 5/s}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "rules.yaml")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			ratescope(t, "snapshot", "--config", path).sentence(t, 2, "rules.yaml")
		})
	}
}

func TestServerTrouble(t *testing.T) {
	t.Parallel()
	t.Run("no server", func(t *testing.T) {
		t.Parallel()
		url := "redis://127.0.0.1:" + strconv.Itoa(servertest.FreePort(t))
		ratescope(t, "snapshot", "--json", "--redis", url).sentence(t, 4, "127.0.0.1")
		ratescope(t, "peek", "k", "--redis", url).sentence(t, 4, "127.0.0.1")
		ratescope(t, "fire", "k", "--limit", "5/s", "--redis", url, "--allow-inject").sentence(t, 4, "127.0.0.1")
	})
	t.Run("password", func(t *testing.T) {
		t.Parallel()
		s := startRedis(t, "--requirepass", "right")
		for _, user := range []string{"", ":wrong@"} {
			r := ratescope(t, "snapshot", "--redis", "redis://"+user+s.Addr())
			r.sentence(t, 4, "password")
			if strings.Contains(r.err, "wrong@") {
				t.Errorf("the password shows: %q", r.err)
			}
		}
		var snap snapshot
		ratescope(t, "snapshot", "--json", "--redis", "redis://:right@"+s.Addr()).ok(t, &snap)
		if strings.Contains(snap.Server, "right") || len(snap.Keys) != 0 {
			t.Errorf("server %q, keys %v", snap.Server, snap.Keys)
		}
	})
	t.Run("nothing matches", func(t *testing.T) {
		t.Parallel()
		s := startRedis(t)
		s.cli(t, "SET", "other", "1")
		r := ratescope(t, "snapshot", "--json", "--redis", s.URL(), "--watch", "nothing:*")
		var snap snapshot
		r.ok(t, &snap)
		if snap.Keys == nil || len(snap.Keys) != 0 || !strings.Contains(r.err, "nothing:*") {
			t.Errorf("keys %v, stderr %q", snap.Keys, r.err)
		}
	})
}

// TestStrangeKeys: what cannot be read says why, beside the keys that can.
func TestStrangeKeys(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	now := strconv.FormatInt(s.now(t).UnixMilli(), 10)
	s.cli(t, "ZADD", "s:good", now, "m")
	s.cli(t, "ZADD", "s:garbage", "3.7", "a", "-inf", "b", "inf", "c", "12", "d")
	s.cli(t, "XADD", "s:nocount", "*", "amount", "1")
	s.cli(t, "XADD", "s:badcount", "*", "count", "many")
	s.cli(t, "RPUSH", "s:list", "1", "2")
	s.cli(t, "SET", "s:text", "hello")
	args := []string{"--redis", s.URL(), "--limit", "10/1m", "--algorithm", "sliding-log"}
	var snap snapshot
	ratescope(t, append(args, "snapshot", "--json", "--watch", "s:*")...).ok(t, &snap)
	if k := snap.find(t, "s:good"); k.Used == nil || *k.Used != 1 {
		t.Errorf("the good key beside the strange ones: used %s", number(k.Used))
	}
	for _, name := range []string{"s:garbage", "s:nocount", "s:badcount"} {
		if k := snap.find(t, name); len(k.Notes) == 0 || k.Used != nil && *k.Used > 10 {
			t.Errorf("%s: used %s, notes %q", name, number(k.Used), k.Notes)
		}
	}
	for _, name := range []string{"s:list", "s:nocount"} {
		ratescope(t, append(args, "peek", name)...).sentence(t, 1, name)
		ratescope(t, append(args, "fire", name, "--allow-inject")...).sentence(t, 1, name)
	}
	if got := s.cli(t, "LRANGE", "s:list", "0", "-1"); got != "1\n2" {
		t.Errorf("the list is now %q", got)
	}
}

// TestInterrupted: a signal ends what takes long, with what was done so far. The requests that were
// under way at the signal may have no answer, or not have been sent yet.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	r := interrupt(t, 3, "fire", "demo:mine", "-n", "1000", "--rate", "20/s", "--limit", "1000/1h", "--json")
	if r.code != 130 {
		t.Errorf("exit code %d, want 130; stderr %q", r.code, r.err)
	}
	var f fired
	(result{out: r.out}).ok(t, &f)
	n, sum := len(f.Requests), f.Summary
	if n < 3 || n > 500 || sum.Admitted+sum.Unknown+sum.Error != n || sum.Unknown+sum.Error > fire.InFlight || sum.Admitted < 1 {
		t.Errorf("%d requests before the signal, summary %+v", n, sum)
	}
}

func TestBuildData(t *testing.T) {
	t.Parallel()
	r := ratescope(t, "--version")
	r.ok(t, nil)
	if !strings.Contains(r.out, "ratescope") || !strings.Contains(r.out, "go1.") {
		t.Errorf("--version says %q", r.out)
	}
	for _, args := range []string{"--help", "snapshot --help", "fire --help", "peek --help", "verify --help", "completion bash", "man"} {
		r := ratescope(t, strings.Fields(args)...)
		r.ok(t, nil)
		if len(r.out) < 500 || strings.Contains(r.out, "\x1b") || strings.Contains(r.out, "%!") {
			t.Errorf("%s prints %q", args, r.out)
		}
	}
}

// TestHelp: a command's help lists the shared flags that it heeds and no others, and it
// takes the others nevertheless.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ command, heeds, ignores string }{
		{"", "redis watch limit algorithm burst config refresh budget allow-inject theme fps ascii plain no-animation mask", ""},
		{"snapshot", "redis watch limit config json mask", "theme fps ascii plain no-animation refresh allow-inject"},
		{"peek", "redis limit json mask", "watch theme plain refresh allow-inject"},
		{"fire", "redis limit allow-inject number cost rate", "watch theme plain refresh"},
		{"record", "redis watch limit refresh for force max-mb mask", "theme ascii plain allow-inject"},
		{"capsule", "redis watch limit refresh for force mask theme", "ascii plain fps allow-inject"},
		{"replay", "theme fps ascii plain mask speed", "redis watch limit budget tls-ca allow-inject"},
		{"export", "redis watch limit mask listen max-keys", "theme ascii plain allow-inject"},
		{"verify", "redis tls-ca on allow-inject", "watch limit theme plain mask"},
		{"lab", "theme ascii no-animation present trace script limit", "redis watch fps plain"},
		{"accuracy", "limit ascii trace seed json", "redis watch theme budget"},
	} {
		r := ratescope(t, append(strings.Fields(tc.command), "--help")...)
		r.ok(t, nil)
		_, flags, _ := strings.Cut(r.out, "FLAGS")
		lists := func(flag string) bool { return strings.Contains(flags, "--"+flag+" ") }
		for _, flag := range strings.Fields(tc.heeds) {
			if !lists(flag) {
				t.Errorf("ratescope %s --help does not list --%s", tc.command, flag)
			}
		}
		for _, flag := range strings.Fields(tc.ignores) {
			if lists(flag) {
				t.Errorf("ratescope %s --help lists --%s, which it does not heed", tc.command, flag)
			}
		}
	}
	ratescope(t, strings.Fields("snapshot --theme nord --ascii --fps 5 --refresh 1s --allow-inject")...).ok(t, nil)
}
