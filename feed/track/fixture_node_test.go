package track

import (
	"time"

	"ratescope/limiter"
)

// sameKeys are libraries whose keys are those of another, under whose name they are recognized.
var sameKeys = map[string]string{
	"bull":                           "bullmq", // but for the limits of groups
	"express-slow-down":              "rate-limit-redis",
	"hono-rate-limiter-redis":        "hono-rate-limiter",
	"koa-ratelimit":                  "async-ratelimiter",
	"nestjs-throttler-storage-redis": "nest-throttler-storage-redis",
}

// answersBefore are libraries whose answer says what was left before the call.
var answersBefore = []string{"async-ratelimiter", "hapi-rate-limitor", "ratelimiter"}

// told are limits that a person would have to tell by rules of their own, by a part of the name:
// what a fixture has as configured is the limit of one of its rows, or no limit in a window.
var told = map[string]map[string]limiter.Limit{
	"nest-throttler-storage-redis/named": {":long}": {Count: 5}},
	"rate-limiter-flexible/union":        {"union-long:": {Count: 5}},
	// The limit is in Redis only while one is set; buckets are refilled by so much an interval.
	"upstash-ratelimit/dynamic-limit":       {"": {Count: 5}},
	"upstash-ratelimit/token-bucket":        {"": {Count: 2, Burst: 6, Window: time.Second}},
	"upstash-ratelimit/token-bucket-cost":   {"": {Count: 3, Burst: 10, Window: time.Second}},
	"upstash-ratelimit/token-bucket-minute": {"": {Count: 10, Burst: 100, Window: time.Minute}},
}

// late are milliseconds by which a busy machine was late when it recorded that a request was
// admitted.
var late = map[string]float64{
	"hono-rate-limiter/unstorage": 60,
}

// exceptionsNode are scenarios whose answers the keys cannot tell, with the reason.
var exceptionsNode = map[string]string{
	"hono-rate-limiter/skip-successful":   "requests are given back after the answer",
	"rate-limit-redis/skip-failed":        "requests are given back after the answer",
	"rate-limiter-flexible/bursty":        "two limiters, of which a request needs one: nothing in Redis links them",
	"rate-limiter-flexible/exec-evenly":   "requests are charged before they wait, and answered after it",
	"rate-limiter-flexible/insurance":     "Redis is away, another limiter answers",
	"upstash-ratelimit/deny-list":         "denied by the deny list, whatever is used",
	"upstash-ratelimit/sliding-window#13": "the library looked at an instant when the window before still counted one more",
	"bottleneck/concurrency":              "no limit of requests in time",
	"ratelimit-js/two-rules":              "two rules in one hash are not read",
	"rolling-rate-limiter/min-difference": "the least time between two requests is nowhere in Redis",
}
