package feed_test

import (
	"os"
	"testing"

	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// everyKey is said of all keys of the servers of these tests.
var everyKey = feedtest.EveryKey
