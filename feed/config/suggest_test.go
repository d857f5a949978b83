package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/config"
	"ratescope/feed/decode"
	"ratescope/feed/decode/decodetest"
	"ratescope/limiter"
	"ratescope/model/naming"
)

// sampleOf reads one key.
func sampleOf(t *testing.T, client *redis.Client, key string) decode.Sample {
	t.Helper()
	p := client.Pipeline()
	typ := client.Type(t.Context(), key).Val()
	asked := decode.Ask(t.Context(), p, decode.Fetch{Key: key, Type: typ, Bytes: 1 << 16, Pairs: 200, Ends: 50})
	if _, err := p.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := asked.Sample()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSuggest finds, for keys of limiters that applications write themselves, the rule that tells them right among
// the readings that fit. Every one is a rule as soon as its limit is filled in.
func TestSuggest(t *testing.T) {
	at := limiter.InstantOf(time.Date(2026, 11, 23, 22, 14, 37, 0, time.UTC))
	all := decodetest.HomemadeLimiters(t)
	right := 0
	for i := range all {
		h := &all[i]
		w := decodetest.NewWorld(t, h, at)
		for _, who := range []string{"alice", "bob"} {
			for range 3 {
				w.Request(t, who)
				w.Advance(300 * time.Millisecond)
			}
		}
		var patterns naming.Patterns
		keys := w.Client.Keys(t.Context(), "*").Val()
		for _, key := range keys {
			patterns.Learn(key, w.Client.Type(t.Context(), key).Val(), w.Now)
		}
		found := ""
		var offered []string
		for _, key := range keys {
			s := sampleOf(t, w.Client, key)
			for _, r := range config.Suggest(&s, patterns.Of(key, s.Type, w.Now), w.Now) {
				e := r.Entry
				e.Limit = strings.Replace(h.Limit, "month", "30d", 1)
				switch {
				case e.Window != "":
					e.Limit, e.Window = "10/"+e.Window, ""
				case strings.Contains(e.Name, "{window:%"): // the calendar says how long it is
					e.Limit = ""
				}
				rule, err := e.Rule()
				if err != nil {
					t.Errorf("%s: %+v is no rule: %v", h.Name, e, err)
					continue
				}
				if m, ok := rule.Layout.Match(key, s.Type, w.Now); !ok || m.Over {
					t.Errorf("%s: %+v does not fit %q", h.Name, e, key)
				}
				offered = append(offered, fmt.Sprint(e.Name, " ", e.Read))
				if e.Name == h.Rule["name"] && e.Read == h.Rule["read"] && (h.Rule["unit"] == nil || e.Unit == h.Rule["unit"] || e.Ends != "") {
					found = e.Name
				}
			}
		}
		if found != "" {
			right++
		} else {
			t.Logf("%s: %v is not among %q", h.Name, h.Rule, offered)
		}
	}
	if t.Logf("of %d layouts the rule of %d is offered", len(all), right); right < len(all)*4/5 {
		t.Errorf("of %d layouts the rule of %d is offered, want four of five", len(all), right)
	}
}

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
