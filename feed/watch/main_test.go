package watch_test

import (
	"log"
	"os"
	"testing"
	"time"

	"ratescope/feed/config"
	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// TestMain runs the tests, or the sources that BenchmarkWatching has started this program for.
func TestMain(m *testing.M) {
	if os.Getenv("WATCH_URL") != "" {
		if err := watchOnBehalf(); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	os.Exit(servertest.Main(m))
}

// hourRule says that the keys of a pattern admit 100 in an hour, of which nothing leaves while a test runs,
// also where the machine stands still again and again.
func hourRule(match string, a limiter.Algorithm) config.Rule {
	hour := limiter.Limit{Count: 100, Window: time.Hour}
	return config.Rule{Match: match, Algorithm: a, Limit: hour, LimitKnown: true, Window: time.Hour}
}
