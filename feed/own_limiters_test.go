package feed_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestNothingFalseOfOthersKeys writes keys as programs do, and holds that what a rule says wrongly of them, or does not say, is
// unknown, with a sentence that says why, and never a figure.
func TestNothingFalseOfOthersKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rules string
		limit       string                     // for all keys
		write       func(s *servertest.Server) // the keys
		row, note   string                     // a row of which the figures are unknown; "" for rows that are right
		right       map[string]model.Count     // used of rows that are known
		absent      []string
	}{
		{name: "windows that are over", rules: `[{match: "w*", algorithm: fixed-window, limit: 10/1m}]`, write: func(s *servertest.Server) {
			before := s.Now().Add(-time.Minute)
			for i, window := range named(before) {
				s.CLI("SET", fmt.Sprintf("w%d:alice:%s", i, window), "12", "EX", "60")
			}
		}, row: "w", note: string(model.WindowNamed)},
		{name: "windows that end before the expiry", rules: `[{match: "w*", algorithm: fixed-window, limit: 10/1m}]`, write: func(s *servertest.Server) {
			for i, window := range named(s.Now()) {
				s.CLI("SET", fmt.Sprintf("w%d:alice:%s", i, window), "12", "EX", "3600")
			}
			s.CLI("SET", "w:end:"+fmt.Sprint(int64(s.Now().Floor(time.Minute))/1e6+60), "12", "EX", "3600")
		}, row: "w", note: string(model.WindowNamed)},
		{name: "the sum of the last minutes", rules: `[{match: "five:*", algorithm: fixed-window, limit: 10/5m}]`, write: func(s *servertest.Server) {
			for back := range 5 {
				s.CLI("SET", "five:alice:"+s.Now().Add(-time.Duration(back)*time.Minute).Time().UTC().Format("1504"), "3", "EX", "300")
			}
		}, row: "five", note: string(model.WindowNamed)},
		{name: "a counter that counts down", rules: `[{match: "k:*", algorithm: fixed-window, limit: 10/20s}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "k:alice", "0", "PX", "15000")
		}, row: "k:alice", note: string(model.CountsDown)},
		{name: "one of many counts down", rules: `[{match: "k:*", algorithm: fixed-window, limit: 10/20s}]`, write: func(s *servertest.Server) {
			s.CLI("EVAL", "for i = 1, 400 do redis.call('SET', 'k:' .. i, i == 200 and 0 or 4, 'PX', 15000) end", "0")
		}, row: "k:", note: string(model.CountsDown)},
		{name: "a late expiry", rules: `[{match: "f:*", algorithm: fixed-window, limit: 10/20s}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "f:alice", "5", "PX", "55000")
		}, row: "f:alice", note: string(model.EndUnknown)},
		{name: "a part of a set", rules: `[{match: "held:*", algorithm: fixed-window, limit: 5/30s}]`, write: func(s *servertest.Server) {
			s.CLI("SADD", "held:alice", "r1")
			s.CLI("SET", "held:alice:r1", "1", "EX", "30")
		}, row: "held:alice:r1", note: string(model.PartOf)},
		{name: "a ban whose counter is gone", rules: `[{match: "g:*", limit: 5/20s}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "g:alice:banned", "1", "EX", "15")
		}, row: "g:alice:banned", note: string(model.PartOf)},
		{name: "a limit of another window", limit: "10/1m", write: kongKeys, row: ":hour", note: string(model.OtherWindow),
			right: map[string]model.Count{":minute": {Known: true, N: 7}}},
		{name: "a bucket without its burst", limit: "10/1s", write: func(s *servertest.Server) {
			s.CLI("EVAL", `local at, name = redis.call('TIME')[1], 'request_rate_limiter.{r.alice}' -- in one go, as its library does
				redis.call('SET', name .. '.tokens', 3, 'EX', 4) redis.call('SET', name .. '.timestamp', at, 'EX', 4)`, "0")
		}, row: ".tokens", note: string(model.UnknownBurst)},
		{name: "buckets without their bursts", limit: "10/1h", write: buckets, row: "a", note: string(model.UnknownBurst)},
		{name: "buckets with their bursts", rules: `[{match: "*", limit: 10/1h, burst: 20}]`, write: buckets,
			right: map[string]model.Count{"rate:": {Known: true, N: 17}, "upstash": {Known: true, N: 16}}},
		{name: "leases that are over", rules: `[{match: "sem:*", algorithm: sliding-log, limit: 5/30s}]`, write: func(s *servertest.Server) {
			for i := range 5 {
				s.CLI("ZADD", "sem:alice", strconv.FormatInt(s.Now().Millis()-1000+int64(i), 10), fmt.Sprint("w", i))
			}
		}, row: "sem:alice", note: string(model.LeaseEnds)},
		{name: "the number of an odd window", rules: `[{match: "key:*", algorithm: fixed-window, limit: 5/7s}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "key:alice:"+strconv.FormatInt(int64(s.Now())/7e6-1, 10), "5", "EX", "21")
		}, row: "key:alice", note: string(model.WindowNamed)},
		{name: "where gin-rate-limit's window begins", rules: `[{match: "user*", limit: 5/10s}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "userA/api/hits", "5", "EX", "8")
			s.CLI("SET", "userA/api/ts", strconv.FormatInt(int64(s.Now())/1e6-12, 10), "EX", "8")
		}, row: "hits", note: string(model.TimeBeside)},
		{name: "an end in a key beside", rules: `[{match: "x:*", limit: 10/1m}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "x:alice", "12", "EX", "50")
			s.CLI("SET", "x:alice:reset", strconv.FormatInt(int64(s.Now())/1e6+20, 10), "EX", "50")
		}, row: "x:alice", note: string(model.TimeBeside)},
		{name: "an end in a key beside that is over", rules: `[{match: "x:*", limit: 10/1m}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "x:alice", "4", "EX", "50")
			s.CLI("SET", "x:alice:exp", strconv.FormatInt(s.Now().Millis()-5000, 10))
		}, row: "x:alice", note: string(model.TimeBeside)},
		{name: "an end in a key beside that is its expiry", rules: `[{match: "x:*", limit: 10/1m}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "x:alice", "4", "EX", "50")
			s.CLI("SET", "x:alice:reset", strconv.FormatInt(int64(s.Now())/1e6+50, 10), "EX", "50")
		}, right: map[string]model.Count{"x:alice": {Known: true, N: 4}}},
		{name: "a block behind the subject", rules: `[{match: "x:*", limit: 10/1m}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "x:alice", "10", "EX", "50")
			s.CLI("SET", "x:alice:blocked", "yes", "EX", "500")
		}, row: "x:alice", note: string(model.BlockBeside)},
		{name: "bits that read as a digit", rules: `[{match: "x:*", limit: 10/1m}]`, write: func(s *servertest.Server) {
			for _, bit := range []string{"2", "3", "7"} {
				s.CLI("SETBIT", "x:alice", bit, "1")
			}
			s.CLI("EXPIRE", "x:alice", "50")
			s.CLI("INCR", "x:bob")
			s.CLI("EXPIRE", "x:bob", "50")
			s.CLI("INCRBYFLOAT", "x:carol", "3")
			s.CLI("EXPIRE", "x:carol", "50")
		}, row: "x:alice", note: string(model.Bitmap), right: map[string]model.Count{"bob": {Known: true, N: 1}, "carol": {Known: true, N: 3}}},
		{name: "costs of a stream", rules: `[{match: "x:*", limit: 10/1m}]`, write: costs,
			row: "x:alice", note: string(model.CostUnread)},
		{name: "costs of a stream in the field of its rule", rules: `[{match: "x:*", algorithm: stream, weight: n, limit: 20/1m}]`, write: costs,
			right: map[string]model.Count{"x:alice": {Known: true, N: 12}}},
		{name: "times in another unit", rules: `[{name: "l:{who}", read: list, unit: ms, limit: 5/20s}]`, write: func(s *servertest.Server) {
			s.CLI("RPUSH", "l:alice", strconv.FormatInt(int64(s.Now())/1e6, 10))
		}, row: "l:alice", note: "an entry that is no time"},
		{name: "fields that are times", rules: `[{name: "h:{who}", read: hash, unit: ms, limit: 5/20s}]`, write: func(s *servertest.Server) {
			s.CLI("HSET", "h:alice", strconv.FormatInt(s.Now().Millis(), 10), "1")
		}, row: "h:alice", note: "an entry that is no time"},
		{name: "the time of a bucket in another unit", rules: `[{name: "b:{who}", read: bucket, amount: n, at: ts, unit: us, limit: 5/20s}]`,
			write: func(s *servertest.Server) {
				s.CLI("HSET", "b:alice", "n", "0", "ts", strconv.FormatInt(s.Now().Millis(), 10))
			}, row: "b:alice", note: "no time"},
		{name: "a bucket of a clock that is ahead", rules: `[{name: "b:{who}", read: bucket, amount: n, at: ts, unit: ms, limit: 5/20s}]`,
			write: func(s *servertest.Server) {
				s.CLI("HSET", "b:alice", "n", "0", "ts", strconv.FormatInt(s.Now().Millis()+9000, 10))
			}, row: "b:alice", note: string(model.ClockAhead)},
		{name: "a ban in place of the count", rules: `[{name: "f:{who}", read: value, limit: 10/20s}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "f:alice", "banned", "EX", "300")
		}, row: "f:alice", note: "no number where its rule says that it counts"},
		{name: "more left than the limit", rules: `[{name: "q:{who}", read: left, limit: 10/20s}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "q:alice", "12", "EX", "15")
		}, row: "q:alice", note: string(model.LeftAbove)},
		{name: "a ban below zero in place of the count", rules: `[{name: "f:{who}", read: value, limit: 10/20s}]`, write: func(s *servertest.Server) {
			s.CLI("SET", "f:alice", "-1", "EX", "300")
		}, row: "f:alice", note: "no number where its rule says that it counts"},
		{name: "more fields than are read", rules: `[{name: "many:{who}", read: hash, unit: ms, limit: 9000/1h}]`,
			write: func(s *servertest.Server) {
				const fill = "for i = 1, 5000 do redis.call('HSET', 'many:alice', i, ARGV[1]) end"
				s.CLI("EVAL", fill, "0", strconv.FormatInt(s.Now().Millis(), 10))
			}, row: "many:alice", note: string(model.NotWhole)},
		{name: "a bucket of thousandths", rules: `[{name: "b:{who}", read: bucket, amount: n, at: ts, unit: ms, limit: 10/20s}]`,
			write: func(s *servertest.Server) {
				s.CLI("HSET", "b:alice", "n", "7000", "ts", strconv.FormatInt(s.Now().Millis(), 10))
			}, row: "b:alice", note: string(model.LeftAbove)},
		{name: "leases that a rule takes for requests", rules: `[{name: "sem:{who}", read: zset, unit: ms, limit: 5/20s}]`, write: func(s *servertest.Server) {
			s.CLI("ZADD", "sem:alice", strconv.FormatInt(s.Now().Millis()+15_000, 10), "w1")
		}, row: "sem:alice", note: string(model.LeaseEnds)},
		{name: "requests named as leases, by a rule", rules: `[{name: "sem:{who}", read: zset, unit: ms, limit: 5/20s}]`, write: func(s *servertest.Server) {
			s.CLI("ZADD", "sem:alice", strconv.FormatInt(s.Now().Millis()-5_000, 10), "w1")
		}, right: map[string]model.Count{"sem:alice": {Known: true, N: 1}}},
		{name: "two rules by the type of the key", rules: `
  - {name: "m:{who}", read: value, limit: 10/20s}
  - {name: "m:{who}", read: field n, limit: 20/20s}`, write: func(s *servertest.Server) {
			s.CLI("HSET", "m:alice", "n", "4")
			s.CLI("EXPIRE", "m:alice", "15")
		}, right: map[string]model.Count{"m:alice": {Known: true, N: 4}}, absent: []string{"m:alice:20s"}},
		{name: "rate and capacity in the key", rules: `[{name: "r:{who}", read: bucket, amount: n, at: ts, rate: r, capacity: c, limit: 10/20s}]`,
			write: func(s *servertest.Server) {
				s.CLI("HSET", "r:alice", "n", "30", "r", "2", "c", "30", "ts", strconv.FormatInt(s.Now().Millis(), 10))
			}, right: map[string]model.Count{"r:alice": {Known: true, N: 0}}},
		{name: "what stands beside limiters", limit: "10/5s", write: func(s *servertest.Server) {
			s.CLI("SET", "bull:mail:limiter", "3", "PX", "5000")
			s.CLI("ZADD", "bull:mail:completed", strconv.FormatInt(s.Now().Millis(), 10), "1")
			s.CLI("XADD", "bull:mail:events", "*", "event", "added")
			s.CLI("SET", "bull:mail:id", "3")
		}, right: map[string]model.Count{"bull:mail:limiter": {Known: true, N: 3}},
			absent: []string{"bull:mail:completed", "bull:mail:events", "bull:mail:id"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t)
			c.write(s)
			var rules []config.Rule
			if c.rules != "" {
				read, err := config.Parse([]byte("rules: " + c.rules))
				if err != nil {
					t.Fatal(err)
				}
				rules = read.Rules
			}
			all, err := config.Override{Limit: c.limit}.Apply(rules)
			if err != nil {
				t.Fatal(err)
			}
			watch := []string{"*"}
			if c.absent != nil && rules == nil {
				watch = []string{"bull:*"}
			}
			_, got := feedtest.Once(t, feed.Options{URLs: []string{s.URL()}, Rules: all, Watch: watch})
			judgeRows(t, got, c.row, c.note, c.right)
			for _, name := range c.absent {
				if _, is := got[name]; is {
					t.Errorf("%s is a row", name)
				}
			}
		})
	}
}

// named returns a window of a minute as names of keys have it: by its number and by calendars. A start alone is read.
func named(start limiter.Instant) []string {
	t := start.Time().UTC()
	all := []string{fmt.Sprint(t.Unix() / 60)}
	for _, layout := range []string{"200601021504", "2006-01-02T15:04", "2006-01-02-15-04", "02/Jan/2006:15:04", "04"} {
		all = append(all, t.Format(layout))
	}
	return append(all, t.Add(9*time.Hour).Format("200601021504"))
}

// buckets writes what is left in one of Traefik and in one of Upstash.
func buckets(s *servertest.Server) {
	s.CLI("HSET", "rate:limit@file:a", "last", strconv.FormatInt(int64(s.Now()), 10), "tokens", "3")
	s.CLI("HSET", "@upstash/ratelimit:a", "refilledAt", strconv.FormatInt(s.Now().Millis(), 10), "tokens", "4")
	for _, key := range []string{"rate:limit@file:a", "@upstash/ratelimit:a"} {
		s.CLI("EXPIRE", key, "60")
	}
}

// costs writes a stream of which each entry has a cost.
func costs(s *servertest.Server) {
	for _, n := range []string{"3", "4", "5"} {
		s.CLI("XADD", "x:alice", "*", "n", n)
	}
	s.CLI("EXPIRE", "x:alice", "50")
}

func judgeRows(t *testing.T, got map[string]model.Reading, row, note string, right map[string]model.Count) {
	t.Helper()
	beside := func(name string) bool { return strings.Count(name, ":") > 1 && strings.HasPrefix(name, "x:") }
	seen := 0
	for name, r := range got {
		g := r.Gauge(r.At)
		if beside(name) && g.Used.Known && g.Used.N > 1 {
			t.Errorf("%s, which stands beside a counter, has used %d", name, g.Used.N)
		}
		notes := fmt.Sprint(r.Notes, r.Err)
		for part, used := range right {
			if strings.Contains(name, part) && !beside(name) {
				if seen++; g.Used != used || !r.Target.LimitKnown {
					t.Errorf("%s: used %+v of %+v, %s", name, g.Used, r.Target.Limit, notes)
				}
			}
		}
		if row != "" && strings.Contains(name, row) && !beside(name) {
			if seen++; g.Remaining.Known || g.NextKnown && g.Next > 0 || !strings.Contains(notes, note) {
				t.Errorf("%s: remaining %+v, next %v, %s, want %q", name, g.Remaining, g.Next, notes, note)
			}
		}
	}
	want := len(right)
	if row != "" {
		want++
	}
	if seen < want {
		t.Errorf("%d of %d rows are there: %v", seen, want, got)
	}
}

// kongKeys writes a minute's and an hour's counter of one client of Kong.
func kongKeys(s *servertest.Server) {
	const none = "00000000-0000-0000-0000-000000000000"
	for _, period := range []struct {
		name, used string
		length     time.Duration
	}{{"minute", "7", time.Minute}, {"hour", "50", time.Hour}} {
		start := strconv.FormatInt(s.Now().Floor(period.length).Millis(), 10)
		s.CLI("SET", strings.Join([]string{"ratelimit", none, none, "10.0.0.1", start, period.name}, ":"), period.used,
			"EX", strconv.Itoa(int(period.length.Seconds())))
	}
}

// TestStrangersAreLikely: counters of the commonest name, counters of minutes and logs of microseconds are likely limiters, known as
// no library's, a group for each limiter, and without figures that were not observed.
func TestStrangersAreLikely(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	var batch model.Batch
	var got map[string]model.Reading
	for minute := int64(0); minute != int64(s.Now())/60e6; { // once more where it ended meanwhile
		minute = int64(s.Now()) / 60e6
		s.CLI("FLUSHALL")
		for i := range 20 {
			s.CLI("SET", fmt.Sprintf("ratelimit:u%d", i), "7", "EX", "60")
			s.CLI("SET", fmt.Sprintf("rate.limit:203.0.113.%d", i), "7", "EX", "60")
			s.CLI("SET", fmt.Sprintf("rl:t:u%d:%d", i, minute), "7", "EX", "60")
			key := fmt.Sprintf("api:v2:tenant:1:user:%d", i)
			for n := range 3 {
				at := strconv.FormatInt(int64(s.Now()), 10)
				s.CLI("ZADD", key, at, at+"-"+strconv.Itoa(n))
			}
			s.CLI("EXPIRE", key, "60")
		}
		batch, got = feedtest.Once(t, feed.Options{URLs: []string{s.URL()}})
	}
	patterns := map[string]int{}
	for name, r := range got {
		patterns[r.Pattern]++
		if r.Target.Evidence != model.Likely || r.Target.Library != "" || r.Target.LimitKnown || r.Gauge(batch.At).NextKnown {
			t.Errorf("%s: evidence %v, library %q, limit %+v, %v", name, r.Target.Evidence, r.Target.Library, r.Target.Limit, r.Notes)
		}
		if may := strings.Contains(strings.Join(r.Why, "; "), "it may be of redis-tutorial"); may != (r.Pattern == "rate.limit:*") {
			t.Errorf("%s may be of redis-tutorial: %t, by %q", name, may, r.Why)
		}
	}
	if want := map[string]int{"ratelimit:*": 20, "rate.limit:*": 20, "rl:t:*:*": 20, "api:v2:tenant:1:user:*": 20}; !maps.Equal(patterns, want) {
		t.Errorf("the groups are %v, want %v", patterns, want)
	}
}

// TestOneGroupForALibrary: the subjects of a library that gives its keys no prefix of its own are one group, and the rule for it
// is for no other library's keys.
func TestOneGroupForALibrary(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	s.CLI("EVAL", `local at = redis.call('TIME')[1] + 40 .. '000000000'
		for i = 0, 19 do
			redis.call('SET', '10.0.7.' .. i, at, 'EX', 40)
			redis.call('SET', 'gate:u' .. i .. ':x', at, 'EX', 40)
		end
		redis.call('SET', 'hitlimit:10.0.0.1', 3, 'PX', 60000)`, "0")
	c, err := config.Parse([]byte(`rules: [{match: "*", library: throttled, limit: 5/1m}]`))
	if err != nil {
		t.Fatal(err)
	}
	_, got := feedtest.Once(t, feed.Options{URLs: []string{s.URL()}, Rules: c.Rules})
	var patterns []string
	for name, r := range got {
		if !slices.Contains(patterns, r.Pattern) {
			patterns = append(patterns, r.Pattern)
		}
		if r.Target.LimitKnown != (r.Target.Library == "throttled") {
			t.Errorf("%s of %s: its limit is known: %v", name, r.Target.Library, r.Target.LimitKnown)
		}
	}
	slices.Sort(patterns)
	if want := []string{"*", "gate:*:x", "hitlimit:*"}; !slices.Equal(patterns, want) || len(got) != 41 {
		t.Errorf("%d rows of the patterns %q, want %q", len(got), patterns, want)
	}
}

// TestEachFaultHasItsCase holds that of each way in which keys were once read wrong there is a case, and where it stands.
func TestEachFaultHasItsCase(t *testing.T) {
	const here = "own_limiters_test.go"
	for fault, at := range map[string][2]string{
		"a window that is over still denies":                {here, `name: "windows that are over"`},
		"next is the expiry":                                {here, `name: "windows that end before the expiry"`},
		"what is left is read as what was used":             {here, `name: "a counter that counts down"`},
		"what is left in a library's keys":                  {"decode/testdata/fixtures/apisix/limit-count-left.json", "{"},
		"what is left in npm's tokenbucket":                 {"decode/testdata/fixtures/tokenbucket/basic.json", "{"},
		"leases that are over":                              {here, `name: "leases that are over"`},
		"the sum of the last counters":                      {here, `name: "the sum of the last minutes"`},
		"a block in another key":                            {here, `name: "a block behind the subject"`},
		"the ban of hitlimit":                               {"decode/testdata/fixtures/hitlimit/ban.json", "ban"},
		"identify writes guesses as facts":                  {"../cmd/identify_test.go", "no window that only an expiry tells"},
		"identify writes what counts down as a count":       {"config/settle_test.go", "an end in a field"},
		"the commonest name is not found":                   {here, "TestStrangersAreLikely"},
		"sorted sets of a script are not listed":            {here, `"api:v2:tenant:1:user:*": 20`},
		"a half that fits a library is dropped":             {"decode/homemade_likely_test.go", "decode.Classify"},
		"a rule for each subject":                           {"../model/naming/naming_test.go", "the patterns of three limiters"},
		"a group for each window that is over":              {"../model/naming/naming_test.go", "TestWindowsThatAreOver"},
		"a log of microseconds is known":                    {here, "r.Target.Evidence != model.Likely"},
		"likely keys above their limit are counted nowhere": {"../model/totals_test.go", "got.Above != 1"},
		"the hint has no burst":                             {here, `name: "a bucket without its burst"`},
		"the written rule has no burst":                     {"../cmd/identify_print_test.go", "TestIdentifiedRuleHasTheBurst"},
		"Kong's hour by its minute":                         {here, `name: "a limit of another window"`},
		"what is beyond the most keys is counted":           {"../model/identify/identify_test.go", "Beyond: []model.KeyGroup{"},
		"gin-rate-limit without an address":                 {here, `name: "where gin-rate-limit's window begins"`},
		"siblings are rows":                                 {here, `name: "what stands beside limiters"`},
		"fiber's window":                                    {"decode/library/recognize_go_test.go", "TestFiberIsToldItsAlgorithm"},
		"glued words":                                       {"../model/naming/naming_test.go", `"RATE_LIMITER500:x": true, "apiRateLimit:u9": true, "hitlimit:a": true`},
		"koa2-ratelimit":                                    {"decode/testdata/fixtures/koa2-ratelimit/basic.json", "{"},
		"express-limiter":                                   {"decode/testdata/fixtures/express-limiter/basic.json", "{"},
		"express-brute":                                     {"decode/testdata/fixtures/express-brute/basic.json", "{"},
		"rspamd":                                            {"decode/testdata/fixtures/rspamd/messages.json", "{"},
		"oss-ratelimit":                                     {"decode/testdata/fixtures/oss-ratelimit/fixed-window.json", "{"},
		"hapi-rate-limit":                                   {"decode/testdata/fixtures/hapi-rate-limit/basic.json", "{"},
		"redis_rate 6":                                      {"decode/testdata/fixtures/redis-rate/release-6.json", "{"},
		"django-axes":                                       {"decode/testdata/fixtures/django-axes/failures.json", "{"},
		"a clock that is ahead":                             {here, `name: "a bucket of a clock that is ahead"`},
		"more left than the limit":                          {here, `name: "more left than the limit"`},
	} {
		content, err := os.ReadFile(at[0])
		if err != nil || !strings.Contains(string(content), at[1]) {
			t.Errorf("%s: there is no case %q in %s: %v", fault, at[1], at[0], err)
		}
	}
}
