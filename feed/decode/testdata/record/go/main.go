// Command record writes fixtures of rate limiters written in Go, as recorded from the
// libraries themselves on a redis-server of its own. It takes part of a name
// library/scenario to record less than everything.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"recorder"
)

func main() {
	dir := flag.String("dir", "../../fixtures", "directory of the fixtures")
	only := flag.String("only", "", "record only scenarios whose name library/scenario contains this")
	flag.Parse()
	log.SetOutput(io.Discard)
	s, err := recorder.StartServer()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var chosen []recorder.Scenario
	for _, list := range [][]recorder.Scenario{
		redisRate(), throttledGCRA(), uluLimiter(), goZero(), ginRateLimit(), russellLuo(), mennanov(),
		goRedisStore(), httprateRedis(), fiberLimiter(), vearne(), envoy(),
	} {
		for _, sc := range list {
			if strings.Contains(sc.Library+"/"+sc.Fixture.Scenario, *only) {
				chosen = append(chosen, sc)
			}
		}
	}
	failed := recorder.Record(s, *dir, chosen)
	s.Stop()
	for _, err := range failed {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Printf("go: %d of %d scenarios recorded\n", len(chosen)-len(failed), len(chosen))
	if len(failed) > 0 {
		os.Exit(1)
	}
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

func window(c recorder.Configured) time.Duration {
	return time.Duration(c.WindowMS * float64(time.Millisecond))
}

// ms returns d in milliseconds.
func ms(d time.Duration) *float64 { return recorder.Ptr(float64(d) / float64(time.Millisecond)) }

// until returns the milliseconds until a Unix time in seconds.
func until(unix int64) *float64 { return ms(time.Until(time.Unix(unix, 0))) }
