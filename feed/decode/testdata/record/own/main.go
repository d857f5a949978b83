// Command own writes fixtures of this repository's own limiters on Redis: every algorithm,
// and every option that changes how its keys look.
package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/limiter/layout"
	"ratescope/limiter/redisstore"
	"recorder"
)

// variant is one way to keep an algorithm's state.
type variant struct {
	name      string
	algorithm limiter.Algorithm
	options   []redisstore.Option
	burst     float64
	story     func(*recorder.Run) error
	charged   bool
	notes     []string
}

func variants() []variant {
	withConvention := func(c limiter.Convention) []redisstore.Option {
		return []redisstore.Option{redisstore.WithConvention(c)}
	}
	laidOut := func(l layout.Layout) []redisstore.Option { return []redisstore.Option{redisstore.WithLayout(l)} }
	seconds := layout.Layout{Unit: time.Second, Suffixed: true}
	all := []variant{
		{name: "fixed-window-anchored", algorithm: limiter.FixedWindow, options: withConvention(limiter.Convention{Alignment: convention.FirstRequest})},
		{name: "fixed-window-charged", algorithm: limiter.FixedWindow, options: withConvention(limiter.Convention{Denied: convention.Charged}), charged: true},
		{name: "fixed-window-suffixed", algorithm: limiter.FixedWindow, options: laidOut(seconds)},
		{name: "fixed-window-denials", algorithm: limiter.FixedWindow, options: []redisstore.Option{redisstore.WithDenials()}},
		{name: "fixed-window-block", algorithm: limiter.FixedWindow, options: withConvention(limiter.Convention{Block: 6 * time.Second}), notes: []string{"blocked for 6 s"}},
		{name: "sliding-window-phases", algorithm: limiter.SlidingWindow, story: recorder.Sliding},
		{name: "sliding-window-suffixed", algorithm: limiter.SlidingWindow, options: laidOut(seconds)},
		{name: "sliding-log-ms", algorithm: limiter.SlidingLog, options: laidOut(layout.Layout{Unit: time.Millisecond})},
		{name: "sliding-log-closed-charged", algorithm: limiter.SlidingLog, options: withConvention(limiter.Convention{Edge: convention.Closed, Denied: convention.Charged}), charged: true},
		{name: "stream-no-totals", algorithm: limiter.StreamCounter, options: laidOut(layout.Layout{NoTotals: true})},
		{name: "stream-per-unit", algorithm: limiter.StreamCounter, options: laidOut(layout.Layout{PerUnit: true})},
		{name: "gcra-burst", algorithm: limiter.GCRA, burst: 8, story: recorder.WholeBurst},
		{name: "token-bucket-burst", algorithm: limiter.TokenBucket, burst: 8, story: recorder.WholeBurst},
		{name: "token-bucket-interval", algorithm: limiter.TokenBucket, options: withConvention(limiter.Convention{Refill: convention.Interval})},
		{name: "leaky-bucket-burst", algorithm: limiter.LeakyBucket, burst: 8, story: recorder.WholeBurst},
	}
	for _, a := range limiter.Algorithms() {
		all = append(all, variant{name: a.String(), algorithm: a})
	}
	return all
}

func main() {
	var all []recorder.Scenario
	for _, v := range variants() {
		all = append(all, scenarios(v)...)
	}
	recorder.Main("own", all)
}

func scenarios(v variant) []recorder.Scenario {
	l := recorder.Library{Name: "ratescope", Version: "this", Client: "go-redis", Algorithm: kind(v.algorithm), Denied: "free",
		Call: "AllowN(ctx, \"alice\", limit, %d)", InRedis: []string{}, Notes: v.notes}
	if v.charged {
		l.Denied = "charged"
	}
	l.Open = func(c recorder.Configured, addr string, db int) (recorder.Ask, error) {
		lim, err := redisstore.New(redis.NewClient(&redis.Options{Addr: addr, DB: db}), v.algorithm, append(v.options, redisstore.WithPrefix(""))...)
		if err != nil {
			return nil, err
		}
		limit := limiter.Limit{Count: int64(c.Limit), Window: time.Duration(c.WindowMS) * time.Millisecond, Burst: int64(v.burst)}
		return func(cost int64) (recorder.Answer, error) {
			d, err := lim.AllowN(context.Background(), "alice", limit, cost)
			if err != nil {
				return recorder.Answer{}, err
			}
			a := recorder.Said(d.Allowed, d)
			a.Limit, a.Remaining = recorder.Number(c.Limit), recorder.Number(d.Remaining)
			if d.RetryAfter != limiter.Never {
				a.RetryAfterMS = recorder.Number(float64(d.RetryAfter) / 1e6)
			}
			a.ResetAfterMS = recorder.Number(float64(d.ResetAfter) / 1e6)
			return a, nil
		}, nil
	}
	c := recorder.Per(5, 4000)
	if v.burst > 0 {
		c = recorder.Per(3, 3000).WithBurst(v.burst)
	}
	story := recorder.Whole
	if v.story != nil {
		story = v.story
	}
	return l.Scenarios(recorder.Variant{Name: v.name, Configured: c, Story: story})
}

// kind returns the fixtures' name of an algorithm.
func kind(a limiter.Algorithm) string {
	if a == limiter.StreamCounter {
		return "sliding-log"
	}
	return a.String()
}
