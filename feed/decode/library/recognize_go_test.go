package library

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"testing"
	"time"

	"ratescope/feed/decode"
	"ratescope/limiter"
	"ratescope/model"
)

// secondsAt, millisAt and nanosAt write the test's now, later by ahead.
func secondsAt(ahead time.Duration) string {
	return strconv.FormatInt(int64(testNow.Add(ahead))/1e6, 10)
}
func millisAt(ahead time.Duration) string {
	return strconv.FormatInt(testNow.Add(ahead).Millis(), 10)
}
func nanosAt(ahead time.Duration) string {
	return strconv.FormatInt(int64(testNow.Add(ahead))*1000, 10)
}

// member returns a sorted set of one member.
func member(key string, ttl time.Duration, name string, score float64) decode.Sample {
	e := decode.Element{Member: name, Score: score}
	return zset(key, ttl, 1, e, e)
}

// TestLookAlikesOfGo: keys of other programs that have much in common with those of gateways and
// of Go's, Java's and .NET's libraries are no limiter, and neither are halves without their twins.
func TestLookAlikesOfGo(t *testing.T) {
	for _, s := range []decode.Sample{
		text("cache:views:article:42", "117", time.Minute),
		text("limiter:signup", "3", time.Minute),
		text("limiter:otp:+4915112345678", "482913", 5*time.Minute),
		text("rate:EURUSD", "1.0842", time.Minute),
		text("rate:plan:42", "311771204", time.Hour),
		text("lock:invoice:7", nanosAt(30*time.Second), 30*time.Second),
		text("access_token:9:expires", nanosAt(time.Hour), time.Hour),
		text("stats:hits_per_minute_"+secondsAt(0), "31", time.Hour),
		text("web_visits_home_"+secondsAt(-23*time.Second), "31", 2*time.Minute),
		text("report_2026_"+secondsAt(0), "1", time.Minute),
		text("alice@"+nanosAt(-time.Second), "4", time.Minute),
		text("alice@example.com", "4", time.Minute),
		text("job:1794999996000000000", "4", 8*time.Second),
		text("user:"+secondsAt(0), "4", 10*time.Second),
		text("alice:44", "4", 59*time.Second),
		text("10.0.0.1/hits", "12", time.Hour),
		text("ads:hits", "12", time.Hour),
		text("chart.tokens", "12", time.Hour),
		text("{user}.tokens", "12", time.Hour),
		text("request_rate_limiter.{a}.tokens", "12", time.Hour),
		text("{cart}last", nanosAt(-time.Second), model.Forever),
		text("rl:fw:{alice}", "3", time.Minute),
		text("ratelimit:alice:1794999960000:minute", "3", time.Minute),
		text("httprate:12", "3", time.Minute),
		text("bin", "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01", time.Minute),
		text("msgpack", "\x83\xa8currHits\x01\xa8prevHits\x00\xa3exp", time.Minute),
		text("plugin-limit-counter", "4", time.Minute),
		text("{cart:7}:value", "4", time.Minute),
		hash("bucket:images", time.Hour, "tokens", "12", "owner", "7"),
		hash("user:7", model.Forever, "s", "1", "t", "2", "k", "3", "m", "4"),
		hash("config:limits", model.Forever, "rate", "5", "interval", "60000"),
		hash("rate:EURUSD", time.Minute, "last", "1.08", "tokens", "7"),
		hash("rate:limit@file:a", time.Minute, "last", millisAt(0), "tokens", "7"),
		hash("limit_req:a", time.Minute, "excess", "-3", "last", millisAt(0)),
		hash("order:7", model.Forever, "rate", "5", "interval", "60000", "type", "express"),
		member("concurrent_requests", model.Forever, "job", 1794999999),
		member("delayed:jobs", time.Hour, "job:1", 1795000100),
		member("rate-limit-news", time.Hour, "post:1", 1794999999123456000),
		member("rl:sw:alice", time.Hour, "a", 1794999999123),
		member("{cart:7}:permits", model.Forever, "a", 1794999999123),
	} {
		if name := recognized(s); name != "" {
			t.Errorf("%s %q is taken for a limiter of %s", s.Type, s.Key, name)
		}
	}
}

// TestOwnArrivals: a theoretical arrival time of whole microseconds is our own under our prefix,
// and otherwise that of many.
func TestOwnArrivals(t *testing.T) {
	micros := func(ahead time.Duration) string { return strconv.FormatInt(int64(testNow.Add(ahead)), 10) }
	for _, c := range []struct {
		s    decode.Sample
		want string
	}{
		{text("ratelimit:alice", micros(3*time.Second), 4*time.Second), model.OwnLibrary},
		{text("alice", micros(3*time.Second)+":1:3", 4*time.Second), model.OwnLibrary},
		{text("alice", micros(3*time.Second), 4*time.Second), ""},
		{text("ratelimit:alice", micros(9*time.Second), 4*time.Second), ""},
		{text("ratelimit:alice", "7", 4*time.Second), ""},
	} {
		if got := recognized(c.s); got != c.want {
			t.Errorf("%q of %s, for %v: %q, want %q", c.s.Key, c.s.Text, c.s.TTL, got, c.want)
		}
	}
}

// TestLeftOut: libraries that have no decoder are never known.
func TestLeftOut(t *testing.T) {
	now := strconv.FormatInt(int64(testNow), 10)
	for _, s := range []decode.Sample{
		text("key:alice:448750000", "4", 12*time.Second), // vearne/ratelimit, a window of 4 s
		text("key:leaky:alice", now, model.Forever),
		hash("key:token:alice", model.Forever, "token_count", "3.5", "updateTime", now),
		text("myzone:10.0.0.1", "[996,"+millisAt(0)+",0]", time.Minute), // lua-resty-redis-ratelimit
		text("myzone:10.0.0.1", "[1996,"+millisAt(0)+",1]", 3*time.Second),
	} {
		if name := recognized(s); name != "" {
			t.Errorf("%s %q is taken for a limiter of %s", s.Type, s.Key, name)
		}
	}
	for _, l := range All() {
		if l.Name == "vearne-ratelimit" || l.Name == "lua-resty-redis-ratelimit" {
			t.Errorf("%s has a decoder, and is one that has none on purpose", l.Name)
		}
	}
}

// bucket4jGreedy is the value of a bucket of 5 in 4 s with 4 tokens left at the test's now.
const bucket4jGreedy = "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01" +
	"\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x05" +
	"\x00\x00\x00\x00\xee\x6b\x28\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00\x03" +
	"\x18\xe9\x1c\x5c\x91\xb2\x26\x00\x00\x00\x00\x00\x00\x00\x00\x04" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"

// seedsOfGo adds samples that the decoders of gateways and of Go's, Java's and .NET's libraries
// take, and hostile ones beside them.
func seedsOfGo(f *testing.F) {
	for _, s := range []struct {
		key, value, other, third string
		score                    float64
		ttl                      int64
		typ                      uint8
	}{
		{"rate:a", "311771204.123456", "", "", 0, 4000, 0},
		{"rate:a", "1e308", "", "", 0, 4000, 0},
		{"a", nanosAt(4 * time.Second), nanosAt(0), "", 0, 4000, 0},
		{"request_rate_limiter.{a}.tokens", "1e300", secondsAt(0), "", 0, 4000, 0},
		{"{a}.tokens", "NaN", secondsAt(0), "", 0, 4000, 0},
		{"192.0.2.1/hits", "9007199254740991", secondsAt(0), "", 0, 8000, 0},
		{"a", "\x83\xa8currHits\xcf\x00\x1f\xff\xff\xff\xff\xff\xff\xa8prevHits\x05\xa3exp\xce\x6a\xfd\x97\x44", "", "", 0, 8000, 0},
		{"a", bucket4jGreedy, "", "", 0, -1, 0},
		{"{a}1794999996000000000", "5", "-5", "\xff", 0, 3999, 0},
		{"a@1794999996000000000", "5", "5", "", 0, 7999, 0},
		{"web_remote_address_10.0.0.1_" + secondsAt(0), "5", "5", "5", 0, 1000, 0},
		{"plugin-limit-count:a:b:c.448749999.counter", "5", "5", "", 0, 8000, 0},
		{"plugin-limit-count/a:b:c", "-9223372036854775808", "", "", 0, 4000, 0},
		{"limit_req:a", "1e18", millisAt(0), "", 0, 3000, 1},
		{"rate:a@b:c", strconv.FormatInt(int64(testNow), 10), "-1e18", "", 0, 2000, 1},
		{"a", "1.7949999e+18", "0", "9223372036854775807", 0, 3000, 1},
		{"a", "9007199254740991", "86400000", "0", 1.794999999e12, -1, 1},
		{"limit_conn:a", "", "", "", 1795000004, 4000, 2},
		{"rate-limit-a-b", "", "1794999999000000000", "1794999999000000000", 1794999999000000000, 4000, 2},
		{"rl:tb:{a}", "9007199254740991", millisAt(0), "", 0, 3000, 0},
	} {
		f.Add(s.key, s.value, s.other, s.third, s.score, s.ttl, s.typ)
	}
}

// BenchmarkRecognize tries all libraries on a page of 1,000 keys of other programs.
func BenchmarkRecognize(b *testing.B) {
	page := make([]decode.Sample, 0, 1000)
	for i := 0; len(page) < cap(page); i++ {
		page = append(page,
			text(fmt.Sprintf("cache:views:article:%d", i), strconv.Itoa(i), time.Minute),
			text(fmt.Sprintf("session:%08x", i*2654435761), "eyJhbGciOiJIUzI1NiJ9", time.Hour),
			text(fmt.Sprintf("otp:+49151%07d", i), "482913", 5*time.Minute),
			text(fmt.Sprintf("lock:invoice:%d", i), nanosAt(30*time.Second), 30*time.Second),
			hash(fmt.Sprintf("user:%d", i), model.Forever, "name", "alice", "type", "2"),
			member(fmt.Sprintf("feed:%d", i), time.Hour, "post:1", 1794999999123),
			list(fmt.Sprintf("queue:%d", i), model.Forever, 3, "job"),
			text(fmt.Sprintf("stats:2026:11:%d", i), "31", time.Hour),
		)
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range page {
			if m := Recognizer().Matches(&page[i], testNow, ""); len(m) > 2 {
				b.Fatal(page[i].Key)
			}
		}
	}
}

// TestOwnLogNeedsItsName: a log of microseconds whose members are their scores is what the scripts of others
// write, too. It is known under the prefix of the package alone, and there only with the members it writes.
func TestOwnLogNeedsItsName(t *testing.T) {
	log := func(key, suffix string) decode.Sample {
		first, last := at(time.Second, time.Microsecond), at(0, time.Microsecond)
		first.Member, last.Member = first.Member+suffix, last.Member+suffix
		return decode.Sample{
			Key: key, Type: "zset", TTL: time.Minute, Length: 2, First: []decode.Element{first}, Last: []decode.Element{last},
		}
	}
	for _, c := range []struct{ key, suffix, want string }{
		{"ratelimit:alice", "", model.OwnLibrary},
		{"ratelimit:alice", "-2", model.OwnLibrary},
		{"ratelimit:alice", "-a83b", ""},
		{"ratelimit:alice", "-0", ""},
		{"api:v2:tenant:1:user:2", "", ""},
		{"api:v2:tenant:1:user:2", "-17", ""},
	} {
		if is := recognized(log(c.key, c.suffix)); is != c.want {
			t.Errorf("%s with members <time>%s is taken for one of %q, want %q", c.key, c.suffix, is, c.want)
		}
	}
}

// TestFiberIsToldItsAlgorithm shows the requests of a sliding window at the first look, when a rule says that it is one: its
// key outlives the window by its length. One that outlives it by less is a fixed window, whatever the rule says.
func TestFiberIsToldItsAlgorithm(t *testing.T) {
	end := testNow.Add(15 * time.Second).Floor(time.Second)
	hits := "\x83\xa8currHits\x03\xa8prevHits\x00\xa3exp\xce" + string(binary.BigEndian.AppendUint32(nil, uint32(end/1e6)))
	s := text("203.0.113.1", hits, end.Sub(testNow)+20*time.Second)
	m := fiberLimiter(&s, decode.Context{Now: testNow})
	if m == nil {
		t.Fatal("it is not recognized")
	}
	d := m.Limiter.Decode(testNow, []decode.Sample{s}, decode.Settings{Algorithm: limiter.SlidingWindow, Limit: limiter.Limit{Count: 5}})
	if d.Err != "" || d.Algorithm != limiter.SlidingWindow || d.Window != 20*time.Second || d.State.Current != 3 {
		t.Errorf("%q, %v, window %v, current %d", d.Err, d.Algorithm, d.Window, d.State.Current)
	}
	s = text("203.0.113.1", hits, end.Sub(testNow)+2*time.Second)
	d = fiberLimiter(&s, decode.Context{Now: testNow}).Limiter.Decode(testNow, []decode.Sample{s},
		decode.Settings{Algorithm: limiter.SlidingWindow, Limit: limiter.Limit{Count: 5}})
	if d.Err != "" || d.Algorithm != limiter.FixedWindow || d.State.Start.Add(d.Window) != end || d.State.Current != 3 {
		t.Errorf("a fixed window is told as sliding: %q, %v, window %v, current %d", d.Err, d.Algorithm, d.Window, d.State.Current)
	}
}
