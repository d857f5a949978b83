package decode

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
)

const someNow = limiter.Instant(1_795_000_000_123_456)

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit time.Duration
	}{
		{1_795_000_000, time.Second}, {1_795_000_000.5, time.Second}, {1_795_000_000_123, time.Millisecond},
		{1_795_000_000_123_456, time.Microsecond}, {1_795_000_000_123_456_789, time.Nanosecond},
		{0, 0}, {-1_795_000_000, 0}, {86400, 0}, {4_102_444_800, 0}, {math.NaN(), 0}, {math.Inf(1), 0}, {1e300, 0}, {1_795_000, 0},
	} {
		if u := UnitOf(c.v, someNow); u != c.unit {
			t.Errorf("unitOf(%v) = %v, want %v", c.v, u, c.unit)
		}
	}
}

func TestSplitStart(t *testing.T) {
	for _, c := range []struct {
		key, base string
		unit      time.Duration
		ok        bool
	}{
		{"rl:search:alice:1794999960", "rl:search:alice", time.Second, true},
		{"rl:search:alice:1794999960000", "rl:search:alice", time.Millisecond, true},
		{"a::1794999960", "a:", time.Second, true},
		{"user:1234567890", "", 0, false},
		{"otp:+4915112345678", "", 0, false},
		{":1794999960", "", 0, false},
		{"x:+1794999960", "", 0, false},
		{"x:01794999960", "", 0, false},
		{"x:1500000000", "", 0, false},
		{"1794999960", "", 0, false},
	} {
		base, _, unit, ok := splitStart(c.key, someNow)
		if base != c.base || unit != c.unit || ok != c.ok {
			t.Errorf("splitStart(%q) = %q, %v, %v", c.key, base, unit, ok)
		}
	}
}

func TestTATs(t *testing.T) {
	ttl := 4 * time.Second
	for _, c := range []struct {
		text string
		unit time.Duration
		at   limiter.Instant
		ok   bool
	}{
		{"1795000004123456", 0, 1_795_000_004_123_456, true},
		{"1795000004123456:1:3", 0, 1_795_000_004_123_456, true},
		{"1795000000123456", 0, 1_795_000_000_123_456, true}, // over, and its key still lives
		{"1795000004123456789", time.Nanosecond, 1_795_000_004_123_456, true},
		{"1795000004123", time.Millisecond, 1_795_000_004_123_000, true},
		{"311771204.123456", time.Second, 1_795_000_004_123_456, true}, // since 2017
		{"1795000004123456:3:3", 0, 0, false},
		{"17", 0, 0, false}, {"", 0, 0, false}, {"nan", 0, 0, false}, {"inf", 0, 0, false}, {"1795000104123456", 0, 0, false},
	} {
		m, unit, ok := ReadTAT(c.text, someNow, ttl)
		if ok != c.ok || ok && (unit != c.unit || (m.At-c.at).Time().UnixMicro() > 1 || c.at-m.At > 1) {
			t.Errorf("readTAT(%q) = %v, %v, %v", c.text, m, unit, ok)
		}
	}
}

func FuzzDecoders(f *testing.F) {
	f.Add("1795000004123456:1:3", "5-1000000000000000", "rl:a:1794999960", 1.795e9, int64(4000))
	f.Add("-", "18446744073709551615-18446744073709551615", "{!}!:denied", -1.0, int64(-1))
	f.Fuzz(func(t *testing.T, value, id, key string, score float64, ttl int64) {
		if m, ok := ParseMoment(value); ok && (m.At < 0 || m.Parts < 0 || m.Part < 0) {
			t.Errorf("parseMoment(%q) = %+v", value, m)
		}
		ReadTAT(value, someNow, time.Duration(ttl)*time.Millisecond)
		NoTAT(value, someNow, time.Duration(ttl)*time.Millisecond)
		if s, ok := ParseID(id); ok {
			if s.At() < 0 || s.Fine() < s.At() {
				t.Errorf("parseStreamID(%q): %v, %v", id, s.At(), s.Fine())
			}
			if n := s.Next(); n.ms < s.ms && s.ms != math.MaxUint64 {
				t.Errorf("%v has next %v", s, n)
			}
		}
		if n, total, _, _ := CountOf(map[string]any{"count": value, "total": id}, "count"); n < 0 || total < 0 {
			t.Errorf("countOf(%q, %q) = %d, %d", value, id, n, total)
		}
		if u := UnitOf(score, someNow); u != 0 {
			if at := InstantIn(score, u); at < someNow/2-1 || at > someNow*3/2+1 {
				t.Errorf("%v in %v is %v", score, u, at)
			}
		}
		if base, _, _, ok := splitStart(key, someNow); ok && base == "" {
			t.Errorf("splitStart(%q) has no base", key)
		}
		ByName(key)
		bucketField(map[string]string{"tokens": value, "level": id, "at": key})
		if w := Tidy(time.Duration(ttl) * time.Microsecond); ttl > 0 && w < 0 {
			t.Errorf("tidy(%d) = %v", ttl, w)
		}
	})
}

// TestNoTAT: each string that is no TAT is told with why and what to do, and without its value.
func TestNoTAT(t *testing.T) {
	for _, c := range []struct {
		text string
		ttl  time.Duration
		want string
	}{
		{"hello", time.Minute, "holds a string that is no number"},
		{"\x1b[2J" + strings.Repeat("x", 100), time.Minute, "holds a string that is no number"},
		{"", time.Minute, "that is no number"},
		{"NaN", time.Minute, "that is no number"},
		{"42", time.Minute, "holds a number that is no theoretical arrival time (TAT) of GCRA: as seconds"},
		{strconv.FormatInt(int64(someNow), 10), 0, "in a key without expiry"},
		{strconv.FormatInt(someNow.Millis()+600_000, 10), time.Minute, "but GCRA's keys expire at their"},
		{strconv.FormatInt(int64(someNow.Add(time.Hour)), 10) + ":1:3", time.Minute, "but GCRA's keys expire at their"},
	} {
		if _, _, ok := ReadTAT(c.text, someNow, c.ttl); ok {
			t.Errorf("%q is taken for a TAT", c.text)
		}
		got := NoTAT(c.text, someNow, c.ttl)
		if c.text != "" && strings.Contains(got, c.text) {
			t.Errorf("%q is repeated: %s", c.text, got)
		}
		if !strings.Contains(got, c.want) || !strings.HasSuffix(got, "correct --algorithm or its rule") {
			t.Errorf("%q: %s", c.text, got)
		}
	}
}
