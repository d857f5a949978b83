package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ratescope/feed/config"
	"ratescope/limiter"
)

// TestRules reads a plain list, as before there were targets and alerts, and the same in
// its section.
func TestRules(t *testing.T) {
	list := "- match: api:*\n  algorithm: sliding-log\n  limit: 100/1m\n- match: 'login:*'\n  limit: 5\n  window: 30s\n  burst: 2\n" +
		"- match: '*'\n  algorithm: auto\n  window: 10s\n- {match: 'rl:*', library: redis-rate}\n"
	want := []config.Rule{
		{Match: "api:*", Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 100, Window: time.Minute}, LimitKnown: true,
			Window: time.Minute},
		{Match: "login:*", Limit: limiter.Limit{Count: 5, Window: 30 * time.Second, Burst: 2}, LimitKnown: true, Window: 30 * time.Second},
		{Match: "*", Limit: limiter.Limit{Window: 10 * time.Second}, Window: 10 * time.Second},
		{Match: "rl:*", Library: "redis-rate"},
	}
	for name, text := range map[string]string{"a list": list, "a section": "rules:\n" + strings.ReplaceAll("\n"+list, "\n", "\n  ")} {
		c, err := config.Parse([]byte(text))
		if err != nil || !reflect.DeepEqual(c.Rules, want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", name, err, c, want)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "rules:\n", "rules: []\ntargets: {}\nalerts:\n"} {
		if c, err := config.Parse([]byte(empty)); err != nil || len(c.Rules)+len(c.Targets)+len(c.Alerts) > 0 {
			t.Errorf("%q: %+v %v", empty, c, err)
		}
	}
}

// TestWhole reads the example of the documentation.
func TestWhole(t *testing.T) {
	c, err := config.Parse([]byte(`
rules:   [{match: "rl:*", library: rate-limiter-flexible, algorithm: fixed-window, limit: 100/1m}]
targets: {prod: {redis: "rediss://cache:6379", production: true, inject: false, colour: red, password_file: /run/secrets/redis}}
alerts:
  - {name: throttled, match: "rl:*", when: utilization >= 1, for: 2s, severity: page,
     webhook: "http://127.0.0.1:9999/hook", command: [notify-send, "{alert}", "{key}"]}
  - &away
    name: away
    when: no_data
`))
	if err != nil {
		t.Fatal(err)
	}
	target := config.Target{Redis: []string{"rediss://cache:6379"}, Production: true, NoInject: true, Colour: "red",
		PasswordFile: "/run/secrets/redis"}
	if len(c.Rules) != 1 || !reflect.DeepEqual(c.Targets, map[string]config.Target{"prod": target}) || len(c.Alerts) != 2 {
		t.Fatalf("it reads %+v", c)
	}
	a := c.Alerts[0]
	if a.Name != "throttled" || a.When.String() != "utilization >= 1" || a.For != 2*time.Second || a.Severity != "page" ||
		a.Webhook != "http://127.0.0.1:9999/hook" ||
		!reflect.DeepEqual(a.Command, []string{"notify-send", "{alert}", "{key}"}) || !a.Covers("rl:a") || a.Covers("x:a") {
		t.Errorf("the alert is %+v", a)
	}
	if b := c.Alerts[1]; b.Severity != "warning" || b.Covers != nil {
		t.Errorf("the alert is %+v", b)
	}
}

// TestErrors: each is one sentence with the line, the column and what to do.
func TestErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"- match: a\n- algorithm: gcra\n", "2:3: match is missing"},
		{"- match: a\n  limit: 100/\n", `2:10: limit "100/" has no duration`},
		{"- match: a\n  limit: -5/1m\n", `2:10: limit "-5/1m": a limit of -5 is out of range`},
		{"- match: a\n  limit: 10/0s\n", `limit "10/0s": a window of 0s is out of range`},
		{"- match: a\n  algorithm: slidinglog\n", `2:14: "slidinglog" is no algorithm: did you mean sliding-log?`},
		{"- match: a\n  algorithm: magic\n", `2:14: "magic" is no algorithm: use auto, `},
		{"- match: a\n  limit: 5/1m\n  window: 10s\n", "2:10: limit \"5/1m\" and window \"10s\" disagree"},
		{"- match: a\n  window: soon\n", `2:11: "soon" is not a duration`},
		{"- match: a\n  burst: -1\n", `2:10: "-1" is negative`},
		{"- match: a\n  burst: many\n", `2:10: "many" is no whole number`},
		{"- match: a\n  limt: 5/1m\n", `2:3: "limt" is not a word of a rule: did you mean limit?`},
		{"- match: a\n  library: rate-limit-reds\n", "did you mean rate-limit-redis?"},
		{"- match: a\n  match: b\n", "2:3: match is there twice"},
		{"match: a\n", `1:1: "match" is not a word of a section of the configuration: use rules, targets, alerts`},
		{"rulse: []\n", "did you mean rules?"},
		{"- [1, 2]\n", "1:3: a list is not a rule"},
		{"- match: \"\\x00\n", "this is not YAML"},
		{"just words\n", `1:1: "just words" is no configuration`},
		{"rules: [", "this is not YAML"},
		{"--- []\n--- []\n", "more than one document"},
		{"targets: [prod]\n", "1:10: a list is no mapping of names to targets"},
		{"targets: {a: {}}\n", "1:14: redis is missing"},
		{"targets: {a: {redis: x, colour: read}}\n", "did you mean red?"},
		{"targets: {a: {redis: x, inject: maybe}}\n", `"maybe" is neither true nor false`},
		{"targets: {a: {redis: 'redis://:secret@h'}}\n", "password_file"},
		{"targets: {a: {redis: x, password: secret}}\n", `"password" is not a word of a target: use redis, `},
		{"targets: {a: {redis: x, passwordfile: /x}}\n", "did you mean password_file?"},
		{"targets: {a: {redis: x, password_file: /x, password_command: [pass]}}\n", "keep one of them"},
		{"targets: {a: {redis: x}, a: {redis: y}}\n", "the target a is there twice"},
		{"alerts: [{when: sick}]\n", "1:10: name is missing"},
		{"alerts: [{name: a}]\n", "1:10: when is missing"},
		{"alerts: [{name: a, when: utilisation >= 1}]\n", `1:26: "utilisation" is no metric: did you mean utilization?`},
		{"alerts: [{name: a, when: utilization >= lots}]\n", "no number"},
		{"alerts: [{name: a, when: sick}, {name: a, when: no_data}]\n", `1:33: the alert "a" is there twice`},
		{"alerts: [{name: a, when: sick, webhook: ftp://secret}]\n", "the webhook is no URL"},
		{"alerts: [{name: a, when: sick, alertmanager: 'localhost:9093'}]\n", "the alertmanager is no URL"},
		{"alerts: [{name: a, when: sick, webhook: http://h, webhook_env: H}]\n", "more than one of webhook"},
		{"alerts: [{name: a, when: sick, command: ['']}]\n", "the command is empty"},
		{"alerts: [{name: a, when: sick, for: soon}]\n", `"soon" is not a duration`},
	} {
		text, want := c[0], c[1]
		_, err := config.Parse([]byte(text))
		switch {
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%q: %v, want %q", text, err, want)
		case strings.Contains(err.Error(), "secret") && !strings.Contains(text, "password: secret"):
			t.Errorf("%q: the error shows a secret: %v", text, err)
		case strings.Contains(err.Error(), "\n"):
			t.Errorf("%q: %q is no sentence", text, err)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("- {match: a, limit: 5}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(path); err == nil || !strings.HasPrefix(err.Error(), path+":1:21: limit") {
		t.Errorf("it says %v", err)
	}
	for _, name := range []string{path + ".absent", "/dev/zero", t.TempDir()} {
		if _, err := config.Load(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, err := config.Load(""); err != nil || c == nil {
		t.Errorf("no file: %v", err)
	}
}

// TestBombs: a small file that expands, or nests without end, is an error soon.
func TestBombs(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'z'; c++ {
		before := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+before+",", 8) + "*" + before + "]\n"
	}
	for name, text := range map[string]string{
		"aliases": bomb, "aliases in a list": "rules: &r [*r]\n", "nested": strings.Repeat("[", 100_000),
		"nested mappings": strings.Repeat("{a: ", 100_000), "anchor in itself": "&a [*a]\n",
	} {
		if c, err := config.Parse([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("rules: [{match: a, limit: 5/1m}]\ntargets: {p: {redis: x}}\nalerts: [{name: a, when: sick}]\n"))
	f.Add([]byte("- &a {match: a}\n- *a\n- {<<: *a, burst: 1}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := config.Parse(text)
		if (c == nil) == (err == nil) {
			t.Errorf("%+v and %v", c, err)
		}
	})
}

// TestMasked hides the middle of names of keys and leaves patterns, in a copy.
func TestMasked(t *testing.T) {
	c, err := config.Parse([]byte("rules: [{match: 'login:alice@example.org', limit: 5/1m}, {match: 'rl:*', limit: 5/1m}]\n" +
		"targets: {t: {redis: 'redis://x', watch: ['login:alice@example.org']}}\n" +
		"alerts: [{name: a, match: 'login:alice@example.org', when: sick}, {name: b, when: no_data}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(c.Shared(true).Show())
	if strings.Contains(text, "alice") || strings.Count(text, "login:al***org") != 3 || !strings.Contains(text, "rl:*") {
		t.Errorf("masked it is\n%s", text)
	}
	if text := c.Show(); strings.Count(string(text), "login:alice@example.org") != 3 {
		t.Errorf("the configuration itself is now\n%s", text)
	}
}
