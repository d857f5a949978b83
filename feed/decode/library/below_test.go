package library

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// gauge returns the figures at testNow of the limiter that the first key leads.
func gauge(t *testing.T, given decode.Settings, held ...decode.Sample) model.Gauge {
	t.Helper()
	for _, m := range Recognizer().Matches(&held[0], testNow, "") {
		if !m.Confirmed(found(m.Siblings, held...)) {
			continue
		}
		d := m.Limiter.Decode(testNow, found(m.Limiter.Fetch(testNow), held...), given)
		if d.Err != "" {
			t.Fatal(d.Err)
		}
		if d.LimitFrom == model.NoLimit {
			d.Limit, d.LimitFrom = given.Limit, given.LimitFrom
		}
		d.State.Algorithm = d.Algorithm
		r := model.Reading{Key: m.Name, Type: d.Type, At: testNow, State: d.State, Partial: d.Partial, TTL: d.TTL, Notes: d.Notes}
		r.Target = model.Target{Library: m.Library.Name, Algorithm: d.Algorithm, Limit: d.Limit, LimitKnown: d.LimitFrom != model.NoLimit,
			Window: d.Window, Convention: d.Convention}
		return r.Gauge(testNow)
	}
	t.Fatalf("%s is of no library", held[0].Key)
	return model.Gauge{}
}

// TestSymfonyBelowNothing: reserved beyond what was there, a bucket admits nothing until the batches that come have paid for it.
func TestSymfonyBelowNothing(t *testing.T) {
	for _, c := range []struct {
		tokens     int
		ago        time.Duration
		used, left int64
		next       time.Duration
	}{
		{-3, 0, 10, 0, time.Minute},
		{-3, 90 * time.Second, 3, 7, 0},
		{-10, 0, 10, 0, 2 * time.Minute},
		{-13, 0, 10, 0, 2 * time.Minute},
		{-13, 59 * time.Second, 10, 0, 61 * time.Second},
		{4, 0, 6, 4, 0},
	} {
		const class = `O:48:"Symfony\Component\RateLimiter\Policy\TokenBucket":2:`
		value := fmt.Sprintf(class+`{s:13:"%sapi-alice";i:%d;s:18:"P0Y0M0DT00H1M0S-10";d:%.3f;}`, "\x00\x00\x00\x0a", c.tokens,
			float64(testNow.Add(-c.ago))/1e6)
		g := gauge(t, decode.Settings{}, text("0ee86f3572989d9dbfc461b568428ef4fc9b7d0a", value, time.Minute))
		if g.Used.N != c.used || g.Remaining.N != c.left || g.Next != c.next {
			t.Errorf("%d tokens %v ago: used %d, %d left, next in %v, want %d, %d, %v", c.tokens, c.ago, g.Used.N, g.Remaining.N, g.Next,
				c.used, c.left, c.next)
		}
	}
}

// TestRedissonGivenBack: once more has expired than was missing, because some were released, what is out is counted anew.
func TestRedissonGivenBack(t *testing.T) {
	permits := decode.Sample{Key: "{rl}:permits", Type: "zset", TTL: model.Forever, Length: 2, First: []decode.Element{
		{Member: "\x01a\x0a\x00\x00\x00", Score: float64(testNow.Millis() - 61_000)},
		{Member: "\x01b\x09\x00\x00\x00", Score: float64(testNow.Millis() - 30_000)}}}
	limit := hash("rl", model.Forever, "rate", "10", "interval", "60000", "type", "0")
	for value, used := range map[string]int64{"1": 9, "0": 0, "-1": 0} {
		if g := gauge(t, decode.Settings{}, limit, text("{rl}:value", value, model.Forever), permits); g.Used.N != used {
			t.Errorf("%s left: %d used, want %d", value, g.Used.N, used)
		}
	}
}

// TestBucket4jBelowNothing: tokens that come at intervals come whole, also to what is below 0.
func TestBucket4jBelowNothing(t *testing.T) {
	for _, c := range []struct {
		size int64
		ago  time.Duration
		used int64
		next time.Duration
	}{
		{-3, 0, 10, time.Minute}, {-13, 0, 10, 2 * time.Minute}, {-13, time.Minute, 10, time.Minute}, {-3, time.Minute, 3, 0}, {4, 0, 6, 0},
	} {
		var b []byte
		for _, part := range []any{
			int32(1), int32(1), int32(1), int32(1), int64(10), int64(10), int64(time.Minute), int64(10), true, int64(-1 << 63), false, false,
			int32(3), int32(1), int32(3), int64(testNow)*1000 - int64(c.ago), c.size, int64(0), int32(1), int64(9),
		} {
			b, _ = binary.Append(b, binary.BigEndian, part)
		}
		if g := gauge(t, decode.Settings{}, text("b", string(b), time.Hour)); g.Used.N != c.used || g.Next != c.next {
			t.Errorf("%d tokens %v ago: used %d, next in %v, want %d, %v", c.size, c.ago, g.Used.N, g.Next, c.used, c.next)
		}
	}
}

// TestUpstashBelowNothing: releases up to 2.0.8 take more tokens than there are, which the batches that come pay for.
func TestUpstashBelowNothing(t *testing.T) {
	given := decode.Settings{Limit: limiter.Limit{Count: 1, Burst: 10, Window: 10 * time.Second}, Window: 10 * time.Second,
		LimitFrom: model.LimitOfRule}
	for _, c := range []struct {
		tokens int
		ago    time.Duration
		used   int64
		next   time.Duration
	}{
		{-3, 0, 10, 40 * time.Second}, {-3, 39 * time.Second, 10, time.Second}, {-3, 40 * time.Second, 9, 0}, {0, 0, 10, 10 * time.Second},
		{4, 0, 6, 0},
	} {
		g := gauge(t, given, hash(model.UpstashPrefix+"a", time.Minute, "tokens", fmt.Sprint(c.tokens),
			"refilledAt", fmt.Sprint(testNow.Add(-c.ago).Millis())))
		if g.Used.N != c.used || g.Next != c.next {
			t.Errorf("%d tokens %v ago: used %d, next in %v, want %d, %v", c.tokens, c.ago, g.Used.N, g.Next, c.used, c.next)
		}
	}
}

// TestADayOfSpring: a bucket that takes a day to fill lives for two.
func TestADayOfSpring(t *testing.T) {
	const name = "request_rate_limiter.{r.alice}"
	second := fmt.Sprint(int64(testNow) / 1e6)
	for _, lives := range []time.Duration{47 * time.Hour, 48 * time.Hour, 60 * 24 * time.Hour} {
		lives -= 50 * time.Millisecond
		beside := text(name+".timestamp", second, lives)
		if got := recognized(text(name+".tokens", "3", lives), beside); got != "spring-cloud-gateway" {
			t.Errorf("a bucket that lives for %v is of %q", lives, got)
		}
	}
}

// TestMennanovInOneKey: both buckets may stand in the JSON of one key.
func TestMennanovInOneKey(t *testing.T) {
	given := decode.Settings{Limit: limiter.Limit{Count: 6, Burst: 6, Window: time.Minute}, Window: time.Minute, LimitFrom: model.LimitOfRule}
	for value, want := range map[string]struct {
		algorithm limiter.Algorithm
		left      int64
	}{
		`{"state":{"Last":%s,"Available":3},"version":1}`: {limiter.TokenBucket, 3},
		`{"state":{"Last":%s},"version":1}`:               {limiter.LeakyBucket, 6},
	} {
		s := text("{alice}state", fmt.Sprintf(value, nanosAt(0)), time.Minute)
		if got := recognized(s); got != "mennanov-limiters" {
			t.Errorf("%s is of %q", s.Text, got)
			continue
		}
		m := Recognizer().Matches(&s, testNow, "")[0]
		d := m.Limiter.Decode(testNow, found(m.Limiter.Fetch(testNow), s), given)
		if g := gauge(t, given, s); d.Algorithm != want.algorithm || m.Name != s.Key || g.Remaining.N != want.left {
			t.Errorf("%s: %v with %d left, want %v with %d", s.Text, d.Algorithm, g.Remaining.N, want.algorithm, want.left)
		}
	}
	for _, other := range []string{"{}", "1", `{"state":"done"}`, `{"state":{"Last":1,"Available":3},"version":1}`} {
		if got := recognized(text("{alice}state", other, time.Minute)); got != "" {
			t.Errorf("%s is of %q", other, got)
		}
	}
}
