package connect

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
)

// TestRefusedInfoIsAskedAgain after five minutes, by a connection that is made then.
func TestRefusedInfoIsAskedAgain(t *testing.T) {
	s := servertest.Start(t)
	s.CLI("ACL", "SETUSER", "watcher", "on", ">pass", "+client", "+ping")
	now := time.Unix(1_795_000_000, 0)
	hello := introduce("ratescope", true, func() time.Time { return now })
	for i, step := range []struct {
		later   time.Duration
		refused int64
	}{{0, 1}, {time.Second, 1}, {4 * time.Minute, 1}, {time.Minute, 2}, {time.Minute, 2}} {
		now = now.Add(step.later)
		c := redis.NewClient(&redis.Options{Addr: s.Addr(), Username: "watcher", Password: "pass", OnConnect: hello})
		err := c.Ping(context.Background()).Err()
		c.Close()
		stats, _ := s.Client().InfoMap(context.Background(), "commandstats").Result()
		if got := stats["Commandstats"]["cmdstat_info"]; err != nil || !strings.Contains(got+",", fmt.Sprintf("rejected_calls=%d,", step.refused)) {
			t.Errorf("connection %d: INFO stands at %s, want %d refused; %v", i+1, got, step.refused, err)
		}
	}
}

// TestUnnoticed: no version is asked for CLIENT NO-TOUCH that lacks it or may crash of it.
func TestUnnoticed(t *testing.T) {
	for version, want := range map[string]bool{
		"": false, "5.0.14": false, "6.2.21": false, "7.0.15": false, "7.2.4": true, "7.4.7": true, "7.9.227": false,
		"8.0.0": false, "8.0.6": false, "8.2.3": false, "8.4.0": true, "8.6.3": true, "9.0.0": true, "255.255.255": true,
		"valkey 7.2.8": false, "valkey 8.1.1": false, "valkey 9.1.2": true, "garbage": false,
	} {
		if got := HasNoTouch(version); got != want {
			t.Errorf("version %q: %v, want %v", version, got, want)
		}
	}
	fields := ParseInfo("# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.1.1\r\n")
	if v := VersionOf(fields); v != "valkey 8.1.1" {
		t.Errorf("a Valkey is taken for %q", v)
	}
}
