package track_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ratescope/feed/track"
	"ratescope/limiter"
	"ratescope/model"
)

// start is an instant of these years.
const start limiter.Instant = 1_795_300_000_000_000

// counter is a limiter whose window begins with its first request, as its key shows it.
type counter struct {
	window  time.Duration
	limit   int64
	charged bool // denied requests are counted, too

	count int64
	ends  limiter.Instant
}

func (c *counter) request(at limiter.Instant) {
	if at >= c.ends {
		c.count, c.ends = 0, at.Add(c.window)
	}
	if c.charged || c.count < c.limit {
		c.count++
	}
}

func (c *counter) reading(name string, at limiter.Instant) *model.Reading {
	r := &model.Reading{Key: name, Pattern: "x:*", Type: "none", At: at}
	r.Target.Algorithm = limiter.FixedWindow
	if at < c.ends {
		r.Type, r.TTL, r.State.Current = "string", c.ends.Sub(at).Truncate(time.Millisecond), c.count
	}
	return r
}

// watched runs keys for a while: request says whether requests come to key i at an instant, step
// by step; every poll reads them all.
func watched(keys []*counter, step, poll, long time.Duration, requests func(i int, at time.Duration) int) track.Terms {
	var e track.Engine
	for since := time.Duration(0); since < long; since += step {
		at := start.Add(since)
		for i, c := range keys {
			for range requests(i, since) {
				c.request(at)
			}
			if since%poll == 0 {
				e.Learn(c.reading(fmt.Sprint("x:", i), at.Add(time.Millisecond)), track.Span{})
			}
		}
	}
	return e.Terms("x:*")
}

func counters(n int, c counter) []*counter {
	all := make([]*counter, n)
	for i := range all {
		one := c
		all[i] = &one
	}
	return all
}

// TestCounters infers window and limit of busy counters, and says nothing that is wrong of any.
func TestCounters(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sure := 0
	for n := range 60 {
		c := counter{window: []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute}[n%3], limit: int64(2 + random.IntN(40)), charged: n%5 == 4}
		keys := counters(6, c)
		poll := []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second}[random.IntN(3)]
		rates := make([]float64, len(keys)) // requests a step
		for i := range rates {
			rates[i] = float64(c.limit) / c.window.Seconds() / 10 * (0.2 + 6*random.Float64())
		}
		got := watched(keys, 100*time.Millisecond, poll, 12*c.window, func(i int, _ time.Duration) int {
			if random.Float64() < rates[i] {
				return 1
			}
			return 0
		})
		if got.Window.Sure && got.Window.Value != c.window || got.Limit.Sure && (c.charged || got.Limit.Value != c.limit) {
			t.Errorf("%v %d charged %v, polled every %v: %+v", c.window, c.limit, c.charged, poll, got)
		}
		if got.Verdict == track.NoLimits {
			t.Errorf("%v %d: taken for no limiter", c.window, c.limit)
		}
		if got.Limit.Sure {
			sure++
		}
	}
	if sure < 15 {
		t.Errorf("the limit of %d of 60 was inferred: want 15 or more", sure)
	}
	t.Logf("the limit of %d of 60 was inferred", sure)
}

// TestNoLimit says no limit where requests themselves stop.
func TestNoLimit(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const minute = time.Minute
	every := func(d time.Duration, n int) func(int, time.Duration) int {
		return func(_ int, at time.Duration) int {
			if at%d == 0 {
				return n
			}
			return 0
		}
	}
	for name, requests := range map[string]func(i int, at time.Duration) int{
		"one at a time":   every(7*time.Second, 1),
		"bursts of a job": every(minute, 10),
		"a page and then no": func(i int, at time.Duration) int {
			return map[bool]int{true: 5}[at%(2*minute) == time.Duration(i)*time.Second]
		},
		"two pages": func(i int, at time.Duration) int {
			return map[bool]int{true: 5}[(at-time.Duration(i)*7*time.Second)%(20*time.Second) == 0]
		},
		"at random": func(int, time.Duration) int { return map[bool]int{true: 1}[random.Float64() < 0.01] },
	} {
		got := watched(counters(8, counter{window: minute, limit: 1 << 40}), 100*time.Millisecond, time.Second, 15*minute, requests)
		if got.Limit.Sure {
			t.Errorf("%s: a limit of %d where there is none", name, got.Limit.Value)
		}
		if got.Window.Sure && got.Window.Value != minute {
			t.Errorf("%s: a window of %v", name, got.Window.Value)
		}
	}
}

// TestMarks tells switches, marks and stocks from limiters when two of their lives were watched.
func TestMarks(t *testing.T) {
	mark := func(count func(at time.Duration) int64) track.Verdict {
		var e track.Engine
		for since := time.Duration(0); since < 3*time.Minute; since += time.Second {
			c := counter{count: count(since), ends: start.Add(since.Truncate(time.Minute) + time.Minute)}
			e.Learn(c.reading("x:1", start.Add(since)), track.Span{})
		}
		return e.Terms("x:*").Verdict
	}
	for name, tc := range map[string]struct {
		count func(time.Duration) int64
		want  track.Verdict
	}{
		"a switch":  {func(time.Duration) int64 { return 1 }, track.NoLimits},
		"a setting": {func(time.Duration) int64 { return 100 }, track.NoLimits},
		"a stock":   {func(at time.Duration) int64 { return 1000 - int64(at.Seconds()) }, track.NoLimits},
		"a counter": {func(at time.Duration) int64 { return 1 + int64((at%time.Minute).Seconds()/9) }, track.Limiters},
	} {
		if got := mark(tc.count); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// TestLeft tells counts that fall from where each window begins, and says no limit of them, from those that rise or
// fall as they like.
func TestLeft(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for name, tc := range map[string]struct {
		count func(i int, window, into time.Duration) int64
		left  bool
	}{
		"what is left": {func(i int, _, into time.Duration) int64 { return max(9-int64(into.Seconds())/int64(i+2), 0) }, true},
		"what is used": {func(i int, _, into time.Duration) int64 { return 1 + int64(into.Seconds())/int64(i+2) }, false},
		"what is open": {func(int, time.Duration, time.Duration) int64 { return random.Int64N(9) }, false},
		"a stock":      {func(_ int, window, into time.Duration) int64 { return 1000 - int64((window + into).Seconds()) }, false},
	} {
		var e track.Engine
		for since := time.Duration(0); since < 2*time.Minute; since += time.Second {
			for i := range 4 {
				into := since % (20 * time.Second)
				c := counter{count: tc.count(i, since-into, into), ends: start.Add(since - into + 20*time.Second)}
				e.Learn(c.reading(fmt.Sprint("x:", i), start.Add(since)), track.Span{})
			}
		}
		got := e.Terms("x:*")
		if got.Left != tc.left || tc.left && (got.Verdict != track.Limiters || got.Limit.Known || got.Window.Value != 20*time.Second) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestFull: keys that have stood at their limit since they were first seen are not taken for marks.
func TestFull(t *testing.T) {
	var e track.Engine
	for since := time.Duration(0); since < 3*time.Minute; since += time.Second {
		c := counter{count: 10, ends: start.Add(time.Minute)}
		e.Learn(c.reading("x:1", start.Add(since)), track.Span{})
	}
	if got := e.Terms("x:*"); got.Verdict != track.Untold {
		t.Errorf("keys at their limit: %+v", got)
	}
}

// TestRenewed says no window of keys whose expiry every request renews, nor of keys that differ.
func TestRenewed(t *testing.T) {
	var renewed, differ track.Engine
	for since := time.Duration(0); since < 10*time.Minute; since += time.Second {
		at := start.Add(since)
		c := counter{count: 1 + int64((since % (2 * time.Minute)).Seconds()), ends: at.Add(time.Minute)}
		renewed.Learn(c.reading("x:1", at), track.Span{})
		for i, w := range []time.Duration{10 * time.Second, 30 * time.Second} {
			d := counter{count: 1 + int64((since % w).Seconds()), ends: start.Add(since.Truncate(w) + w)}
			differ.Learn(d.reading(fmt.Sprint("x:", i), at), track.Span{})
		}
	}
	for name, e := range map[string]*track.Engine{"renewed": &renewed, "differ": &differ} {
		if got := e.Terms("x:*"); got.Window.Known || got.Limit.Known || len(got.Settle) != 2 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestSteps infers the emission interval and the burst of GCRA from its TATs, and says neither of
// one whose requests always come several at a time.
func TestSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	all, sure := 0, 0
	for n := range 30 {
		limit := limiter.Limit{Count: int64(1 + random.IntN(50)), Window: []time.Duration{time.Second, time.Minute, time.Hour}[n%3]}
		interval := limit.Window / time.Duration(limit.Count)
		burst := int64(3 + random.IntN(20))
		each := 1
		if n%4 == 3 {
			each = 3
		}
		var e track.Engine
		tats := make([]float64, 5) // microseconds since start
		for tick := range 3000 {
			now := float64(tick) * float64(interval) / 1e3 / 3
			for i := range tats {
				if random.Float64() < 0.4 {
					next := max(tats[i], now) + float64(each)*float64(limit.Window.Microseconds())/float64(limit.Count)
					if next-now <= float64(burst)*float64(interval)/1e3 {
						tats[i] = next
					}
				}
				if tick%7 == i {
					r := &model.Reading{Key: fmt.Sprint("x:", i), Pattern: "x:*", Type: "string", At: start + limiter.Instant(now)}
					r.Target.Algorithm, r.State.TAT = limiter.GCRA, start+limiter.Instant(tats[i])
					e.Learn(r, track.Span{})
				}
			}
		}
		got := e.Terms("x:*")
		if each > 1 {
			if got.Interval.Sure && got.Interval.Value != interval*time.Duration(each) {
				t.Errorf("%v three at a time: %+v", limit, got)
			}
			continue
		}
		if rate, ok := track.Rate(got.Interval.Value); got.Interval.Sure && (!ok || (rate.Window/time.Duration(rate.Count)-interval).Abs() > 2*time.Microsecond) {
			t.Errorf("%v: an interval of %v, want %v", limit, got.Interval.Value, interval)
		}
		if got.Burst.Sure && got.Burst.Value != burst {
			t.Errorf("%v: a burst of %d, want %d", limit, got.Burst.Value, burst)
		}
		all++
		if got.Interval.Sure {
			sure++
		}
	}
	if sure < all*3/4 {
		t.Errorf("the interval of %d of %d was inferred: want three of four", sure, all)
	}
}

// TestNothing says nothing of what it has not seen, and bounds what it remembers.
func TestNothing(t *testing.T) {
	var e track.Engine
	if got := e.Terms("x:*"); got.Window.Known || got.Limit.Known || got.Verdict != track.Untold {
		t.Errorf("%+v", got)
	}
	c := counter{count: 3, ends: start.Add(time.Minute)}
	for i := range 5000 {
		r := c.reading(fmt.Sprint("x:", i), start)
		r.Pattern = fmt.Sprint("p", i%3000)
		e.Learn(r, track.Span{})
	}
	if got := e.Terms("p1"); got.Window.Known || got.Verdict != track.Untold || len(got.Settle) == 0 {
		t.Errorf("one reading says %+v", got)
	}
}

// TestLogWindow: the window of a log is the age at which requests remove entries, whatever its expiry says; a log of
// which nothing is removed, or by another rule than age, tells none.
func TestLogWindow(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for _, c := range []struct {
		name   string
		window time.Duration
		remove func(log []limiter.Instant, now limiter.Instant) []limiter.Instant
		want   time.Duration
	}{
		{"by age", time.Minute, nil, time.Minute},
		{"by age, an hour", time.Hour, nil, time.Hour},
		{"never", time.Minute, func(log []limiter.Instant, _ limiter.Instant) []limiter.Instant { return log }, 0},
		{"by rank", time.Minute, func(log []limiter.Instant, _ limiter.Instant) []limiter.Instant { return log[max(len(log)-3, 0):] }, 0},
	} {
		var e track.Engine
		logs := make([][]limiter.Instant, 4)
		for tick := range 400 {
			now := start.Add(time.Duration(tick) * c.window / 100)
			for i := range logs {
				if random.IntN(3) == 0 {
					logs[i] = append(logs[i], now)
					if c.remove != nil {
						logs[i] = c.remove(logs[i], now)
					} else {
						for logs[i][0] <= now.Add(-c.window) {
							logs[i] = logs[i][1:]
						}
					}
				}
				if len(logs[i]) == 0 {
					continue
				}
				r := &model.Reading{Key: fmt.Sprint("x:", i), Pattern: "x:*", Type: "zset", At: now.Add(10 * time.Millisecond), TTL: 41 * 24 * time.Hour}
				r.Target.Algorithm = limiter.SlidingLog
				for _, at := range logs[i] {
					r.State.Log = append(r.State.Log, limiter.Entry{At: at, Count: 1})
				}
				oldest := logs[i][0]
				if tick%4 == 3 { // a quick look does not ask
					oldest = 0
				}
				e.Learn(r, track.Span{Start: oldest})
			}
		}
		got := e.Terms("x:*")
		if got.Window.Sure != (c.want != 0) || c.want != 0 && got.Window.Value != c.want || len(got.Settle) == 0 || got.Limit.Sure {
			t.Errorf("%s: %+v, want %v", c.name, got, c.want)
		}
	}
}

// TestLives: how long keys live is the window of counters that count until then, and not of those that stop counting in the middle
// of their lives, or begin anew before these end.
func TestLives(t *testing.T) {
	for name, tc := range map[string]struct {
		count func(into time.Duration) int64
		early bool // they begin anew before they end
		sure  bool
	}{
		"until they end": {func(into time.Duration) int64 { return 1 + int64(into.Seconds())/5 }, false, true},
		"half of a life": {func(into time.Duration) int64 { return 1 + min(int64(into.Seconds()), 14)/5 }, false, false},
		"begun anew":     {func(into time.Duration) int64 { return 1 + int64(into.Seconds())/5 }, true, false},
	} {
		var e track.Engine
		for since := time.Duration(0); since < 3*time.Minute; since += 500 * time.Millisecond {
			for i := range 3 {
				into := (since + time.Duration(i)*time.Second) % (30 * time.Second)
				c := counter{count: tc.count(into), ends: start.Add(since - into + 30*time.Second)}
				if tc.early {
					c.ends = c.ends.Add(30 * time.Second)
				}
				e.Learn(c.reading(fmt.Sprint("x:", i), start.Add(since)), track.Span{})
			}
		}
		if got := e.Terms("x:*").Window; got.Sure != tc.sure || got.Sure && got.Value != 30*time.Second {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
