package config_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/feed/config"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// TestLayoutRules reads rules of all kinds, and reads again what is shown of them.
func TestLayoutRules(t *testing.T) {
	text := `rules:
- {name: "rl:{who}:{window:%Y%m%d%H%M}", read: value, limit: 10/1m}
- {name: "rl:{who}:{window:index}", read: value, limit: 10/20s, sum: 2}
- {name: "rate-limiter:{who}", read: left, limit: 10/20s}
- {name: "rate.limiting:{who}", read: list, unit: s, limit: 10/20s}
- {name: "tb:{who}", read: bucket, amount: tokens, at: ts, unit: ms, limit: 10/20s, refill: whole tokens}
- {name: "tokens:{who}", read: bucket, amount: value, at: "key lastRefill:{who}", unit: ms, limit: 10/20s}
- {name: "RL_user_{who}", read: level, amount: b, at: l, plus: p, unit: ms, limit: 10/20s}
- {name: "gcra:{who}", read: tat, unit: ms, limit: 10/20s}
- {name: "rl:hash:{who}", read: field m_count, ends: field m_ts index, limit: 10/1m}
- {name: "email:{who}", read: fields, slice: 2s, ring: 20, limit: 10/20s}
- {name: "auth:attempts:{who}", read: value, limit: 5/15m, block: "auth:lockout:{who}"}
- {name: "{api_key:{who}}:requests", read: value, ends: "key {api_key:{who}}:window s", limit: 10/20s}
- {name: "m:{who}:{window:%Y-%m}", read: value, limit: 100/month, zone: "+09:00"}
- {name: "s:{who}", read: zset, limit: 10/20s, script: {file: a.lua, keys: ["s:{who}"], args: ["{limit}"], admitted: ">=0"}}
`
	c, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	shown := c.Show()
	again, err := config.Parse(shown)
	if err != nil || len(again.Rules) != 14 || len(c.Rules) != 14 {
		t.Fatalf("what is shown reads as %d rules: %v\n%s", len(again.Rules), err, shown)
	}
	now := limiter.InstantOf(time.Date(2026, 11, 23, 20, 4, 30, 0, time.UTC))
	for _, x := range []struct{ key, typ, row string }{
		{"rl:alice:202611232004", "string", "rl:alice"}, {"rl:alice:202611232003", "string", "-"},
		{"rl:hash:a", "hash", "rl:hash:a"}, {"rl:hash:a", "string", ""},
		{"{api_key:k}:requests", "string", "{api_key:k}:requests"}, {"{api_key:k}:window", "string", "-"},
		{"lastRefill:a", "string", "-"}, {"auth:lockout:a", "string", "auth:attempts:a"}, {"m:a:2026-11", "string", "m:a"},
	} {
		all, claimed := config.Own(again.Rules).Own(x.key, x.typ, now)
		row := ""
		if claimed {
			row = "-"
		}
		if len(all) > 0 {
			row, _, _ = strings.Cut(all[0].Name, ":1m")
		}
		if row != x.row {
			t.Errorf("%s (%s) is of the row %q, not %q", x.key, x.typ, row, x.row)
		}
	}
}

// TestLayoutErrors: a slip is told with its place and what was probably meant.
func TestLayoutErrors(t *testing.T) {
	for _, c := range [][2]string{
		{`- {name: "a:{who}", reed: value}`, `1:21: "reed" is not a word of a rule: did you mean read?`},
		{`- {name: "a:{who}", read: value, limit: 10/mnth}`,
			`1:41: limit "10/mnth" has a duration that cannot be read: did you mean 10/month?`},
		{`- {name: "a:{who}", read: value, limit: 10/5mins}`, `did you mean 10/5m?`},
		{`- {name: "a:{who}:{window:%H}", read: value, zone: Asia/Tokio}`,
			`1:52: "Asia/Tokio" is no time zone: did you mean Asia/Tokyo?`},
		{`- {name: "a:{who}:{window:%H}", read: value, zone: "+9:00"}`, `did you mean +09:00?`},
		{`- {name: "a:{who}:{window:%H}", read: value, zone: "-0330"}`, `did you mean -03:30?`},
		{`- {name: "a:{who}", read: valeu}`, `did you mean value?`},
		{`- {name: "a:{who}", read: value, ends: expiri}`, `1:40: "expiri" does not say when what is read ends: did you mean expiry?`},
		{`- {name: "a:{who}", read: field n, ends: feild e s}`,
			`1:42: "feild e s" does not say when what is read ends: did you mean field?`},
		{`- {name: "a:{who}", read: field n, ends: field e indx}`, `1:50: "indx" is no unit of time: did you mean index?`},
		{`- {name: "a:{who}", read: value, ends: "key é:{who} sec"}`, `1:53: "sec" is no unit of time: did you mean s?`},
		{`- {name: "a:{who}", read: zset, unit: seconds}`, `1:39: "seconds" is no unit of time: did you mean s?`},
		{`- {name: "a:{who}", read: zset, unit: msec}`, `1:39: "msec" is no unit of time: did you mean ms?`},
		{`- {name: "a:{who}", read: value, charged: ture}`, `1:43: "ture" is neither true nor false: did you mean true?`},
		{`- {name: "a:{who}", read: bucket, amount: jsn t, at: json s}`, `1:43: "jsn t" is no place of a value: did you mean json?`},
		{`- {name: "a:{who}", read: bucket, amount: t, at: "kye b:{who}"}`,
			`1:50: "kye b:{who}" is no place of a value: did you mean key?`},
		{`- {name: "a:{who}:{window:%Q}", read: value}`, `%Q in {window:%Q} is no letter`},
		{`- {name: "a:{who}:{window:indx}", read: value}`,
			`1:19: "{window:indx}" has no form of a window that is known: did you mean {window:index}?`},
		{`- {name: "a:{who}:{window:start.sec}", read: value}`,
			`1:19: "{window:start.sec}" has no form of a window that is known: did you mean {window:start.s}?`},
		{`- {name: "a:{who}:{window:YYYYMM}", read: value}`,
			`1:19: {window:YYYYMM} has no form of a window that is known: use index, index%60,`},
		{`- {name: 'é:{who}:{windwo:index}', read: value}`, `1:19: "{windwo:index}" is no word of a name: did you mean {window:index}?`},
		{`- {name: "a:{woh}:x", read: value}`, `1:13: "{woh}" is no word of a name: did you mean {who}?`},
		{"- name: a:{Who}:x\n  read: value", `did you mean {who}?`},
		{`- {name: "a:{who}", limit: 1/1m}`, `read is missing`},
		{`- {name: "a:{who}", read: bucket, amount: t}`, `read: bucket needs amount and at`},
		{`- {match: "a:*", read: value}`, `keep one of the two`},
		{`- {name: "a:{who}", read: value, algorithm: gcra}`, `leave algorithm and library out`},
		{`- {name: "a:{who}", read: value, ends: name}`, `holds no window`},
		{`- {name: "a:{who}:{window:start.s}", read: value}`, `limit is missing`},
		{`- {name: "a:{who}", read: value, unit: sec}`, `no unit of time`},
		{`- {name: "a:{who}", read: bucket, amount: n, at: ts, rate: "key r:{who}", limit: 10/20s}`, `rate: "r:{who}" is another key`},
		{`- {name: "a:{who}", read: value, rate: r, limit: 10/20s}`, `rate and capacity speak of read: bucket and level`},
		{`- {name: "a:{who}:{window:index}", read: value, limit: 10/1s, sum: 2000000}`, `sum: 2000000 is out of range`},
		{`- {name: "a:{who}:{window:index}", read: value, limit: 10/10ms, sum: 60}`, `sum: 60 is out of range`},
		{`- {name: "a:{who}", read: fields, slice: 1s, keep: 9000000000000}`, `keep: 9000000000000 slices of 1s are out of range`},
		{`- {name: "a:{who}", read: zset, script: {file: x, keys: [a], args: ["{limt}"]}}`, `{limt} is no argument`},
	} {
		text, want := c[0], c[1]
		_, err := config.Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "1:") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestFieldNamedAsAUnit: a unit behind a place is one, but the name of the field is no unit of a field named json.
func TestFieldNamedAsAUnit(t *testing.T) {
	for said, want := range map[string]form.Source{
		"json s":    {Kind: "json", Name: "s"},
		"json s ms": {Kind: "json", Name: "s", Unit: time.Millisecond},
		"field ms":  {Kind: "field", Name: "ms"},
		"ts ms":     {Kind: "field", Name: "ts", Unit: time.Millisecond},
		"value us":  {Kind: "value", Unit: time.Microsecond},
	} {
		c, err := config.Parse([]byte(`- {name: "a:{who}", read: bucket, amount: json n, at: ` + said + `, limit: 10/20s}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Rules[0].Layout.At; got.Kind != want.Kind || got.Name != want.Name || got.Unit != want.Unit {
			t.Errorf("at: %s reads as %s %q in %v, not %s %q in %v", said, got.Kind, got.Name, got.Unit, want.Kind, want.Name, want.Unit)
		}
	}
}

// TestABlockWithoutALimit: a rule without a limit does not say which window a block alone is of, so that it is of no row.
func TestABlockWithoutALimit(t *testing.T) {
	c, err := config.Parse([]byte(`- {name: "rl:{who}:{window:index}", read: value, block: "ban:{who}"}`))
	if err != nil {
		t.Fatal(err)
	}
	now := limiter.InstantOf(time.Date(2026, 11, 23, 20, 4, 30, 0, time.UTC))
	all, claimed := config.Own(c.Rules).Own("ban:alice", "string", now)
	for _, m := range all {
		t.Errorf("a block alone is of %s, which reads %v", m.Name, m.Limiter.Fetch(now))
	}
	if !claimed {
		t.Error("a block is left to the libraries")
	}
}
