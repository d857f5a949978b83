package watch_test

import (
	"os"
	"testing"

	"ratescope/internal/servertest"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }
