package watch_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// TestReadsSortedSetsInEveryUnit writes logs as the articles do, with redis-cli, and reads
// them without a word about their unit.
func TestReadsSortedSetsInEveryUnit(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	now := s.Now()
	for i, ago := range []time.Duration{90 * time.Minute, 30 * time.Minute, 20 * time.Minute, 20 * time.Minute, 10 * time.Minute} {
		at := now.Add(-ago)
		member := "m" + strconv.Itoa(i)
		s.CLI("ZADD", "log:s", strconv.FormatInt(int64(at)/1e6, 10), member)
		s.CLI("ZADD", "log:frac", fmt.Sprintf("%.6f", float64(at)/1e6), member)
		s.CLI("ZADD", "log:ms", strconv.FormatInt(int64(at)/1e3, 10), member)
		s.CLI("ZADD", "log:us", strconv.FormatInt(int64(at), 10), member)
	}
	_, got := feedtest.Once(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()}, Rules: []config.Rule{hourRule("log:*", limiter.SlidingLog)}})
	for key, unit := range map[string]time.Duration{"log:s": time.Second, "log:frac": time.Second, "log:ms": time.Millisecond, "log:us": time.Microsecond} {
		r, ok := got[key]
		if !ok {
			t.Errorf("%s was not found", key)
			continue
		}
		if n := feedtest.Used(r); n != 4 {
			t.Errorf("%s: used %d, want the 4 members of the last hour", key, n)
		}
		if r.Target.Layout.Unit != unit {
			t.Errorf("%s: unit %v, want %v", key, r.Target.Layout.Unit, unit)
		}
		if r.Type != "zset" || r.TTL != model.Forever || !slices.Contains(r.Notes, model.NoExpiry) || !slices.Contains(r.Notes, model.ForeignWriter) {
			t.Errorf("%s: type %s, TTL %v, notes %v", key, r.Type, r.TTL, r.Notes)
		}
	}
}

// TestReadsForeignStreams reads a stream with the field count alone, and one without it.
func TestReadsForeignStreams(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	// At the server and in one go, as its library does: the expiry tells the window.
	s.CLI("EVAL", "for i = 1, 3 do redis.call('XADD', KEYS[1], '*', 'count', '2') end return redis.call('PEXPIRE', KEYS[1], 3600000)", "1", "calls")
	s.CLI("XADD", "events", "*", "user", "alice")
	_, got := feedtest.Once(t, feed.Options{URLs: []string{s.URL()}, Watch: feedtest.EveryKey})
	r := got["calls"]
	if n := feedtest.Used(r); n != 6 || r.Target.Algorithm != limiter.StreamCounter || r.Target.Library != "counter-sliding-window" {
		t.Errorf("calls: used %d by %v of %q, want 6 by the stream of counter-sliding-window", n, r.Target.Algorithm, r.Target.Library)
	}
	if r.Target.Window != time.Hour || r.Target.LimitKnown {
		t.Errorf("calls: window %v (limit known %v), want 1h told from the expiry", r.Target.Window, r.Target.LimitKnown)
	}
	if slices.Contains(r.Notes, model.NoCountField) || !r.Target.Layout.NoTotals {
		t.Errorf("calls: notes %v, layout %+v", r.Notes, r.Target.Layout)
	}
	if r := got["events"]; !slices.Contains(r.Notes, model.NoCountField) || feedtest.Used(r) != 1 {
		t.Errorf("events: used %d, notes %v: an entry without count counts 1 and says so", feedtest.Used(r), r.Notes)
	}
}

// TestReadsForeignCounters reads prefix:resource:subject:<start> in seconds and in
// milliseconds, as fixed and as sliding windows.
func TestReadsForeignCounters(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	now := s.Amid(t, time.Hour)
	cur := now.Floor(time.Hour)
	prev := cur.Add(-time.Hour)
	sec := func(at limiter.Instant) string { return strconv.FormatInt(int64(at)/1e6, 10) }
	ms := func(at limiter.Instant) string { return strconv.FormatInt(int64(at)/1e3, 10) }
	s.CLI("SET", "rl:search:alice:"+sec(prev), "84", "PX", "5400000")
	s.CLI("SET", "rl:search:alice:"+sec(cur), "31", "PX", "7200000")
	s.CLI("SET", "rl:login:bob:"+ms(cur), "7", "PX", "3600000")
	s.CLI("SET", "user:1234567890", "17")
	_, got := feedtest.Once(t, feed.Options{Watch: []string{"rl:*"}, URLs: []string{s.URL()}})
	alice, bob := got["rl:search:alice"], got["rl:login:bob"]
	if alice.Target.Algorithm != limiter.SlidingWindow || alice.State.Previous != 84 || alice.State.Current != 31 || !alice.PreviousKnown {
		t.Errorf("alice: %v, previous %d (known %v), current %d, want a sliding window of 84 and 31",
			alice.Target.Algorithm, alice.State.Previous, alice.PreviousKnown, alice.State.Current)
	}
	if alice.Target.Window != time.Hour || alice.Target.Layout != (layout.Layout{Unit: time.Second, Suffixed: true}) {
		t.Errorf("alice: window %v, layout %+v", alice.Target.Window, alice.Target.Layout)
	}
	if bob.Target.Algorithm != limiter.FixedWindow || bob.State.Current != 7 || bob.PreviousKnown || bob.Target.Window != time.Hour {
		t.Errorf("bob: %v, current %d, previous known %v, window %v, want a fixed window of 7 in 1h",
			bob.Target.Algorithm, bob.State.Current, bob.PreviousKnown, bob.Target.Window)
	}
	if len(got) != 2 {
		t.Errorf("found %d keys, want 2: a plain number is no limiter", len(got))
	}
}

// TestARuleNamesTheLibraryOfWhatIsFound: keys that a search finds are recognized as those that are asked for by
// name: a rule that names a library is believed about their prefix, and a request from here is then
// written as that library writes one.
func TestARuleNamesTheLibraryOfWhatIsFound(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("SET", "shop:bob", "2", "PX", "3600000")
	s.CLI("SET", "other:bob", "2", "PX", "3600000")
	limit := limiter.Limit{Count: 5, Window: time.Hour}
	rule := func(match, library string) config.Rule {
		return config.Rule{Match: match, Library: library, Limit: limit, LimitKnown: true, Window: time.Hour}
	}
	_, got := feedtest.Once(t, feed.Options{Watch: feedtest.EveryKey, URLs: []string{s.URL()}, Rules: []config.Rule{rule("shop:*", "rate-limit-redis"), rule("other:*", "")}})
	for key, want := range map[string]string{"shop:bob": "rate-limit-redis", "other:bob": ""} {
		if r := got[key]; r.Target.Library != want || r.Target.Exact != (want != "") || feedtest.Used(r) != 2 {
			t.Errorf("%s: %+v, want it to be of %q", key, r.Target, want)
		}
	}
}
