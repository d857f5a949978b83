package feed_test

import (
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
