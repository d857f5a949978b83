package watch_test

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"ratescope/feed"
	"ratescope/feed/feedtest"
	"ratescope/internal/servertest"
	"ratescope/model"
)

// TestAServerWhoseClockIsSet: a server whose TIME goes forward by an hour and back again is followed, its link stays, and for a while
// it is said that its clock was set.
func TestAServerWhoseClockIsSet(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	s := miniredis.RunT(t)
	s.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) (answered bool) {
		if cmd != "TIME" {
			return false
		}
		us := time.Now().Add(time.Duration(ahead.Load())).UnixMicro()
		c.WriteStrings([]string{strconv.FormatInt(us/1e6, 10), strconv.FormatInt(us%1e6, 10)})
		return true
	})
	url := "redis://" + s.Addr()
	run := feedtest.Run(t, feedtest.NewRedis(t, feed.Options{URLs: []string{url}, Refresh: 50 * time.Millisecond}))
	is := func(offset time.Duration, said string) func() bool {
		return func() bool {
			s := run.Last().Server
			return s.Link == model.Live && (s.Offset-offset).Abs() < time.Second && strings.Contains(strings.Join(s.Lacks, "\n"), said)
		}
	}
	servertest.Await(t, "the clock as it is", is(0, ""))
	ahead.Store(int64(time.Hour))
	servertest.Await(t, "an hour ahead", is(time.Hour, "the server's clock was set forward by 1 h 00 m"))
	ahead.Store(0)
	servertest.Await(t, "an hour back", is(0, "the server's clock was set back by 1 h 00 m"))
	for _, b := range run.All() {
		if b.Server.Link == model.Down {
			t.Fatalf("a server whose clock is set is said to be away: %s", b.Server.Err)
		}
	}
}
