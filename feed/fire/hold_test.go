package fire

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratescope/model"
)

// TestHold pauses an order for an hour: what was due meanwhile is not made up for, and the rest
// follows at its rate.
func TestHold(t *testing.T) {
	for name, order := range map[string]model.Order{
		"rate":     {N: 30, Rate: 10},
		"shape":    {N: 30, Rate: 10, Shape: model.Shape{Kind: model.OnOff, On: time.Second, Off: 0}},
		"burst":    {N: 30},
		"ramp":     {N: 30, Rate: 10, Shape: model.Shape{Kind: model.Ramp, To: 10, Over: time.Second}},
		"recorded": {N: 30, Shape: model.Shape{Kind: model.Recorded, At: tenths(30)}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit")
			synctest.Test(t, func(t *testing.T) {
				f := &firing{audit: &audit{path: path}, giveUp: GiveUp}
				if err := f.audit.open(); err != nil {
					t.Fatal(err)
				}
				defer f.audit.close()
				var mu sync.Mutex
				var at []time.Time
				f.send = func(context.Context) answered {
					mu.Lock()
					defer mu.Unlock()
					at = append(at, time.Now())
					return answered{}
				}
				order.Cost = 1
				asked := 0
				order.Hold = func(ctx context.Context) error {
					if asked++; asked == 11 {
						time.Sleep(time.Hour)
					}
					return ctx.Err()
				}
				f.order, f.action = order, f.audit.newAction("here", 0, order)
				outcomes, err := f.carryOut(context.Background(), func(model.Outcomes) error { return nil })
				if err != nil || outcomes.Total() != 30 {
					t.Fatalf("%+v, %v", outcomes, err)
				}
				if gap := at[10].Sub(at[9]); gap < time.Hour || gap > time.Hour+time.Second {
					t.Errorf("the pause lasted %v, want an hour", gap)
				}
				want := 100 * time.Millisecond
				if order.Rate == 0 && order.Shape.Kind == model.Even {
					want = time.Millisecond
				}
				for n := 12; n < len(at); n++ {
					if gap := at[n].Sub(at[n-1]); gap < want-paceTick || gap > want+paceTick {
						t.Errorf("request %d came %v after the one before, want %v", n, gap, want)
					}
				}
			})
		})
	}
}

// tenths are so many instants, one each tenth of a second.
func tenths(n int) (list []time.Duration) {
	for i := range n {
		list = append(list, time.Duration(i)*100*time.Millisecond)
	}
	return list
}
