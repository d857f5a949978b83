package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// window is {"count": n} in the JSON output.
type window struct {
	Count int64 `json:"count"`
}

// key is one key of the JSON output, written down here a second time on purpose: what
// other programs rely on does not change because ours did.
type key struct {
	Key         string   `json:"key"`
	Type        string   `json:"type"`
	Algorithm   *string  `json:"algorithm"`
	Limit       *int64   `json:"limit"`
	WindowMS    *int64   `json:"window_ms"`
	Used        *int64   `json:"used"`
	Remaining   *int64   `json:"remaining"`
	Utilization *float64 `json:"utilization"`
	Previous    *window  `json:"previous"`
	Current     *window  `json:"current"`
	Weight      *float64 `json:"weight"`
	Estimate    *float64 `json:"estimate"`
	Exact       *int64   `json:"exact"`
	Next        *int64   `json:"next_admission_ms"`
	Rate        *float64 `json:"rate_per_s"`
	Denied      struct {
		Known bool   `json:"known"`
		Count *int64 `json:"count"`
	} `json:"denied"`
	TTL     *int64   `json:"ttl_ms"`
	Notes   []string `json:"notes"`
	Allowed *bool    `json:"allowed"` // of peek
}

type snapshot struct {
	At     int64  `json:"at_ms"`
	Server string `json:"server"`
	Keys   []key  `json:"keys"`
}

// find returns the key of that name.
func (s snapshot) find(t *testing.T, name string) key {
	t.Helper()
	i := slices.IndexFunc(s.Keys, func(k key) bool { return k.Key == name })
	if i < 0 {
		t.Fatalf("the snapshot does not hold %q: %+v", name, s.Keys)
	}
	return s.Keys[i]
}

// number prints what a field of the JSON says.
func number[T int64 | float64](p *T) string {
	if p == nil {
		return "null"
	}
	return fmt.Sprint(*p)
}

func count(w *window) string {
	if w == nil {
		return "null"
	}
	return fmt.Sprint(w.Count)
}

// formats writes the same twelve requests into every format that the articles and
// other libraries use: five in the window before the last edge, seven since, of which
// the last are three at once. It returns the names of the logs and of the counters.
func formats(t *testing.T, s redisServer, w time.Duration) (logs, counters []string) {
	t.Helper()
	now := s.now(t)
	start := time.UnixMilli(now.UnixMilli() / w.Milliseconds() * w.Milliseconds())
	moments := []time.Time{ // 5 before the edge, 4 after it, then 3 in one instant
		start.Add(-5 * time.Second), start.Add(-4 * time.Second), start.Add(-3 * time.Second),
		start.Add(-2 * time.Second), start.Add(-time.Second),
		start.Add(2 * time.Second), start.Add(3 * time.Second), start.Add(4 * time.Second), start.Add(5 * time.Second),
	}
	last := start.Add(10 * time.Second)
	for i, m := range append(slices.Clone(moments), last, last, last) {
		s.cli(t, "ZADD", "z:seconds", fmt.Sprintf("%.6f", float64(m.UnixMicro())/1e6), fmt.Sprintf("request-%d", i))
		s.cli(t, "ZADD", "z:millis", strconv.FormatInt(m.UnixMilli(), 10), fmt.Sprintf("%d:%x", i, i*7919))
		s.cli(t, "ZADD", "z:micros", strconv.FormatInt(m.UnixMicro(), 10), fmt.Sprintf("%d", i))
	}
	for _, m := range moments {
		s.cli(t, "XADD", "x:stream", strconv.FormatInt(m.UnixMilli(), 10)+"-0", "count", "1")
	}
	s.cli(t, "XADD", "x:stream", strconv.FormatInt(last.UnixMilli(), 10)+"-0", "count", "3")
	for prefix, unit := range map[string]time.Duration{"c:seconds:alice": time.Second, "c:millis:alice": time.Millisecond} {
		for at, n := range map[time.Time]int{start.Add(-w): 5, start: 7} {
			name := fmt.Sprintf("%s:%d", prefix, at.UnixNano()/int64(unit))
			s.cli(t, "SET", name, strconv.Itoa(n), "PX", strconv.FormatInt(2*w.Milliseconds(), 10))
		}
		counters = append(counters, prefix)
	}
	return []string{"z:seconds", "z:millis", "z:micros", "x:stream"}, counters
}

func limitFlag(n int, w time.Duration) string { return fmt.Sprintf("%d/%s", n, w) }

// TestSnapshotOfOthersFormats writes the formats of other programs and compares every
// number of the JSON with what it follows to be.
func TestSnapshotOfOthersFormats(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	w := quietWindow(s.now(t))
	logs, counters := formats(t, s, w)
	before := dump(t, s)
	spy := s.watch(t)
	for _, algorithm := range []string{"auto", "fixed-window", "sliding-window"} {
		watch := []string{"snapshot", "--json", "--redis", s.URL(), "--limit", limitFlag(10, w), "--algorithm", algorithm}
		names := append(slices.Clone(logs), counters...)
		if algorithm != "auto" {
			watch, names = append(watch, "--watch", "c:*"), counters
		} else {
			watch = append(watch, "--watch", "?:*") // the test says that all of these are limiters
		}
		var snap snapshot
		ratescope(t, watch...).ok(t, &snap)
		if snap.Server == "" || len(snap.Keys) != len(names) {
			t.Fatalf("server %q, %d keys, want %d: %+v", snap.Server, len(snap.Keys), len(names), snap.Keys)
		}
		if off := s.now(t).Sub(time.UnixMilli(snap.At)); off < 0 || off > 10*time.Second {
			t.Errorf("at_ms is %v off the server's clock", off)
		}
		weight := 1 - float64(snap.At%w.Milliseconds())/float64(w.Milliseconds())
		for _, name := range names {
			k := snap.find(t, name)
			numbers(t, k, w, weight, !strings.HasPrefix(name, "c:"), algorithm)
		}
	}
	if after := dump(t, s); after != before {
		t.Errorf("reading changed what the server holds:\n%s\nbefore:\n%s", after, before)
	}
	if bad := spy.writing(t, s); len(bad) > 0 {
		t.Errorf("reading sent %v", bad)
	}
	if seen := spy.commands(); len(seen) < 5 {
		t.Errorf("the monitor saw only %v: it proves nothing", seen)
	}
}

// numbers compares k with the requests of formats and a limit of 10.
func numbers(t *testing.T, k key, w time.Duration, weight float64, log bool, algorithm string) {
	t.Helper()
	fail := func(field, got string, want any) {
		if got != fmt.Sprint(want) {
			t.Errorf("%s: %s is %s, want %v", k.Key, field, got, want)
		}
	}
	fail("limit", number(k.Limit), 10)
	fail("window_ms", number(k.WindowMS), w.Milliseconds())
	fail("previous", count(k.Previous), 5)
	fail("current", count(k.Current), 7)
	if k.Weight == nil || math.Abs(*k.Weight-weight) > 0.001 {
		t.Errorf("%s: weight is %s, want %.4f", k.Key, number(k.Weight), weight)
	}
	used := int64(7)
	switch {
	case log: // of the five before the edge, those that are younger than the window
		used = 12
		fail("exact", number(k.Exact), used)
	case k.Algorithm != nil && *k.Algorithm == "sliding-window": // as told, or from two windows held at once
		used = 7 + int64(math.Floor(5*weight))
	}
	fail("estimate", number(k.Estimate), 7+int64(math.Floor(5*weight))) // of a log and a fixed window too
	if !log {
		fail("exact", number(k.Exact), "null")
	}
	if algorithm != "auto" && (k.Algorithm == nil || *k.Algorithm != algorithm) {
		t.Errorf("%s: the algorithm is not %s", k.Key, algorithm)
	}
	if log && k.Remaining != nil && *k.Remaining != 0 {
		t.Errorf("%s: remaining is %d with 12 of 10 used", k.Key, *k.Remaining)
	}
	fail("used", number(k.Used), used)
	fail("remaining", number(k.Remaining), max(10-used, 0))
	if k.Utilization == nil || math.Abs(*k.Utilization-float64(used)/10) > 1e-9 {
		t.Errorf("%s: utilization is %s, want %v", k.Key, number(k.Utilization), float64(used)/10)
	}
	if k.Next == nil || (*k.Next == 0) != (used < 10) {
		t.Errorf("%s: next_admission_ms is %s with %d of 10 used", k.Key, number(k.Next), used)
	}
	if k.Denied.Known || k.Denied.Count != nil {
		t.Errorf("%s: denials are known, and nothing records them", k.Key)
	}
}

// dump is all that a server holds, without times to live, which move by themselves.
func dump(t *testing.T, s redisServer) string {
	t.Helper()
	names := strings.Fields(s.cli(t, "KEYS", "*"))
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%s expires %s %x\n", name, s.cli(t, "PEXPIRETIME", name), s.cli(t, "DUMP", name))
	}
	return b.String()
}

func TestSnapshotFields(t *testing.T) {
	t.Parallel()
	r := ratescope(t, "snapshot", "--json")
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	r.ok(t, &raw)
	if len(raw.Keys) < 10 {
		t.Fatalf("the embedded demo has %d keys, want at least 10", len(raw.Keys))
	}
	want := []string{"key", "type", "algorithm", "limit", "window_ms", "used", "remaining", "utilization", "previous",
		"current", "weight", "estimate", "exact", "next_admission_ms", "rate_per_s", "denied", "ttl_ms", "notes"}
	for _, k := range raw.Keys {
		d := json.NewDecoder(strings.NewReader(string(k)))
		var got []string
		for depth := 0; ; {
			token, err := d.Token()
			if err != nil {
				break
			}
			switch v := token.(type) {
			case json.Delim:
				depth += map[json.Delim]int{'{': 1, '[': 1, '}': -1, ']': -1}[v]
			case string:
				if depth == 1 && len(got) < len(want) && v == want[len(got)] {
					got = append(got, v)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("fields %v, want %v, in %s", got, want, k)
		}
	}
	if !slices.IsSortedFunc(raw.Keys, func(a, b json.RawMessage) int {
		var x, y key
		if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
			t.Fatal("a key does not decode")
		}
		return strings.Compare(x.Key, y.Key)
	}) {
		t.Error("the keys are not sorted")
	}
	if table := ratescope(t, "snapshot"); table.code != 0 || strings.Count(table.out, "\n") < 12 || strings.Contains(table.out, "\x1b") {
		t.Errorf("exit code %d, table %q", table.code, table.out)
	}
}

// TestSnapshotWithoutLimit: what is not known is null, never 0.
func TestSnapshotWithoutLimit(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	formats(t, s, quietWindow(s.now(t)))
	var snap snapshot
	ratescope(t, "snapshot", "--json", "--redis", s.URL(), "--watch", "z:millis").ok(t, &snap)
	k := snap.find(t, "z:millis")
	if k.Limit != nil || k.Remaining != nil || k.Utilization != nil || k.Next != nil {
		t.Errorf("without a limit these are not known: limit %s, remaining %s, utilization %s, next %s",
			number(k.Limit), number(k.Remaining), number(k.Utilization), number(k.Next))
	}
	if k.Type != "zset" || k.TTL == nil || *k.TTL != -1 || !slices.Contains(k.Notes, "no expiry") {
		t.Errorf("type %q, ttl_ms %s, notes %q of a ZSET without expiry", k.Type, number(k.TTL), k.Notes)
	}
}

func TestSnapshotOfHostileNames(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	names := []string{
		"h:\x1b]0;owned\x07\x1b[2J", "h:👩\u200d💻🇨🇭", "h:\u202egnp", "h:with space\nand line", "h:" + strings.Repeat("k", 4096),
	}
	for _, name := range names {
		s.cli(t, "ZADD", name, strconv.FormatInt(s.now(t).UnixMilli(), 10), "m")
	}
	s.cli(t, "ZADD", "h:\xff\xfe", strconv.FormatInt(s.now(t).UnixMilli(), 10), "m")
	var snap snapshot
	args := []string{"snapshot", "--redis", s.URL(), "--watch", "h:*", "--limit", "10/1h"}
	ratescope(t, append(args, "--json")...).ok(t, &snap)
	for _, name := range append(names, "h:\ufffd\ufffd") {
		if k := snap.find(t, name); k.Used == nil || *k.Used != 1 {
			t.Errorf("%.40q: used is %s, want 1", name, number(k.Used))
		}
	}
	table := ratescope(t, args...)
	table.ok(t, nil)
	if strings.ContainsAny(table.out, "\x1b\x07\u202e\u200d") || !utf8.ValidString(table.out) || strings.Count(table.out, "\n") != 3+len(names)+1 {
		t.Errorf("the table lets bytes through or lines break: %q", table.out)
	}
	masked := ratescope(t, append(args, "--mask")...)
	masked.ok(t, nil)
	if strings.Contains(masked.out, "owned") || !strings.Contains(masked.out, "***") {
		t.Errorf("the middle of the names shows: %q", masked.out)
	}
}
