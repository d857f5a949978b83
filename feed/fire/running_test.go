package fire_test

import (
	"log"
	"os"
	"path/filepath"
	"testing"

	"ratescope/feed"
	"ratescope/feed/feedtest"
	"ratescope/feed/fire"
	"ratescope/internal/servertest"
)

// TestMain runs the tests, or what a test has started this program for.
func TestMain(m *testing.M) {
	if os.Getenv("FIRE_URL") != "" {
		if err := fireOnBehalf(); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	os.Exit(servertest.Main(m))
}

// What the tests of a running source share, by short names.
var (
	runSource = feedtest.Run
	newRedis  = feedtest.NewRedis
	once      = feedtest.Once
	everyKey  = feedtest.EveryKey
	used      = feedtest.Used
)

// armed returns an injector for a server, with an audit file of its own. It bears a server that stands
// still for a while, as one of a busy machine does.
func armed(t *testing.T, s *servertest.Server) *fire.Injector {
	t.Helper()
	return patient(t, newRedis(t, feed.Options{URLs: []string{s.URL()}}), filepath.Join(t.TempDir(), "audit"))
}

// patient returns an injector for the server of a source with this audit file.
func patient(t *testing.T, r *feed.Redis, audit string) *fire.Injector {
	t.Helper()
	return r.Injector(fire.Options{Armed: true, AuditPath: audit, Timeout: servertest.Patience})
}
