package watch_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/config"
	"ratescope/feed/connect"
	"ratescope/feed/feedtest"
	"ratescope/feed/fire"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
)

// TestWatchingSendsNoWritingCommand watches keys of every kind, with its injector not
// armed, and asks the server what it was sent.
func TestWatchingSendsNoWritingCommand(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	now := s.Now()
	s.CLI("ZADD", "log", fmt.Sprint(int64(now)), fmt.Sprint(int64(now)))
	s.CLI("XADD", "stream", "*", "count", "1")
	s.CLI("SET", fmt.Sprintf("{c}:fw:%d", now.Floor(time.Minute).Millis()), "3", "PX", "60000")
	s.CLI("SET", "single", "3", "EX", "60")
	s.CLI("LPUSH", "list", "x")
	commands := s.Monitor()
	rules, err := config.Parse([]byte(`rules: [{match: absent, algorithm: sliding-window, limit: 100/1m}]`))
	if err != nil {
		t.Fatal(err)
	}
	r := feedtest.NewRedis(t, feed.Options{URLs: []string{s.URL()}, Watch: feedtest.EveryKey, Keys: []string{"log", "list", "absent"},
		Refresh: 20 * time.Millisecond, Rules: rules.Rules})
	i := r.Injector(fire.Options{AuditPath: filepath.Join(t.TempDir(), "audit")})
	run := feedtest.Run(t, r)
	servertest.Await(t, "thirty batches over two passes", func() bool {
		b := run.Last()
		return b.Sweep.Passes >= 2 && b.Sweep.Matched >= 6
	})
	five := limiter.Limit{Count: 5, Window: time.Minute}
	order := model.Order{Key: "log", Cost: 1, N: 1,
		Target: model.Target{Algorithm: limiter.SlidingLog, Limit: five, LimitKnown: true, Window: five.Window}}
	_, err = i.Fire(context.Background(), order, nil)
	if !errors.Is(err, connect.ErrReadOnly) || !strings.Contains(err.Error(), "--allow-inject") {
		t.Errorf("firing without being armed: %v", err)
	}
	run.Stop()
	names := commands()
	if !slices.Contains(names, "scan") || !slices.Contains(names, "zrangebyscore") {
		t.Fatalf("the monitor saw only %v", names)
	}
	// The server itself knows which commands write.
	scripts := []string{"eval", "evalsha", "fcall", "script", "function", "multi", "config|set", "config|rewrite", "config|resetstat"}
	for _, n := range names {
		flags := strings.Fields(s.CLI("COMMAND", "INFO", n))
		speaks := slices.Contains(flags, "pubsub") && n != "subscribe" // to listen is to read
		if slices.Contains(flags, "write") || speaks || slices.Contains(scripts, n) {
			t.Errorf("watching sent %s", n)
		}
	}
}
