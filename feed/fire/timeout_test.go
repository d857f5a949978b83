package fire

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
)

// TestTimeoutReachesTheConnection: Options.Timeout is what an answer is waited for, and is not cut off by
// the shorter timeout of other connections.
func TestTimeoutReachesTheConnection(t *testing.T) {
	i := New(connect.Local("127.0.0.1:1", "a test"), Options{Armed: true, Timeout: time.Minute}, func() time.Duration { return 0 })
	t.Cleanup(func() { i.Close() })
	c, ok := i.link.client().(*redis.Client)
	if !ok || c.Options().ReadTimeout != time.Minute {
		t.Errorf("the connection is %v, want one that waits for a minute", c)
	}
}
