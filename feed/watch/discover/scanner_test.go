package discover

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/goroutine"
)

// TestAFailedPassIsRepeated although nothing was written since it began: it has not seen what is there.
func TestAFailedPassIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		group, ctx := goroutine.NewGroup(ctx)
		asked, passes := 0, 0
		s := New(Options{
			Nodes: func(context.Context) ([]*redis.Client, error) { // as a cluster without nodes answers
				if passes++; passes == 1 {
					return nil, errors.New("it stands still")
				}
				return nil, nil
			},
			Away:      func() bool { return false },
			Own:       func() (time.Duration, int64) { return 0, 0 },
			Trip:      func() time.Duration { return 0 },
			Unchanged: func() bool { asked++; return asked > 1 },
		})
		group.Go(func() { s.Run(ctx, group) })
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := s.Progress().Passes; n != 1 || passes != 2 {
			t.Errorf("%d passes of %d were done, want 1 of 2", n, passes)
		}
		stop()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
}
