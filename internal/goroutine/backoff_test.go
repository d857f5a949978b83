package goroutine

import (
	"context"
	"testing"
	"time"
)

// TestBackoff: however long a server is away, the next attempt is at most a second off, so
// that it is seen within two of its return; and they do not all come at the same moment.
func TestBackoff(t *testing.T) {
	var b Backoff
	before, waits := time.Duration(0), map[time.Duration]bool{}
	for n := range 100 {
		d := b.Next()
		if d > time.Second || d < 66*time.Millisecond || n < 3 && d < before {
			t.Errorf("wait %d is %v after %v", n+1, d, before)
		}
		before, waits[d] = d, true
	}
	if len(waits) < 50 {
		t.Errorf("100 waits have %d lengths", len(waits))
	}
}

// TestSleep ends with its context, at once where that has ended already.
func TestSleep(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	for range 2 {
		if err := Sleep(ctx, time.Hour); err != context.Canceled {
			t.Error(err)
		}
	}
	if err := Sleep(ctx, 0); err != context.Canceled {
		t.Error(err)
	}
}
