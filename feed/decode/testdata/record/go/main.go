// Command record writes fixtures of rate limiters written in Go, as recorded from the
// libraries themselves on a redis-server of its own. It takes part of a name
// library/scenario to record less than everything.
package main

import (
	"io"
	"log"
	"runtime/debug"
	"time"

	"github.com/redis/go-redis/v9"

	"recorder"
)

func main() {
	log.SetOutput(io.Discard)
	recorder.Main("go", redisRate(), redisRate6(), throttledGCRA(), uluLimiter(), goZero(), ginRateLimit(), russellLuo(), mennanov(),
		goRedisStore(), httprateRedis(), fiberLimiter(), vearne(), envoy())
}

// version returns the version of a module that is built into this program.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, d := range info.Deps {
		if d.Path == module {
			return d.Version
		}
	}
	return ""
}

const goRedis = "github.com/redis/go-redis/v9"

func client(addr string, db int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, DB: db})
}

// ms returns d in milliseconds.
func ms(d time.Duration) *float64 { return recorder.Ptr(float64(d) / float64(time.Millisecond)) }

// until returns the milliseconds until a Unix time in seconds.
func until(unix int64) *float64 { return ms(time.Until(time.Unix(unix, 0))) }
