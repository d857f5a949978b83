package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratescope/feed/servertest"
	"ratescope/limiter"
)

func TestLoadRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("- match: api:*\n  algorithm: sliding-log\n  limit: 100/1m\n- match: 'login:*'\n  limit: 5\n  window: 30s\n  burst: 2\n- match: '*'\n  algorithm: auto\n  window: 10s\n")
	rules, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Rule{
		{Match: "api:*", Algorithm: limiter.SlidingLog, Limit: limiter.Limit{Count: 100, Window: time.Minute}, LimitKnown: true, Window: time.Minute},
		{Match: "login:*", Limit: limiter.Limit{Count: 5, Window: 30 * time.Second, Burst: 2}, LimitKnown: true, Window: 30 * time.Second},
		{Match: "*", Limit: limiter.Limit{Window: 10 * time.Second}, Window: 10 * time.Second},
	}
	if len(rules) != len(want) {
		t.Fatalf("%d rules, want %d", len(rules), len(want))
	}
	for i := range want {
		if rules[i] != want[i] {
			t.Errorf("rule %d: %+v, want %+v", i+1, rules[i], want[i])
		}
	}
	for text, say := range map[string]string{
		"- match: a\n- algorithm: gcra\n":            "rule 2 (line 2): match is missing",
		"- match: a\n  limit: 100/\n":                `limit "100/" has no duration`,
		"- match: a\n  limit: -5/1m\n":               `limit "-5/1m" is negative`,
		"- match: a\n  limit: 10/0s\n":               `limit "10/0s" has a window under 1 ms`,
		"- match: a\n  algorithm: bucket\n":          `unknown algorithm "bucket"`,
		"- match: a\n  limit: 5/1m\n  window: 10s\n": "disagree",
		"- match: a\n  window: soon\n":               `window "soon" is not a duration`,
		"- match: a\n  burst: -1\n":                  "burst -1 is negative",
		"- match: a\n  burst: many\n":                "burst (a whole number)",
		"- match: a\n  limits: 5/1m\n":               `"limits" is not a word of a rule`,
		"match: a\n":                                 "not a YAML list",
		"- [1, 2]\n":                                 "must be a mapping",
		"- match: \"\\x00\n":                         "not a YAML list",
	} {
		write(text)
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), say) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %q", text, err, say)
		}
	}
	if _, err := Load(path + ".absent"); err == nil || !strings.Contains(err.Error(), "cannot be read: no such file") {
		t.Errorf("an absent file: %v", err)
	}
}

// TestGlobAgreesWithRedis compares the matching of patterns with the server's own.
func TestGlobAgreesWithRedis(t *testing.T) {
	s := servertest.Start(t)
	c := s.Client()
	ctx := t.Context()
	names := []string{"a", "ab", "abc", "a*c", "a?c", "[a]", "a]", "a-c", "b", "\\", "a\\b", "ä", "\xff", "x:y:z", "", "^", "!", "aXbXc"}
	patterns := []string{
		"*", "a*", "*c", "a?c", "?", "??", "a\\*c", "[abc]", "[^a]", "[a-c]", "[c-a]b", "[]", "[^]", "[a", "a[", "[a-", "\\", "a\\", "[\\]]", "*:*:*", "**", "a**c", "[!a]", "*\\", "[^^]", "\\[a\\]", "a*b*c", "[ab]*", "?\xff", "[a-]",
	}
	for _, n := range names {
		if n != "" {
			c.Set(ctx, n, "1", 0)
		}
	}
	for _, p := range patterns {
		keys, err := c.Keys(ctx, p).Result()
		if err != nil {
			t.Fatal(err)
		}
		matched := map[string]bool{}
		for _, k := range keys {
			matched[k] = true
		}
		for _, n := range names {
			if n != "" && Match(p, n) != matched[n] {
				t.Errorf("pattern %q and key %q: %v, Redis says %v", p, n, !matched[n], matched[n])
			}
		}
	}
	for _, n := range names {
		if !Match(Literal(n), n) {
			t.Errorf("literal(%q) = %q does not match it", n, Literal(n))
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a*[b-d]\\?", "axc?")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		pattern, name = pattern[:min(len(pattern), 500)], name[:min(len(name), 500)]
		Match(pattern, name)
		if !Match(Literal(name), name) {
			t.Errorf("literal(%q) does not match", name)
		}
		if !Match("*", name) || !Match("*"+Literal(name)+"*", "x"+name+"y") {
			t.Errorf("%q does not match itself between stars", name)
		}
	})
}
