package feed_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/limiter"
)

func TestOverrule(t *testing.T) {
	file := []feed.Rule{
		{Match: "a:*", Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 5, Window: time.Second, Burst: 9}, LimitKnown: true, Window: time.Second},
		{Match: "b:*", Window: time.Minute, Limit: limiter.Limit{Window: time.Minute}},
	}
	minute := limiter.Limit{Count: 100, Window: time.Minute}
	for _, tc := range []struct {
		name string
		by   feed.Rule
		want []feed.Rule
	}{
		{"nothing said", feed.Rule{}, append(slices.Clone(file), feed.Rule{Match: "*"})},
		{"a limit", feed.Rule{Limit: minute, LimitKnown: true}, []feed.Rule{
			{Match: "a:*", Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 100, Window: time.Minute, Burst: 9}, LimitKnown: true, Window: time.Minute},
			{Match: "b:*", Limit: minute, LimitKnown: true, Window: time.Minute},
			{Match: "*", Limit: minute, LimitKnown: true, Window: time.Minute},
		}},
		{"an algorithm and a burst", feed.Rule{Algorithm: limiter.GCRA, Limit: limiter.Limit{Burst: 3}}, []feed.Rule{
			{Match: "a:*", Algorithm: limiter.GCRA, Limit: limiter.Limit{Count: 5, Window: time.Second, Burst: 3}, LimitKnown: true, Window: time.Second},
			{Match: "b:*", Algorithm: limiter.GCRA, Window: time.Minute, Limit: limiter.Limit{Window: time.Minute, Burst: 3}},
			{Match: "*", Algorithm: limiter.GCRA, Limit: limiter.Limit{Burst: 3}},
		}},
	} {
		before := slices.Clone(file)
		if got := feed.Overrule(file, tc.by); !slices.Equal(got, tc.want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", tc.name, got, tc.want)
		}
		if !slices.Equal(file, before) {
			t.Errorf("%s: the rules that were given have changed", tc.name)
		}
	}
}

func TestReadRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte("- {match: 'a:*', algorithm: stream, limit: 5/s}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := feed.ReadRules(path, feed.Spoken{Limit: "100/1m", Algorithm: "auto", Burst: 7})
	if err != nil {
		t.Fatal(err)
	}
	limit := limiter.Limit{Count: 100, Window: time.Minute, Burst: 7}
	want := []feed.Rule{
		{Match: "a:*", Algorithm: limiter.StreamCounter, Limit: limit, LimitKnown: true, Window: time.Minute},
		{Match: "*", Limit: limit, LimitKnown: true, Window: time.Minute},
	}
	if !slices.Equal(rules, want) {
		t.Errorf("%+v, want %+v", rules, want)
	}
	for _, bad := range []feed.Spoken{{Limit: "100/"}, {Algorithm: "magic"}, {Burst: -1}} {
		if rules, err := feed.ReadRules("", bad); err == nil {
			t.Errorf("%+v is read as %+v", bad, rules)
		}
	}
	if _, err := feed.ReadRules(path+".missing", feed.Spoken{}); err == nil {
		t.Error("a file that is not there is read")
	}
}
