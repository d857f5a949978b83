package fire_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratescope/feed"
	"ratescope/feed/fire"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/model"
	"ratescope/model/arming"
)

// TestWhatAScreenMayNotFire: each refusal of an injector that is armed by hand, on a server, and
// that nothing of it reached the server.
func TestWhatAScreenMayNotFire(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	limit := target(limiter.SlidingLog, 5, time.Minute)
	now := time.Now() // of the injector; it stands still unless a test moves it
	clock := now
	type refusal struct {
		allow, production, arm bool
		change                 func(order *model.Order, i *fire.Injector)
		want                   string // in the error; "" it is fired
	}
	for name, c := range map[string]refusal{
		"not allowed":         {false, false, false, nil, "--allow-inject"},
		"not armed":           {true, false, false, nil, "not armed"},
		"armed":               {true, false, true, nil, ""},
		"disarmed":            {true, false, true, func(_ *model.Order, i *fire.Injector) { i.Disarm() }, "by hand"},
		"expired arming":      {true, false, true, func(*model.Order, *fire.Injector) { clock = now.Add(arming.Lasts) }, "10 minutes"},
		"another run id":      {true, false, true, func(_ *model.Order, i *fire.Injector) { i.Meet(model.Server{Link: model.Live, RunID: "other"}) }, "started anew"},
		"no ticket":           {true, false, true, func(order *model.Order, _ *fire.Injector) { order.Ticket = nil }, "without a ticket"},
		"a ticket of another": {true, false, true, func(order *model.Order, _ *fire.Injector) { order.N++ }, "without a ticket"},
		"expired ticket":      {true, false, true, func(*model.Order, *fire.Injector) { clock = now.Add(model.TicketLasts) }, "ticket has expired"},
		"over a cap": {true, false, true, func(order *model.Order, _ *fire.Injector) {
			order.N = model.MaxRequests + 1
		}, "10001 requests are out of range"},
		"over the rate":     {true, false, true, func(order *model.Order, _ *fire.Injector) { order.Rate = 2000 }, "a rate of 2000/s"},
		"production":        {true, true, true, nil, "name was not typed"},
		"a wrong name":      {true, true, true, func(order *model.Order, _ *fire.Injector) { order.Named, order.Reason = "bob", "why" }, "name was not typed"},
		"no reason":         {true, true, true, func(order *model.Order, _ *fire.Injector) { order.Named = "alice" }, "no reason"},
		"a name and reason": {true, true, true, func(order *model.Order, _ *fire.Injector) { order.Named, order.Reason = "alice", "why" }, ""},
	} {
		clock = now
		s.CLI("FLUSHALL")
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		i := newRedis(t, feed.Options{URLs: []string{s.URL()}}).Injector(fire.Options{
			Armed: c.allow, ByHand: true, Production: c.production, AuditPath: path, Timeout: servertest.Patience, Now: func() time.Time { return clock },
		})
		if c.arm {
			if err := i.Arm(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		order := model.Order{Key: "rl:alice", Target: limit, Cost: 1, N: 1}
		order.Ticket = &model.Ticket{Order: order, Issued: now, Path: "the limiter's own script"}
		if c.change != nil {
			c.change(&order, i)
		}
		outcomes, err := i.Fire(context.Background(), order, nil)
		switch {
		case c.want == "" && (err != nil || outcomes.Admitted != 1 || s.CLI("ZCARD", "rl:alice") != "1"):
			t.Errorf("%s: %+v, %v, want it to be fired", name, outcomes, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n") || outcomes != model.Outcomes{}):
			t.Errorf("%s: %+v, %v, want %q", name, outcomes, err, c.want)
		case c.want != "" && s.CLI("DBSIZE") != "0":
			t.Errorf("%s: it was refused and wrote %s", name, s.CLI("KEYS", "*"))
		}
		if strings.HasPrefix(name, "over") {
			continue // a change has no number and no rate
		}
		s.CLI("FLUSHALL")
		s.CLI("ZADD", "rl:alice", "1", "1")
		order.Change = model.Change{Kind: model.Free}
		if order.Ticket != nil {
			order.Ticket.Order.Change = order.Change
		}
		done, err := i.Change(context.Background(), order)
		switch left := s.CLI("DBSIZE"); {
		case c.want == "" && (err != nil || len(done.Removed) != 1 || left != "0"):
			t.Errorf("%s: freed %+v, %v, %s keys are left", name, done, err, left)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || left != "1"):
			t.Errorf("%s: a change: %v, want %q; %s keys are left", name, err, c.want, left)
		}
	}
}

// TestAnArmingEndsWithTheServersLife: a server that was started anew is another one, also for an
// injector that nothing told of it.
func TestAnArmingEndsWithTheServersLife(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	i := newRedis(t, feed.Options{URLs: []string{s.URL()}}).Injector(fire.Options{Armed: true, ByHand: true, Timeout: servertest.Patience, AuditPath: filepath.Join(t.TempDir(), "audit.jsonl")})
	if err := i.Arm(context.Background()); err != nil {
		t.Fatal(err)
	}
	if st := i.Arming(); !st.Armed || st.Left <= 0 || st.Production != nil {
		t.Fatalf("armed: %+v", st)
	}
	s.Kill()
	s.Start()
	order := model.Order{Key: "rl:alice", Target: target(limiter.GCRA, 5, time.Minute), Cost: 1, N: 1}
	order.Ticket = &model.Ticket{Order: order, Issued: time.Now()}
	var err error
	servertest.Await(t, "the connections of the old life to be gone", func() bool { // the first tries may meet one of them
		_, err = i.Fire(context.Background(), order, nil)
		return err != nil && strings.Contains(err.Error(), "started anew")
	})
	if n := s.CLI("DBSIZE"); n != "0" {
		t.Errorf("the new life of the server has %s keys", n)
	}
	if err := i.Arm(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Fire(context.Background(), order, nil); err != nil {
		t.Errorf("armed anew: %v", err)
	}
}
