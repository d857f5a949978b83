package feed_test

import (
	"os"
	"testing"

	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// What the tests of a running source share, by short names.
var (
	runSource  = feedtest.Run
	newRedis   = feedtest.NewRedis
	once       = feedtest.Once
	everyKey   = feedtest.EveryKey
	minuteRule = feedtest.MinuteRule
	used       = feedtest.Used
	xadd       = feedtest.XAdd
	zed        = feedtest.Z
)
