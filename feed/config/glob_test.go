package config

import (
	"testing"

	"ratescope/internal/servertest"
	"ratescope/model/naming"
)

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
			if n != "" && MatchGlob(p, n) != matched[n] {
				t.Errorf("pattern %q and key %q: %v, Redis says %v", p, n, !matched[n], matched[n])
			}
		}
	}
	for _, n := range names {
		if !MatchGlob(naming.Escape(n), n) {
			t.Errorf("literal(%q) = %q does not match it", n, naming.Escape(n))
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a*[b-d]\\?", "axc?")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		pattern, name = pattern[:min(len(pattern), 500)], name[:min(len(name), 500)]
		MatchGlob(pattern, name)
		if !MatchGlob(naming.Escape(name), name) {
			t.Errorf("literal(%q) does not match", name)
		}
		if !MatchGlob("*", name) || !MatchGlob("*"+naming.Escape(name)+"*", "x"+name+"y") {
			t.Errorf("%q does not match itself between stars", name)
		}
	})
}
