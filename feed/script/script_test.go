package script

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
)

func TestExpand(t *testing.T) {
	c, err := Parse([]string{"{rl:{who}}:x", "{tag}:{who}"}, strings.Fields("{limit} {window_s} {window_ms} {now_s} {now_ms} {cost} {id} 7"), "")
	if err != nil {
		t.Fatal(err)
	}
	keys, args := c.Expand(Values{Who: "a{id}", Limit: limiter.Limit{Count: 10, Window: 1500 * time.Millisecond}, Now: 1_700_000_000_999_999, Cost: 2, ID: "u"})
	if want := []string{"{rl:a{id}}:x", "{tag}:a{id}"}; !slices.Equal(keys, want) {
		t.Errorf("keys are %q, not %q", keys, want)
	}
	if want := strings.Fields("10 1.5 1500 1700000000 1700000000999 2 u 7"); !slices.Equal(args, want) {
		t.Errorf("arguments are %q, not %q", args, want)
	}
	if _, err := Parse(nil, []string{"{limt}"}, ""); err == nil || !strings.Contains(err.Error(), "{limit}") {
		t.Errorf("a slip in a word: %v", err)
	}
}

func TestAdmits(t *testing.T) {
	for _, x := range []struct {
		text  string
		reply any
		want  string
	}{
		{"1", int64(1), "yes"}, {"", int64(0), "no"}, {"1", nil, "no"}, {"1", true, "yes"}, {"1", "1", "yes"}, {"1", []any{int64(1), int64(4)}, "yes"},
		{"1", "OK", "?"}, {"1", []any{}, "?"}, {"1", int64(7), "no"},
		{"0", int64(0), "yes"}, {"0", int64(1), "no"}, {"0", nil, "?"}, {"0", []any{int64(0)}, "yes"},
		{">=0", int64(0), "yes"}, {">=0", int64(-1), "no"}, {">=0", "3.5", "yes"}, {">=0", nil, "no"}, {"[1]=1", []any{nil, int64(3)}, "no"},
		{"OK", "OK", "yes"}, {"OK", "LIMITED", "no"}, {"OK", nil, "no"}, {"OK", int64(1), "?"}, {"nil", nil, "yes"}, {"nil", int64(7), "no"}, {"[2]=nil", []any{int64(1), nil}, "yes"}, {"[1]=OK", []any{"OK", int64(3)}, "yes"},
		{"[allowed]=1", `{"allowed":true,"left":3}`, "yes"}, {"[allowed]=1", `{"allowed":false}`, "no"}, {"[allowed]=0", `{"allowed":true}`, "no"},
		{"[left]>=0", `{"left":-1}`, "no"}, {"[left]>=0", `{"left":0}`, "yes"}, {"[x]=1", `{"left":0}`, "?"}, {"[x]=1", "no JSON", "?"},
		{"[2]=1", []any{int64(0), int64(1)}, "yes"}, {"[2]=1", []any{int64(1), int64(0)}, "no"}, {"[2]=1", []any{int64(1)}, "?"}, {"[2]=1", int64(1), "?"},
		{"[1]>=0", []any{int64(-2)}, "no"}, {"=1", true, "?"},
		{"allowed", "allowed", "yes"}, {"allowed", "denied", "no"}, {"[1]=allow", []any{"deny"}, "no"}, {"true", int64(1), "yes"},
		{"[limited]=false", `{"limited":true}`, "no"}, {"[limited]=false", `{"limited":false}`, "yes"},
		{"[allowed]=true", `{"allowed":true}`, "yes"}, {"1", errors.New("LIMITED"), "?"}, {"1/error", errors.New("LIMITED"), "no"},
		{"1/error", int64(1), "yes"}, {">=0/error", int64(-1), "no"}, {"any/error", int64(7), "yes"}, {"any/error", nil, "yes"},
		{"any/error", errors.New("LIMITED"), "no"}, {"[2]=1/error", []any{int64(0), int64(1)}, "yes"},
	} {
		a, err := ParseAdmitted(x.text)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseAdmitted(a.String()); err != nil || again != a {
			t.Errorf("%q is written %q, which reads %v, %v", x.text, a, again, err)
		}
		ok, err := a.Admits(x.reply)
		got := map[bool]string{true: "yes", false: "no"}[ok]
		if err != nil {
			got = "?"
		}
		if got != x.want {
			t.Errorf("admitted %q with the reply %v: %s (%v), not %s", x.text, x.reply, got, err, x.want)
		}
	}
	for _, text := range []string{"[2]", "[allowed]", "/error", "a b", "[0]=1", "[]=1", "=>1", "1e5", "[99999999999999999999]=1"} {
		if a, err := ParseAdmitted(text); err == nil {
			t.Errorf("%q was read as %v", text, a)
		}
	}
}

func TestHead(t *testing.T) {
	c, found, err := Head("#!lua\n-- a bucket\n-- ratescope: keys tb:{who} ts:{who}; args {limit} 60; admitted [2]=1\nreturn 1\n")
	if err != nil || !found || !slices.Equal(c.Keys, []string{"tb:{who}", "ts:{who}"}) || !slices.Equal(c.Args, []string{"{limit}", "60"}) || c.Admitted.String() != "[2]=1" {
		t.Errorf("read %+v, %v, %v", c, found, err)
	}
	if c, found, err := Head("return 1 -- ratescope: keys x"); found || err != nil || !slices.Equal(c.Args, Default.Args) {
		t.Errorf("read %+v, %v, %v", c, found, err)
	}
	if _, found, err := Head("-- ratescope: key x"); !found || err == nil {
		t.Errorf("a slip in the comment: %v, %v", found, err)
	}
}
