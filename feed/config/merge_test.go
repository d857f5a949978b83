package config_test

import (
	"strings"
	"testing"

	"ratescope/feed/config"
)

// TestMerge adds a rule to files of many forms: it comes last, or before a rule for every key, and
// nothing else of the file changes.
func TestMerge(t *testing.T) {
	entry := config.Entry{Match: "rl:*", Library: "rate-limit-redis", Window: "1m0s", Above: "3 keys, known", Below: "limit: COUNT/1m"}
	item := "  # 3 keys, known\n  - match: rl:*\n    library: rate-limit-redis\n    window: 1m0s\n    # limit: COUNT/1m\n"
	outdented := strings.ReplaceAll("\n"+item, "\n  ", "\n")[1:]
	flow := "{match: 'rl:*', library: rate-limit-redis, window: 1m0s}"
	for name, tc := range map[string]struct{ before, after string }{
		"no file":              {"", "rules:\n" + item},
		"comments alone":       {"# mine\n", "# mine\nrules:\n" + item},
		"no line end":          {"# mine", "# mine\nrules:\n" + item},
		"an empty section":     {"rules:\ntargets: {}\n", "rules:\n" + item + "targets: {}\n"},
		"a null":               {"rules: ~   # none\nalerts: []\n", "rules:   # none\n" + item + "alerts: []\n"},
		"an empty list":        {"# top\nrules: [] # none\n#  - match: x\ntargets: {}\n", "# top\nrules: # none\n" + item + "#  - match: x\ntargets: {}\n"},
		"no section":           {"targets: {p: {redis: x}}\n\n# end\n", "targets: {p: {redis: x}}\n\n# end\nrules:\n" + item},
		"a list":               {"rules:\n\n  - match: a # one\n    limit: 5/1m\n    # two\n\n# alerts\nalerts: []\n", "rules:\n\n  - match: a # one\n    limit: 5/1m\n    # two\n" + item + "\n# alerts\nalerts: []\n"},
		"dashes without room":  {"rules:\n- {match: a}\n- match: b\n  window:\n    1m\ntargets: {}\n", "rules:\n- {match: a}\n- match: b\n  window:\n    1m\n" + outdented + "targets: {}\n"},
		"rules alone":          {"- match: a\n- match: b", "- match: a\n- match: b\n" + outdented},
		"a rule for all":       {"rules:\n  - match: a\n  # all others\n  - match: '*'\n    limit: 5/1s\n", "rules:\n  - match: a\n" + item + "  # all others\n  - match: '*'\n    limit: 5/1s\n"},
		"only a rule for all":  {"# my rules\n- {match: '*', limit: 5/1s}\n", "# my rules\n" + outdented + "- {match: '*', limit: 5/1s}\n"},
		"a rule for all below": {"rules:\n  # all\n  - match: '*'\n", "rules:\n  # all\n" + item + "  - match: '*'\n"},
		"brackets":             {"rules:   [{match: \"a]:*\", limit: 5/1m}] # it's\n", "rules:   [{match: \"a]:*\", limit: 5/1m}, " + flow + "] # it's\n"},
		"brackets, lines":      {"rules: [\n  {match: 'a''b]'}, # ] no\n]\nalerts: []\n", "rules: [\n  {match: 'a''b]'}, # ] no\n" + flow + "]\nalerts: []\n"},
		"brackets, all":        {"rules: [{match: é}, {match: '*'}]\n", "rules: [{match: é}, " + flow + ", {match: '*'}]\n"},
		"braces":               {"{rules: [], alerts: []}\n", "{rules: [" + flow + "], alerts: []}\n"},
		"line ends of DOS":     {"rules:\r\n  - match: a\r\n", strings.ReplaceAll("rules:\n  - match: a\n"+item, "\n", "\r\n")},
		"a block of text":      {"rules:\n  - match: >-\n      a\n\n      b\n    limit: 1/1s\ntargets: {}\n", "rules:\n  - match: >-\n      a\n\n      b\n    limit: 1/1s\n" + item + "targets: {}\n"},
	} {
		got, err := config.Merge([]byte(tc.before), []config.Entry{entry})
		if err != nil || string(got) != tc.after {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, tc.after)
		}
	}
	for name, before := range map[string]string{
		"an alias":          "targets: {p: &p {redis: x}}\nrules: *p\n",
		"braces, no rules":  "{alerts: []}\n",
		"an end":            "targets: {}\n...\n",
		"what is not read":  "rulse: []\n",
		"an anchor's list":  "alerts: &a []\nrules: *a\n",
		"an old line end":   "\rrules: []\n",
		"two line ends":     "targets: {}\r\r\nrules: []\r\r\n",
		"a line of Unicode": "targets: {p: {redis: \"a\u2028\u2028b\"}}\nrules: [{match: '*'}]\n",
	} {
		if got, err := config.Merge([]byte(before), []config.Entry{entry}); err == nil {
			t.Errorf("%s: it is %q", name, got)
		}
	}
}

// TestMergeHostile writes names that YAML could take for something else, and reads them back.
func TestMergeHostile(t *testing.T) {
	for _, match := range []string{"*", "a: b", "- x", "#", "'", `"`, "{a}:*", "[", "~", "a\nb", "a\x1b[2J", "\u202eabc", "null", "yes", " x ", "%", "@up/x:*", "1_000", "0x1f", strings.Repeat("x", 400)} {
		for _, before := range []string{"", "rules: []\n", "rules: [{match: a}]\n", "- match: a\n"} {
			got, err := config.Merge([]byte(before), []config.Entry{{Match: match, Limit: "5/1m", Above: "1 key"}})
			if err != nil {
				t.Errorf("%q into %q: %v", match, before, err)
				continue
			}
			c, err := config.Parse(got)
			if err != nil || len(c.Rules) == 0 || c.Rules[len(c.Rules)-1].Match != match {
				t.Errorf("%q into %q: %v\n%s", match, before, err, got)
			}
		}
	}
}

// FuzzMerge holds that whatever file is added to keeps its rules, and gets the new one.
func FuzzMerge(f *testing.F) {
	for _, s := range []string{"", "rules: []\n", "rules: [{match: a}, {match: '*'}]\n", "- match: a\n- {match: '*'}\n", "rules:\n  - match: |\n      a\n# b\n", "targets: {}\nrules: ~\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := config.Merge(text, []config.Entry{{Match: "zz:*", Limit: "5/1m", Above: "x", Below: "y"}})
		if err != nil {
			return
		}
		before, err := config.Parse(text)
		if err != nil {
			t.Fatalf("%q was added to: %v", text, err)
		}
		after, err := config.Parse(got)
		if err != nil || len(after.Rules) != len(before.Rules)+1 {
			t.Errorf("%q became %q: %v", text, got, err)
		}
	})
}
