package library

import (
	"encoding/binary"
	"testing"
	"time"
)

// TestRaiseBucket4j: what has come back until now comes at the rate until now, the tokens and the capacity
// rise by what is given, and lowered again the bucket is as it was.
func TestRaiseBucket4j(t *testing.T) {
	const period = int64(10 * time.Minute)
	value := func(capacity, refill int64, intervally bool, ago time.Duration, size, rest int64) string {
		var b []byte
		for _, part := range []any{
			int32(1), int32(1), int32(1), int32(1), capacity, int64(7), period, refill, intervally, int64(-1 << 63), false, false,
			int32(3), int32(1), int32(3), int64(testNow)*1000 - int64(ago), size, rest, int32(1), int64(9),
		} {
			b, _ = binary.Append(b, binary.BigEndian, part)
		}
		return string(b)
	}
	for name, c := range map[string]struct{ text, refilled, raised string }{
		"greedy": {
			value(10, 10, false, 174*time.Second, 1, 0), value(10, 10, false, 0, 3, period*9/10), value(30, 30, false, 0, 23, period*9/10),
		},
		"of another capacity": {
			value(50, 10, false, time.Minute, 7, 0), value(50, 10, false, 0, 8, 0), value(70, 10, false, 0, 28, 0),
		},
		"full": {
			value(10, 10, false, time.Hour, 9, 5), value(10, 10, false, 0, 10, 0), value(30, 30, false, 0, 30, 0),
		},
		"at intervals": {
			value(10, 10, true, 14*time.Minute, 1, 0), value(10, 10, true, 4*time.Minute, 10, 0), value(30, 30, true, 4*time.Minute, 30, 0),
		},
		"ahead of the clock": {
			value(10, 10, false, -time.Second, 1, 0), value(10, 10, false, -time.Second, 1, 0), value(30, 30, false, -time.Second, 21, 0),
		},
	} {
		raised, was, err := RaiseBucket4j(c.text, 20, testNow)
		if err != nil || raised != c.raised {
			t.Errorf("%s: %x, %v, want %x", name, raised, err, c.raised)
		}
		if before, _ := readBucket4j(c.text, testNow); was != before[0].limit() {
			t.Errorf("%s: the limit was %+v", name, was)
		}
		if back, _, err := RaiseBucket4j(raised, -20, testNow); err != nil || back != c.refilled {
			t.Errorf("%s: lowered again %x, %v, want %x", name, back, err, c.refilled)
		}
	}
	if _, _, err := RaiseBucket4j("1", 20, testNow); err == nil {
		t.Error("a counter was raised as a bucket")
	}
}
