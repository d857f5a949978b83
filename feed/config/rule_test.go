package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/feed/config"
	"ratescope/limiter"
)

func TestApplyToEachRule(t *testing.T) {
	file := []config.Rule{
		{Match: "a:*", Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 5, Window: time.Second, Burst: 9},
			LimitKnown: true, Window: time.Second},
		{Match: "b:*", Window: time.Minute, Limit: limiter.Limit{Window: time.Minute}},
	}
	minute := limiter.Limit{Count: 100, Window: time.Minute}
	for _, tc := range []struct {
		name string
		by   config.Override
		want []config.Rule
	}{
		{"nothing said", config.Override{}, append(slices.Clone(file), config.Rule{Match: "*"})},
		{"a limit", config.Override{Limit: "100/1m"}, []config.Rule{
			{Match: "a:*", Algorithm: limiter.FixedWindow, Limit: limiter.Limit{Count: 100, Window: time.Minute, Burst: 9},
				LimitKnown: true, Window: time.Minute},
			{Match: "b:*", Limit: minute, LimitKnown: true, Window: time.Minute},
			{Match: "*", Limit: minute, LimitKnown: true, Window: time.Minute},
		}},
		{"an algorithm and a burst", config.Override{Algorithm: "gcra", Burst: 3}, []config.Rule{
			{Match: "a:*", Algorithm: limiter.GCRA, Limit: limiter.Limit{Count: 5, Window: time.Second, Burst: 3},
				LimitKnown: true, Window: time.Second},
			{Match: "b:*", Algorithm: limiter.GCRA, Window: time.Minute, Limit: limiter.Limit{Window: time.Minute, Burst: 3}},
			{Match: "*", Algorithm: limiter.GCRA, Limit: limiter.Limit{Burst: 3}},
		}},
	} {
		before := slices.Clone(file)
		if got, err := tc.by.Apply(file); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v\n%+v\nwant\n%+v", tc.name, err, got, tc.want)
		}
		if !slices.Equal(file, before) {
			t.Errorf("%s: the rules that were given have changed", tc.name)
		}
	}
}

// TestApplyToALayout: a limit that a layout cannot have is refused, as it is in a file.
func TestApplyToALayout(t *testing.T) {
	c, err := config.Parse([]byte(`rules: [{name: "email:{who}", read: fields, slice: 1h, ring: 24, limit: 1000/1d}]`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (config.Override{Limit: "2000/1d"}).Apply(c.Rules); err != nil {
		t.Error(err)
	}
	list, err := (config.Override{Limit: "100/1m"}).Apply(c.Rules)
	if err == nil || !strings.Contains(err.Error(), "email:* cannot have the limit 100/1m") {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestApply(t *testing.T) {
	rules := []config.Rule{{Match: "a:*", Algorithm: limiter.StreamCounter}}
	list, err := config.Override{Limit: "100/1m", Algorithm: "auto", Burst: 7}.Apply(rules)
	if err != nil {
		t.Fatal(err)
	}
	limit := limiter.Limit{Count: 100, Window: time.Minute, Burst: 7}
	want := []config.Rule{
		{Match: "a:*", Algorithm: limiter.StreamCounter, Limit: limit, LimitKnown: true, Window: time.Minute},
		{Match: "*", Limit: limit, LimitKnown: true, Window: time.Minute},
	}
	if !slices.Equal(list, want) {
		t.Errorf("%+v, want %+v", list, want)
	}
	for _, bad := range []config.Override{{Limit: "100/"}, {Algorithm: "magic"}, {Burst: -1}} {
		if list, err := bad.Apply(nil); err == nil {
			t.Errorf("%+v is read as %+v", bad, list)
		}
	}
}
