package fire_test

import (
	"context"
	"testing"
	"time"

	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
)

// TestScratch fires at a copy of a key of every algorithm: the copy decides as the key would have,
// the key and its expiry stay as they are, the copy expires, and undo removes it.
func TestScratch(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ctx := context.Background()
	for _, a := range limiter.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			i, store, order := changing(t, s, a)
			before := held(t, s)
			order.N, order.Cost, order.Scratch = 9, 1, true
			keys := i.Keys(order, limiter.InstantOf(time.Now()))
			if commands, err := i.Preview(ctx, order); err != nil || len(commands) < 3 {
				t.Errorf("the commands are %q, %v", commands, err)
			}
			id := ""
			outcomes, err := i.Fire(ctx, order, func(f model.Fired) {
				if id = f.Audit; f.Key != layout.ScratchKey("k") {
					t.Errorf("%s was fired at", f.Key)
				}
			})
			if err != nil || outcomes.Admitted != 6 || outcomes.Denied != 3 { // 4 of 10 were used
				t.Errorf("%+v, %v, want 6 admitted and 3 denied", outcomes, err)
			}
			if d, err := store.Peek(ctx, "k", order.Target.Limit, 0); err != nil || d.Used != 4 {
				t.Errorf("the key has %d used, %v", d.Used, err)
			}
			c := s.Client()
			defer c.Close()
			for _, key := range c.Keys(ctx, "*scratch*").Val() {
				if ttl := c.PTTL(ctx, key).Val(); ttl <= 0 {
					t.Errorf("%s expires in %v", key, ttl)
				}
			}
			for _, key := range keys {
				if key == "k" {
					t.Errorf("the key itself may be written")
				}
			}
			if _, err := i.TakeBack(ctx, model.TakeBack{Action: id[:len(id)-2]}); err != nil {
				t.Fatal(err)
			}
			if after := held(t, s); after != before {
				t.Errorf("the keys hold\n%s\nand held before\n%s", after, before)
			}
		})
	}
}
