package config_test

import (
	"testing"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/limiter"
)

// TestSuggestNothing offers no reading of what is none, and repeats no value.
func TestSuggestNothing(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 23, 22, 14, 37, 0, time.UTC))
	for _, s := range []decode.Sample{
		{Key: "session:alice", Type: "string", Text: "c2VjcmV0", TTL: time.Hour},
		{Key: "views:7", Type: "string", Text: "17", TTL: -1},
		{Key: "user:7", Type: "hash", Fields: map[string]string{"name": "Alice"}, Whole: true, TTL: time.Hour},
		{Key: "board", Type: "zset", First: []decode.Element{{Member: "a", Score: 3}}, TTL: time.Hour},
	} {
		if got := config.Suggest(&s, s.Key, now); len(got) > 0 {
			t.Errorf("%s: %+v", s.Key, got)
		}
	}
}

// TestEntryName writes rules with name into a file that has some, once.
func TestEntryName(t *testing.T) {
	e := config.Entry{Name: "rl:{who}:{window:index}", Read: "value", Window: "20s"}
	before := "rules:\n  - {name: \"tb:{who}\", read: bucket, amount: n, at: t}\n  - {match: '*', limit: 5/1s}\n"
	got, err := config.Merge([]byte(before), []config.Entry{e})
	want := "rules:\n  - {name: \"tb:{who}\", read: bucket, amount: n, at: t}\n  - name: rl:{who}:{window:index}\n    read: value\n    window: 20s\n  - {match: '*', limit: 5/1s}\n"
	if err != nil || string(got) != want {
		t.Fatalf("%v\n%s", err, got)
	}
	c, err := config.Parse(got)
	if err != nil {
		t.Fatal(err)
	}
	if left := c.Lacking([]config.Entry{e}, func(int) string { return "rl:a:1" }); len(left) > 0 {
		t.Errorf("%v is lacking", left)
	}
	e.Name = "*{who}"
	if left := c.Lacking([]config.Entry{e}, func(int) string { return "tb:alice" }); len(left) > 0 {
		t.Errorf("%v is lacking, though a rule with name tells its key", left)
	}
}
