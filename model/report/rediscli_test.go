package report_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/report"
)

// TestLinesAreSafe: in bash every name is one argument, byte by byte.
func TestLinesAreSafe(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skipf("SKIPPED: there is no bash: %v", err)
	}
	for _, name := range []string{"rl:a", "a b", "it's", "$(id)`id`;rm -rf *", "\x1b]0;x\a", "\xff\xfe1", "new\nline\\'", "-n", "ü\x00end"} {
		quoted := report.ShellQuote(name)
		for i := range len(quoted) {
			if quoted[i] < ' ' || quoted[i] > '~' {
				t.Errorf("%q: %q would be obeyed by a terminal", name, quoted)
			}
		}
		out, err := exec.Command(bash, "-c", "printf '%s' "+quoted).Output()
		if err != nil {
			t.Fatalf("%q: bash does not take %s: %v", name, quoted, err)
		}
		want, _, _ := strings.Cut(name, "\x00") // no program has an argument with a NUL
		if string(out) != want {
			t.Errorf("%q: %s is %q in bash", name, quoted, out)
		}
	}
	k := &model.Reading{Key: "rl:a", Type: "zset"}
	lines := report.CommandLines(k, model.Server{Target: "redis://h:6379/0", Role: "master"}, 0)
	for _, want := range []string{"redis-cli -u 'redis://h:6379/0' ZPOPMIN 'rl:a'\n", "redis-cli -u 'redis://h:6379/0' UNLINK 'rl:a'\n"} {
		if !strings.Contains(lines, want) {
			t.Errorf("there is no %q in\n%s", want, lines)
		}
	}
	k.Members, k.Type = []string{"a:1", "a:2"}, "string"
	lines = report.CommandLines(k, model.Server{Target: "redis://h:6379", Role: "cluster"}, 0)
	if strings.Count(lines, "redis-cli -u 'redis://h:6379' -c UNLINK") != 2 || strings.Contains(lines, "ZPOPMIN") {
		t.Errorf("of a cluster it is\n%s", lines)
	}
}

// TestLinesNameTheServer: no line runs at a server that is not the one that is watched.
func TestLinesNameTheServer(t *testing.T) {
	const nowhere = "redis-cli -h HOST -p PORT"
	for _, c := range []struct {
		server model.Server
		want   string // before the command
	}{
		{model.Server{Target: "redis://h:6379/0"}, "redis-cli -u 'redis://h:6379/0'"},
		{model.Server{Target: "rediss://h:6379", DB: 3}, "redis-cli -u 'rediss://h:6379' -n 3"},
		{model.Server{Target: "unix:///run/b.sock"}, "redis-cli -s '/run/b.sock'"},
		{model.Server{Target: "unix://me@/run/it's%20here\x1b]0;", DB: 2}, nowhere + " -n 2"},
		{model.Server{Target: "unix://me@/run/it's%20%1b", DB: 2}, `redis-cli -s $'/run/it\'s \033' -n 2`},
		{model.Server{Target: "unix://…"}, nowhere},
		{model.Server{Target: "redis://a:1, redis://b:2"}, "redis-cli -u 'redis://a:1' -c"},
		{model.Server{Target: "redis://a:1, redis://b:2", Role: "cluster"}, "redis-cli -u 'redis://a:1' -c"},
		{model.Server{Target: "redis+sentinel://h:26379/m/1", DB: 1}, nowhere + " -n 1"},
		{model.Server{Target: "redis://localhost:6379 by 2 exporters"}, nowhere},
		{model.Server{Target: "redis+x://\nredis-cli FLUSHALL\x1b[2J\u202e"}, nowhere},
		{model.Server{}, nowhere},
	} {
		r := &model.Reading{Key: "rl:a", Type: "zset"}
		for _, lines := range []string{report.CommandLines(r, c.server, 0), report.ChangeLines(r, c.server, model.Change{Kind: model.Free}, 0)} {
			if open := strings.HasPrefix(lines, "# redis-cli needs -h and -p of "); open != strings.HasPrefix(c.want, nowhere) {
				t.Errorf("%q: whether the address is asked for is %v in\n%s", c.server.Target, open, lines)
			}
			for line := range strings.Lines(lines) {
				if !strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, c.want+" ZPOPMIN ") && !strings.HasPrefix(line, c.want+" UNLINK ") {
					t.Errorf("%q: %q, want %q", c.server.Target, line, c.want)
				}
			}
			if strings.ContainsAny(lines, "\x1b\u202e") {
				t.Errorf("%q: a terminal would obey %q", c.server.Target, lines)
			}
		}
	}
}

// TestLinesOfChanges: each change names the keys that hold what is counted, and no count falls
// below 0.
func TestLinesOfChanges(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 30, 0, time.UTC))
	minute := limiter.Limit{Count: 10, Window: time.Minute}
	of := func(a limiter.Algorithm, kind string, s limiter.State) *model.Reading {
		s.Algorithm = a
		return &model.Reading{Key: "a", Type: kind, State: s, Target: model.Target{Algorithm: a, Limit: minute, LimitKnown: true, Window: minute.Window}}
	}
	kept := func(library string, from model.LimitFrom, key, pattern string, members ...string) *model.Reading {
		r := of(limiter.SlidingLog, "hash", limiter.State{})
		r.Key, r.Pattern, r.Members, r.Target.Library, r.Target.LimitFrom = key, pattern, members, library, from
		return r
	}
	redisson := kept("redisson", model.LimitOfKey, "api", "api", "api", "{api}:value", "{api}:permits")
	ofClient := kept("redisson", model.LimitOfKey, "{api}:value:c1", "", "api", "{api}:value:c1")
	untaken := kept("redisson", model.LimitOfKey, "api", "api", "api")
	dynamic := kept("upstash-ratelimit", model.LimitOfSibling, "@upstash/ratelimit:a", "@upstash/ratelimit:*", "@upstash/ratelimit:a:29919491")
	bucket := kept("bucket4j", model.LimitOfKey, "b", "b", "b")
	bucket.Target.Limit.Burst = 10
	several := *bucket
	several.Notes = []model.Note{model.OneOfSeveral}
	give := model.Change{Kind: model.Give, Units: 20}
	counter := of(limiter.FixedWindow, "string", limiter.State{Start: now.Floor(time.Minute), Current: 4})
	for _, c := range []struct {
		r      *model.Reading
		change model.Change
		want   string
	}{
		{of(limiter.SlidingLog, "zset", limiter.State{}), model.Change{Kind: model.Give, Units: 20}, "redis-cli ZREMRANGEBYRANK 'a' -20 -1\n"},
		{counter, model.Change{Kind: model.Give, Units: 20}, "redis-cli DECRBY '{a}:fw:1795176000000' 4\n"},
		{counter, model.Change{Kind: model.Free}, "redis-cli UNLINK '{a}:fw:1795176000000'\n"},
		{of(limiter.GCRA, "string", limiter.State{}), model.Change{Kind: model.Give, Units: 20}, "# no single command"},
		{counter, model.Change{Kind: model.Block, For: time.Second}, "redis-cli SET '{a}:blocked' 1795176031000000 PX 1000\n"},
		{redisson, give, "redis-cli INCRBY '{api}:value' 20\n"},
		{redisson, give, "redis-cli HSET 'api' rate 30\n"},
		{redisson, give, "back: HSET 'api' rate 10\n"},
		{redisson, give, "the limit of all who share it from 10 in 1 m to 30 in 1 m, until"},
		{redisson, model.Change{Kind: model.Free}, "redis-cli UNLINK '{api}:value' '{api}:permits'\n"},
		{ofClient, give, "redis-cli HSET 'api' rate 30\n"},
		{ofClient, give, "redis-cli INCRBY '{api}:value:c1' 20\n"},
		{untaken, give, "redis-cli HSET 'api' rate 30\n"},
		{dynamic, give, "redis-cli SET '@upstash/ratelimit:dynamic:global' 30 KEEPTTL\n"},
		{dynamic, give, "back: SET '@upstash/ratelimit:dynamic:global' 10 KEEPTTL\n"},
		{bucket, give, `printf '\000\000\000\000\000\000\000\036' | redis-cli -x SETRANGE 'b' 16` + "\n"},
		{bucket, give, `printf '\000\000\000\000\000\000\000\036' | redis-cli -x SETRANGE 'b' 40` + "\n"},
		{bucket, give, `# printf '\000\000\000\000\000\000\000\012' | redis-cli -x SETRANGE 'b' 16` + "\n"},
		{&several, give, "several limits"},
		{counter, model.Change{Kind: model.Unblock}, "redis-cli UNLINK '{a}:blocked'\n"},
	} {
		got := report.ChangeLines(c.r, model.Server{Target: "redis://h"}, c.change, now)
		if got = strings.ReplaceAll(got, " -u 'redis://h'", ""); !strings.Contains(got, c.want) {
			t.Errorf("%v of a %v: %q, want %q", c.change, c.r.Target.Algorithm, got, c.want)
		}
	}
}

// TestCan: what no line does is not offered, and why.
func TestCan(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 30, 0, time.UTC))
	of := func(library string, a limiter.Algorithm, kind string) *model.Reading {
		limit := limiter.Limit{Count: 10, Window: time.Minute}
		return &model.Reading{Key: "a", Type: kind, State: limiter.State{Algorithm: a}, Target: model.Target{Library: library, Algorithm: a, Limit: limit, LimitKnown: true, Window: time.Minute}}
	}
	give, free, block, unblock := model.Change{Kind: model.Give, Units: 20}, model.Change{Kind: model.Free}, model.Change{Kind: model.Block, For: time.Minute}, model.Change{Kind: model.Unblock}
	for _, c := range []struct {
		r      *model.Reading
		change model.Change
		want   string // "" it can be done
	}{
		{of("", limiter.SlidingLog, "zset"), give, ""},
		{of("", limiter.SlidingLog, "zset"), block, ""},
		{of("", limiter.SlidingLog, "zset"), unblock, ""},
		{of("", limiter.FixedWindow, "string"), give, "no requests that could be given back"},
		{of("redis-rate", limiter.GCRA, "string"), give, "no single command"},
		{of("redis-rate", limiter.GCRA, "string"), block, "redis-rate looks for no block"},
		{of("redis-rate", limiter.GCRA, "string"), unblock, "redis-rate looks for no block"},
		{of("redis-rate", limiter.GCRA, "string"), free, ""},
	} {
		err := report.CheckChangeLines(c.r, model.Server{}, c.change, now)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v of %q (%v): %v, want %q", c.change, c.r.Target.Library, c.r.Target.Algorithm, err, c.want)
		}
	}
}
