package feed

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
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
		if u := unitOf(c.v, someNow); u != c.unit {
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
		{"1795000004123456789", time.Nanosecond, 1_795_000_004_123_456, true},
		{"1795000004123", time.Millisecond, 1_795_000_004_123_000, true},
		{"311771204.123456", time.Second, 1_795_000_004_123_456, true}, // since 2017
		{"1795000004123456:3:3", 0, 0, false},
		{"17", 0, 0, false}, {"", 0, 0, false}, {"nan", 0, 0, false}, {"inf", 0, 0, false}, {"1795000104123456", 0, 0, false},
	} {
		m, unit, ok := readTAT(c.text, someNow, ttl)
		if ok != c.ok || ok && (unit != c.unit || (m.at-c.at).Time().UnixMicro() > 1 || c.at-m.at > 1) {
			t.Errorf("readTAT(%q) = %v, %v, %v", c.text, m, unit, ok)
		}
	}
}

func FuzzDecoders(f *testing.F) {
	f.Add("1795000004123456:1:3", "5-1000000000000000", "rl:a:1794999960", 1.795e9, int64(4000))
	f.Add("-", "18446744073709551615-18446744073709551615", "{!}!:denied", -1.0, int64(-1))
	f.Fuzz(func(t *testing.T, value, id, key string, score float64, ttl int64) {
		if m, ok := parseMoment(value); ok && (m.at < 0 || m.parts < 0 || m.part < 0) {
			t.Errorf("parseMoment(%q) = %+v", value, m)
		}
		readTAT(value, someNow, time.Duration(ttl)*time.Millisecond)
		if s, ok := parseStreamID(id); ok {
			if s.at() < 0 || s.fine() < s.at() {
				t.Errorf("parseStreamID(%q): %v, %v", id, s.at(), s.fine())
			}
			if n := s.next(); n.ms < s.ms && s.ms != math.MaxUint64 {
				t.Errorf("%v has next %v", s, n)
			}
		}
		if n, total, _, _ := countOf(map[string]any{"count": value, "total": id}); n < 0 || total < 0 {
			t.Errorf("countOf(%q, %q) = %d, %d", value, id, n, total)
		}
		if u := unitOf(score, someNow); u != 0 {
			if at := instantIn(score, u); at < someNow/2-1 || at > someNow*3/2+1 {
				t.Errorf("%v in %v is %v", score, u, at)
			}
		}
		if base, _, _, ok := splitStart(key, someNow); ok && base == "" {
			t.Errorf("splitStart(%q) has no base", key)
		}
		byName(key, someNow)
		bucketField([]any{value, id, key})
		redact(value)
		ownMember(value)
		if w := tidy(time.Duration(ttl) * time.Microsecond); ttl > 0 && w < 0 {
			t.Errorf("tidy(%d) = %v", ttl, w)
		}
	})
}

// FuzzRecord plays readings against a record and holds it to its promises: what is told
// adds up to what came, in order, and what was handed out never changes.
func FuzzRecord(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 4, 5, 6, 7, 8, 250, 1})
	f.Fuzz(func(t *testing.T, script []byte) {
		r := &record{window: time.Second}
		script = script[:min(len(script), 400)]
		now := someNow
		var came, told int64
		var handed []limiter.Entry
		var copied []limiter.Entry
		for _, b := range script {
			now = now.Add(time.Duration(b) * time.Millisecond)
			switch b % 5 {
			case 0, 1:
				fresh := []limiter.Entry{{At: now, Count: 1}, {At: now, Count: int64(b % 3)}}
				came += 1 + int64(b%3)
				r.extend(fresh)
			case 2: // late
				r.extend([]limiter.Entry{{At: now.Add(-time.Duration(b) * time.Millisecond), Count: 2}})
				came += 2
			case 3: // read again, with one more
				from := now.Add(-500 * time.Millisecond)
				fresh := slices.Clone(r.entries[r.from(from):])
				fresh = append(fresh, limiter.Entry{At: max(now, from), Count: 1})
				slices.SortFunc(fresh, func(a, b limiter.Entry) int { return int(a.At - b.At) })
				came++
				r.replace(from, fresh, 1)
			case 4:
				r.trim(now)
				for _, a := range r.arrivals(false) {
					told += a.N
				}
				if !slices.Equal(handed, copied) {
					t.Fatal("a log that was handed out has changed")
				}
				handed = r.log()
				copied = slices.Clone(handed)
			}
			if !slices.IsSortedFunc(r.entries, func(a, b limiter.Entry) int { return int(a.At - b.At) }) {
				t.Fatal("entries are out of order")
			}
		}
		var last model.Arrival
		for _, a := range r.arrivals(false) {
			told += a.N
			if a.At < last.At {
				t.Fatal("arrivals are out of order")
			}
			last = a
		}
		if told != came {
			t.Fatalf("%d units were told and %d came", told, came)
		}
	})
}

func TestMailbox(t *testing.T) {
	m := NewMailbox()
	ctx, cancel := context.WithCancel(context.Background())
	reading := func(since, at limiter.Instant, n int64) model.Batch {
		return model.Batch{At: at, Readings: []model.Reading{{Key: "k", At: at, Since: since, Arrivals: []model.Arrival{{At: at, N: n}}}}}
	}
	m.Put(reading(0, 1, 5))
	m.Put(reading(1, 2, 6))
	m.Put(reading(2, 3, 7))
	b, err := m.Take(ctx)
	if err != nil || len(b.Readings) != 1 || b.At != 3 || len(b.Readings[0].Arrivals) != 3 || b.Readings[0].Since != 0 {
		t.Errorf("three merged: %+v, %v", b, err)
	}
	got := make(chan model.Batch)
	go func() {
		b, _ := m.Take(ctx)
		got <- b
	}()
	m.Put(reading(3, 4, 1))
	if b := <-got; b.At != 4 || len(b.Readings[0].Arrivals) != 1 {
		t.Errorf("after the take: %+v", b)
	}
	cancel()
	if _, err := m.Take(ctx); err != context.Canceled {
		t.Errorf("Take after the end: %v", err)
	}
}
