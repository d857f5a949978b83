package fire

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/model"
)

// TestEndedOnTheWay: a request that was not sent when firing ended came to nothing; one that was may have been counted.
func TestEndedOnTheWay(t *testing.T) {
	if o, why := new(link).fate(context.Canceled); o != model.Failed || why != "not sent: firing was ended" {
		t.Errorf("not sent: %v, %q", o, why)
	}
	if o, why := new(link).fate(fmt.Errorf("%w: %w", limiter.ErrUnknownOutcome, context.Canceled)); o != model.Unanswered {
		t.Errorf("sent: %v, %q", o, why)
	}
}

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

// TestOneStallIsOne fires a rate with many requests on the wire, of which one stall of the server delays all:
// firing goes on. Five stalls one after the other stop it.
func TestOneStallIsOne(t *testing.T) {
	for stalls, want := range map[int]bool{1: false, slowInARow: true} {
		synctest.Test(t, func(t *testing.T) {
			a := &audit{path: filepath.Join(t.TempDir(), "audit.jsonl")}
			if err := a.open(); err != nil {
				t.Fatal(err)
			}
			defer a.close()
			begun := time.Now()
			over := time.Duration(stalls)*slowAnswer - slowAnswer/2 // the requests on the wire wait together
			f := &firing{audit: a, giveUp: GiveUp, action: &action{id: "a"}, order: model.Order{Key: "k", Cost: 1, N: 400, Rate: 100}}
			f.send = func(ctx context.Context) answered {
				sent := time.Now()
				if sent.Sub(begun) < over {
					time.Sleep(slowAnswer)
				}
				return answered{Fired: model.Fired{Outcome: model.Admitted, Latency: time.Since(sent)}}
			}
			got, err := f.carryOut(t.Context(), func(model.Outcomes) error { return nil })
			if stopped := err != nil; stopped != want {
				t.Errorf("%d stalls: stopped %v (%v) after %d requests", stalls, stopped, err, got.Total())
			}
		})
	}
}

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
