package config_test

import (
	"slices"
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
	e := config.Entry{Name: "rl:{who}:{window:index}", Read: "value", Window: "20s", Example: "rl:a:1"}
	before := "rules:\n  - {name: \"tb:{who}\", read: bucket, amount: n, at: t}\n  - {match: '*', limit: 5/1s}\n"
	got, err := config.Merge([]byte(before), []config.Entry{e})
	want := "rules:\n  - {name: \"tb:{who}\", read: bucket, amount: n, at: t}\n" +
		"  - name: rl:{who}:{window:index}\n    read: value\n    window: 20s\n  - {match: '*', limit: 5/1s}\n"
	if err != nil || string(got) != want {
		t.Fatalf("%v\n%s", err, got)
	}
	c, err := config.Parse(got)
	if err != nil {
		t.Fatal(err)
	}
	if left := c.Lacking([]config.Entry{e}); len(left) > 0 {
		t.Errorf("%v is lacking", left)
	}
	e.Name, e.Example = "*{who}", "tb:alice"
	if left := c.Lacking([]config.Entry{e}); len(left) > 0 {
		t.Errorf("%v is lacking, though a rule with name tells its key", left)
	}
}

// TestSuggestCounts: a count is read until its own end, and what limits it is no count.
func TestSuggestCounts(t *testing.T) {
	now := limiter.InstantOf(time.Unix(1_795_300_000, 0))
	for _, c := range []struct {
		fields map[string]string
		want   []string
	}{
		{map[string]string{"hour_count": "30", "hour_reset": "1795301800000", "minute_count": "3", "minute_reset": "1795300040000"},
			[]string{"field hour_count", "left field hour_count", "field minute_count", "left field minute_count"}},
		{map[string]string{"limit": "10", "used": "3", "resets": "1795300040"}, []string{"field used", "left field used"}},
		{map[string]string{"max": "10", "hits": "3", "resets": "1795300040"}, []string{"field hits", "left field hits"}},
	} {
		var got []string
		for _, s := range config.Suggest(&decode.Sample{Key: "x:1", Type: "hash", Whole: true, Fields: c.fields}, "x:*", now) {
			got = append(got, s.Entry.Read)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v is read as %q, want %q", c.fields, got, c.want)
		}
	}
}
