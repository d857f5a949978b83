// Package library knows how the limiters of the world keep their state in Redis: a file a
// library, each with the layout, what tells it from other keys, and that library's own
// arithmetic, its edge, its rounding, its clock and what it charges.
//
// A key is recognized only when its name, its value and its expiry agree, so that a cached
// count, a session or a job queue is never taken for a limiter. Fixtures recorded by the
// libraries themselves hold every decoder to what the library answers; see
// feed/decode/testdata.
package library

import (
	"ratescope/feed/decode"
)

// All returns the libraries, the ones with the most telling layouts first.
func All() []*decode.Library {
	return []*decode.Library{
		// Node
		bottleneck,
		bull,
		bullMQ,
		fastifyRateLimit,
		hapiRateLimitor,
		honoRateLimiter,
		nestThrottler,
		nestjsRedisThrottler,
		rateLimitRedis,
		rateLimiterFlexible,
		ratelimitJS,
		redisRateLimiter,

		// Python
		limits,
		djangoREST,
		djangoRatelimit,
		throttledPy,
		fastapiLimiter,
		sentry,
		// PHP
		symfony,
		laravel,
		// Ruby
		gitlab,
		mastodon,
		discourse,
		prorate,
		rails,
		rackAttack,

		// Go, gateways, Java, .NET
		apisix,
		aspnetcore,
		bucket4j,
		kong,
		redisson,
		tyk,
		redisTutorial,
		envoyRatelimit,
		fiberLimiter,
		ginRateLimit,
		goRedisstore,
		traefik,
		russellluo,
		mennanov,
		redisRate,
		springGateway,
		stripe,
		goZero,
		ululeLimiter,
		increx,
		throttled,
		redisCell,
		redisGCRA,
		httprateRedis,
		upstash,
		// Told by the forms of their values, under any name.
		pyrateLimiter,
		ratelimiter,
		asyncRatelimiter,
		rollingRateLimiter,
		slidingWindowRateLimiter,
		ratescope,
		counterSlidingWindow,
	}
}

// Recognizer tells the limiters of all libraries from other keys. It is safe for concurrent use.
var Recognizer = decode.NewRecognizer(All())

// Named returns the library of that name, or nil.
func Named(name string) *decode.Library {
	for _, l := range All() {
		if l.Name == name {
			return l
		}
	}
	return nil
}
