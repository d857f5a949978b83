package fire

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/model"
)

// TestFirePaces fires at a rate, until it is stopped, and as fast as the answers come, which is at most
// 1,000 a second.
func TestFirePaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	synctest.Test(t, func(t *testing.T) {
		a := &audit{path: path}
		if err := a.open(); err != nil {
			t.Fatal(err)
		}
		defer a.close()
		carry := func(ctx context.Context, order model.Order, report func(model.Fired)) (model.Outcomes, time.Duration) {
			t.Helper()
			f := &firing{audit: a, giveUp: GiveUp, order: order, action: a.newAction("here", 0, order), report: report}
			f.send = func(context.Context) answered { return answered{} }
			begun := time.Now()
			outcomes, err := f.carryOut(ctx, func(model.Outcomes) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			return outcomes, time.Since(begun)
		}
		if outcomes, took := carry(t.Context(), model.Order{Cost: 1, N: 50, Rate: 100}, nil); outcomes.Admitted != 50 || took != 490*time.Millisecond {
			t.Errorf("50 at 100/s: %+v in %v, want 490 ms", outcomes, took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		outcomes, took := carry(ctx, model.Order{Cost: 1, Rate: 100}, func(model.Fired) {
			if n++; n == 10 {
				cancel()
			}
		})
		if outcomes.Total() != 10 || took != 90*time.Millisecond {
			t.Errorf("until stopped: %+v in %v, want 10 in 90 ms", outcomes, took)
		}
		if outcomes, took := carry(t.Context(), model.Order{Cost: 1, N: 30}, nil); outcomes.Admitted != 30 || took < 28*time.Millisecond {
			t.Errorf("30 at once: %+v in %v: the cap is 1,000 a second", outcomes, took)
		}
	})
}
