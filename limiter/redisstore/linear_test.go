package redisstore_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"ratescope/internal/servertest"
	"ratescope/limiter"
)

// operation is a decision in a history: when it was asked for and when its answer was
// there, on a counter that all clients share.
type operation struct {
	asked, answered int64
	limiter.Decision
}

// TestManyClients lets 50 clients ask at once and looks for an order in which one client
// alone could have got the same answers. That order is the one of the counts; it has to be
// the one of the instants, and must not turn round any two decisions of which one was
// answered before the other was asked for. However many ask, the limit is admitted and
// not one more.
func TestManyClients(t *testing.T) {
	t.Parallel()
	address := servertest.Start(t).Addr()
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			// Between the first request and the last the spreading algorithms may have come
			// back by what that time is worth, which is under one unit at a unit in 88 hours.
			limit := limiter.Limit{Count: 100, Window: limiter.MaxWindow}
			var step atomic.Int64
			histories := make([][]operation, 50)
			var wg sync.WaitGroup
			for i := range histories {
				client := redis.NewClient(&redis.Options{Addr: address, PoolSize: 1})
				t.Cleanup(func() { _ = client.Close() })
				l := newStore(t, client, a)
				wg.Go(func() {
					for range 8 {
						op := operation{asked: step.Add(1)}
						var err error
						if op.Decision, err = l.AllowN(context.Background(), "shared:"+a.String(), limit, 1); err != nil {
							t.Error(err)
							return
						}
						op.answered = step.Add(1)
						histories[i] = append(histories[i], op)
					}
				})
			}
			wg.Wait()
			linear(t, slices.Concat(histories...), 100)
		})
	}
}

// linear checks a history of requests of one unit each.
func linear(t *testing.T, all []operation, limit int64) {
	t.Helper()
	slices.SortFunc(all, func(a, b operation) int {
		switch {
		case a.Allowed != b.Allowed && a.Allowed:
			return -1 // nothing comes back, so all that are admitted come first
		case a.Allowed != b.Allowed:
			return 1
		case a.Allowed && a.Used != b.Used:
			return int(a.Used - b.Used)
		}
		return int(a.At - b.At)
	})
	last := int64(0) // the latest asking so far, in that order
	for i, op := range all {
		if want := min(int64(i)+1, limit); op.Used != want || op.Remaining != limit-want || op.Allowed != (int64(i) < limit) {
			t.Fatalf("decision %d of the order: %+v", i+1, op.Decision)
		}
		if i > 0 && op.At < all[i-1].At {
			t.Errorf("the count %d was reached at %d, after %d at %d", op.Used, op.At, all[i-1].Used, all[i-1].At)
		}
		if op.answered < last {
			t.Errorf("decision %d was answered before one that comes ahead of it was asked for", i+1)
		}
		last = max(last, op.asked)
	}
}
