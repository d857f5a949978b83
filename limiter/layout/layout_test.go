package layout_test

import (
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/limiter/layout"
)

// slotTag is what Redis Cluster hashes of a key, as its specification says.
func slotTag(key string) string {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if n := strings.IndexByte(key[open+1:], '}'); n > 0 {
			return key[open+1 : open+1+n]
		}
	}
	return key
}

var awkward = []string{"a", "user:42", "{user:42}:api", "a{b}c{d}", "}a", "}", "{", "{}", "{}a", "a}b", "a}b{c", "{a", "", "a:fw:12", "{!}a!", "{a}:", "!", ":", "{{a}}", "\xff}", "🔥{"}

// TestOneSlot keeps everything that one decision touches in one slot of a cluster, as
// far as the name of the key allows it.
func TestOneSlot(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 30, 0, time.UTC))
	limit := limiter.Limit{Count: 1, Window: time.Minute}
	for _, key := range awkward {
		names := layout.Keys(limiter.SlidingWindow, key, limit, layout.Layout{}, now)
		names = append(names, layout.Keys(limiter.FixedWindow, key, limit, layout.Layout{}, now)...)
		names = append(names, layout.DeniedKey(key), layout.BlockedKey(key))
		if !strings.Contains(key, "}") || slotTag(key) != key {
			names = append(names, key) // a key with a stray brace has a slot that no other name has
		}
		if key == "" {
			names = names[:len(names)-1]
		}
		for _, name := range names[1:] {
			if slotTag(name) != slotTag(names[0]) {
				t.Errorf("key %q: %q and %q are in different slots", key, names[0], name)
			}
		}
	}
}

func TestParseKey(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 20, 12, 0, 30, 0, time.UTC))
	limit := limiter.Limit{Count: 1, Window: time.Minute}
	seen := map[string]string{}
	for _, key := range awkward {
		for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingWindow} {
			name := layout.Keys(a, key, limit, layout.Layout{}, now)[0]
			if other, taken := seen[name]; taken {
				t.Errorf("%q and %q share the counter %q", key, other, name)
			}
			seen[name] = key
			got, alg, start, ok := layout.ParseKey(name)
			if !ok || got != key || alg != a || start != now.Floor(time.Minute) {
				t.Errorf("%q: read back as %q, %v, %v, %v", name, got, alg, start, ok)
			}
		}
	}
	if got := layout.Keys(limiter.FixedWindow, "a", limit, layout.Layout{}, now)[0]; got != "{a}:fw:1795176000000" {
		t.Errorf("the plain form is %q", got)
	}
	for _, name := range []string{"", "a", "a:fw:1", "{a}:fw:", "{a}:fw:x", "{a}:fw:01", "{a}:fw:+1", "{a}:fw:1.5", "{a}:xw:1", "{a:fw:1", ":fw:1", "{a}:fw:99999999999999999999"} {
		if key, a, _, ok := layout.ParseKey(name); ok {
			t.Errorf("%q was read as key %q of a %v", name, key, a)
		}
	}
}

// TestChosenKeyIsNoOthersState: a key that a client chooses to look like what is kept beside another, under a prefix
// with a hash tag or half of one, is not named so; and a key that does not look like it keeps its name.
func TestChosenKeyIsNoOthersState(t *testing.T) {
	limit := limiter.Limit{Count: 1, Window: time.Minute}
	for _, prefix := range []string{"{api}:", "{", "x{"} {
		for _, key := range []string{"alice", "}", "a}b", "{a"} {
			name := layout.Named(prefix, key)
			beside := []string{
				layout.DeniedKey(name), layout.BlockedKey(name), layout.EndsKey(name), layout.ScratchKey(name),
				layout.OfWindow(name, time.Minute), layout.OfWindow(name, 1500*time.Microsecond),
			}
			for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingWindow} {
				beside = append(beside, layout.Keys(a, name, limit, layout.Layout{}, 0)[0], layout.Keys(a, beside[4], limit, layout.Layout{}, -1)[0])
			}
			for _, other := range beside {
				if chosen, under := strings.CutPrefix(other, prefix); under && layout.Named(prefix, chosen) == other {
					t.Errorf("prefix %q: the key %q has the name of what is kept beside %q", prefix, chosen, key)
				}
			}
		}
	}
	for _, key := range []string{
		"alice", "alice:blocked", "alice::block", "blocked", "a::fw:", "a::fw:x", "a::1s", "a:1ms", "2001:db8::", "::1",
	} {
		if got := layout.Named("{api}:", key); got != "{api}:"+key {
			t.Errorf("%q is named %q", key, got)
		}
	}
}

// FuzzParseKey takes any name that a server may hold: what is read back names the same.
func FuzzParseKey(f *testing.F) {
	for _, key := range awkward {
		f.Add(key, int64(1795176000000))
	}
	f.Add("{a}:fw:7", int64(-1))
	f.Fuzz(func(t *testing.T, key string, ms int64) {
		layout.ParseKey(key)
		start := limiter.Instant(ms % (1 << 40) * 1000)
		limit := limiter.Limit{Count: 1, Window: time.Millisecond}
		name := layout.Keys(limiter.SlidingWindow, key, limit, layout.Layout{}, start)[0]
		got, _, at, ok := layout.ParseKey(name)
		if !ok || got != key || at != start {
			t.Fatalf("%q read back as %q, %v, %v", name, got, at, ok)
		}
	})
}
