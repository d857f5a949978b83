package firing_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"ratescope/limiter"
	"ratescope/model"
	"ratescope/tui/firing"
	"ratescope/tui/shell"
	"ratescope/tui/tuitest"
)

// keys are one selected key on a board.
type keys struct {
	board   model.Board
	group   string
	moved   bool
	age     time.Duration
	planned []limiter.Instant
}

func (k *keys) look() firing.Keys {
	return firing.Keys{
		Live: func() *model.Board { return &k.board }, LiveAt: func() limiter.Instant { return k.board.At },
		Paused: func() bool { return k.age > 0 }, Age: func() time.Duration { return k.age },
		Selected: func() string { return "api" }, Group: func() string { return k.group },
		Fired: func(f model.Fired) { k.board.Mark(f) }, SelectionMoved: func() bool { return k.moved },
		ShowPlans: func(list []limiter.Instant) { k.planned = list },
	}
}

// injector fires at the keys of a feed, at the pace of an order.
type injector struct {
	feed   *tuitest.Feed
	orders []model.Order
}

func (i *injector) Armed() error { return nil }

func (i *injector) Orders() []model.Order { return i.orders }

func (i *injector) Fire(ctx context.Context, s model.Order, report func(model.Fired)) (tally model.Outcomes, err error) {
	i.orders = append(i.orders, s)
	for n := 0; err == nil && ctx.Err() == nil && (s.N == 0 || n < s.N); n++ {
		if s.Hold != nil && s.Hold(ctx) != nil {
			return tally, nil
		}
		var fired model.Fired
		if fired, err = i.feed.FireAt(limiter.InstantOf(time.Now()), s.Key, s.Cost); err == nil {
			fired.Order = s.ID
			tally.Add(fired.Outcome)
			report(fired)
		}
		gap := time.Duration(0)
		if at := s.Shape.At; n+1 < len(at) {
			gap = at[n+1] - at[n]
		} else if s.Rate > 0 {
			gap = time.Duration(float64(time.Second) / s.Rate)
		}
		select {
		case <-ctx.Done():
		case <-time.After(gap):
		}
	}
	return tally, err
}

// newOrders returns orders at the key api, which admits 5 in a minute.
func newOrders(t *testing.T) (*firing.Orders, *keys, *injector) {
	t.Helper()
	start := time.Unix(1_700_000_000, 0)
	feed := tuitest.NewFeed(start, tuitest.Personality{Name: "api", How: limiter.FixedWindow, Limit: limiter.Limit{Count: 5,
		Window: time.Minute}})
	app := newApp(t)
	k, injector := &keys{}, &injector{feed: feed}
	k.board.Apply(feed.Advance(start))
	recorded := func(_ context.Context, file, key string) (at []time.Duration, err error) { // ten a second
		if file == "storm.jsonl" {
			return make([]time.Duration, model.MaxRate+1), nil
		}
		if file != "busy.jsonl" || key != "api" {
			return nil, errors.New("there is no such recording")
		}
		for n := range 200 {
			at = append(at, time.Duration(n)*100*time.Millisecond)
		}
		return at, nil
	}
	o := firing.Options{Injector: injector, Recorded: recorded, Name: func(key string) string { return key }}
	return firing.New(app, k.look(), o), k, injector
}

func newApp(t *testing.T) *shell.App {
	t.Helper()
	app, err := shell.New(context.Background(), shell.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// carryOut runs a command to its end and hands what injectors reported to the orders.
func carryOut(t *testing.T, o *firing.Orders, cmd tea.Cmd) {
	t.Helper()
	if cmd == nil {
		t.Fatal("nothing is fired")
	}
	cmd()
	o.Update(o.TakeFired())
}

func TestABurstIsCountedByItsOutcome(t *testing.T) {
	o, _, _ := newOrders(t)
	cmd := o.Fire(model.Order{N: 8})
	if o.Firing() != 1 || !strings.Contains(o.FiringText(60), "firing 8 at api") {
		t.Errorf("%d orders under way: %q", o.Firing(), o.FiringText(60))
	}
	carryOut(t, o, cmd)
	if got := o.Outcomes; got.Admitted != 5 || got.Denied != 3 || o.Firing() != 0 {
		t.Errorf("8 requests at a limit of 5: %+v, %d orders under way", got, o.Firing())
	}
	if d := o.Decisions; len(d) != 6 || d[5].N != 3 { // denials that are alike share a line
		t.Errorf("the decisions are %+v", d)
	}
}

func TestNothingIsFiredAtAGroupOrAtAnotherKey(t *testing.T) {
	o, k, injector := newOrders(t)
	k.group = "api:*"
	if why := o.CanFire(); !strings.HasPrefix(why, "api:* is a group") || o.Fire(model.Order{N: 1}) != nil {
		t.Errorf("a group is fired at: %q", why)
	}
	k.group, k.moved = "", true
	if o.Fire(model.Order{N: 1}) != nil || len(injector.Orders()) != 0 {
		t.Error("a request reached a key that took the place of the selected one")
	}
}

// TestNothingIsFiredFromThePast: what it would promise was true then.
func TestNothingIsFiredFromThePast(t *testing.T) {
	o, k, injector := newOrders(t)
	k.age = time.Minute
	if why := o.CanFire(); !strings.Contains(why, "esc leads to now") {
		t.Errorf("of a minute ago it says %q", why)
	}
	if cmd := o.Fire(model.Order{N: 1}); cmd != nil || len(injector.Orders()) != 0 {
		t.Error("a request is fired from a minute ago")
	}
	if k.age = 0; o.CanFire() != "" {
		t.Errorf("now it says %q", o.CanFire())
	}
}

func TestTheStopKeyTakesPlansBack(t *testing.T) {
	o, k, injector := newOrders(t)
	at := k.board.At.Add(time.Hour)
	wait := o.FireAt(at)
	if len(k.planned) != 1 || k.planned[0] != at {
		t.Fatalf("planned are %v", k.planned)
	}
	o.Stop()
	if msg := wait(); msg != nil || len(k.planned) != 0 || len(injector.Orders()) != 0 {
		t.Errorf("after the stop: %v, %v planned, %d fired", msg, k.planned, len(injector.Orders()))
	}
}

func TestStepsOfABurst(t *testing.T) {
	o, _, _ := newOrders(t)
	var steps []int
	for range 3 {
		o.Adjust(true)
		steps = append(steps, o.Burst)
	}
	for range 20 {
		o.Adjust(false)
	}
	if steps[0] != 20 || steps[2] != 100 || o.Burst != 1 {
		t.Errorf("+ goes through %v, and - ends at %d", steps, o.Burst)
	}
}

// TestAnOrderIsComposed: number, rate, shape, cost and phase reach the injector, and what is no
// order fires nothing.
func TestAnOrderIsComposed(t *testing.T) {
	o, k, injector := newOrders(t)
	for text, want := range map[string]model.Order{
		"4":                         {N: 4, Cost: 1},
		"2 1000/s poisson:7 cost:2": {N: 2, Rate: 1000, Cost: 2, Shape: model.Shape{Kind: model.Poisson, Seed: 7}},
		"1 cost:3 phase:0.5":        {N: 1, Cost: 3, Shape: model.Shape{Wait: model.Lead(k.board.At, time.Minute, 0.5)}},
		"2 500/s ramp:1000/s:1s":    {N: 2, Rate: 500, Cost: 1, Shape: model.Shape{Kind: model.Ramp, To: 1000, Over: time.Second}},
		"1 100/s on-off:10ms:0s":    {N: 1, Rate: 100, Cost: 1, Shape: model.Shape{Kind: model.OnOff, On: 10 * time.Millisecond}},
	} {
		carryOut(t, o, o.FireText(text))
		list := injector.Orders()
		got := list[len(list)-1]
		if got.Key != "api" || got.N != want.N || got.Rate != want.Rate || got.Cost != want.Cost ||
			got.Shape.String() != want.Shape.String() || got.Shape.Wait != want.Shape.Wait {
			t.Errorf("%q fires %+v", text, got)
		}
	}
	before := len(injector.Orders())
	for _, text := range []string{"poisson", "10001", "phase:2", "rm -rf"} {
		if o.FireText(text) != nil || len(injector.Orders()) != before {
			t.Errorf("%q was fired", text)
		}
	}
}

// TestFiringIsPaused: while it is paused nothing is sent, then it goes on where it was, and stopping
// ends it paused, too.
func TestFiringIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _, injector := newOrders(t)
		sent := func() int {
			o.Update(o.TakeFired())
			return o.Outcomes.Total()
		}
		go o.FireText("100 10/s")()
		time.Sleep(time.Second + 50*time.Millisecond)
		if n := sent(); n != 11 {
			t.Errorf("%d requests in a second at 10/s, want 11", n)
		}
		o.Hold()
		if !o.Held() || !strings.Contains(o.FiringText(60), "paused, 10.0/s at api") {
			t.Errorf("it says %q", o.FiringText(60))
		}
		time.Sleep(time.Minute)
		if n := sent(); n != 11 {
			t.Errorf("%d requests after a minute of pause, want 11", n)
		}
		o.Hold()
		time.Sleep(time.Second)
		if n := sent(); n < 20 || n > 22 {
			t.Errorf("%d requests after another second, want 21", n)
		}
		o.Hold()
		o.Stop()
		synctest.Wait()
		if n := sent(); o.Firing() != 0 || n > 22 {
			t.Errorf("%d under way after it was stopped, %d requests", o.Firing(), n)
		}
		if len(injector.Orders()) != 1 {
			t.Errorf("%d orders", len(injector.Orders()))
		}
	})
}

// TestARecordingThatCameTooFastIsNotFired: the bound of a rate holds for requests that come at once as well.
func TestARecordingThatCameTooFastIsNotFired(t *testing.T) {
	o, _, injector := newOrders(t)
	o.FireText("from:storm.jsonl")().(shell.Then)()
	if n := len(injector.Orders()); n != 0 || o.Firing() != 0 {
		t.Errorf("%d orders were given, %d are under way", n, o.Firing())
	}
}

// TestThePaceChangesInFlight: every shape goes on in itself at another pace, from where it stands, and at a
// copy where it went to one.
func TestThePaceChangesInFlight(t *testing.T) {
	for text, want := range map[string]struct {
		faster, slower model.Order // after a second, and after another one
		shape          string
	}{
		"5/s": {model.Order{Rate: 10}, model.Order{Rate: 5}, "even"},
		"5/s poisson:7 cost:2 scratch": {model.Order{Rate: 10, Cost: 2, Scratch: true}, model.Order{Rate: 5, Cost: 2, Scratch: true},
			"poisson"},
		"100 10/s on-off:1s:0s":   {model.Order{N: 89, Rate: 20}, model.Order{N: 69, Rate: 10}, "on-off"},
		"1000 10/s ramp:100/s:1h": {model.Order{N: 989, Rate: 20}, model.Order{N: 968, Rate: 10}, "ramp"},
		"from:busy.jsonl cost:3 scratch": {model.Order{N: 189, Cost: 3, Scratch: true}, model.Order{N: 168, Cost: 3, Scratch: true},
			"recorded"},
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, _, injector := newOrders(t)
				begin := func(cmd tea.Cmd) {
					t.Helper()
					if cmd == nil {
						t.Fatal("nothing is fired")
					}
					go cmd()
					time.Sleep(time.Second + 50*time.Millisecond)
					o.Update(o.TakeFired())
				}
				cmd := o.FireText(text)
				if strings.HasPrefix(text, "from:") {
					cmd = cmd().(shell.Then)()
				}
				begin(cmd)
				for n, w := range []model.Order{want.faster, want.slower} {
					begin(o.Adjust(n == 0))
					list := injector.Orders()
					if len(list) != n+2 {
						t.Fatalf("%d orders, want %d", len(list), n+2)
					}
					got := list[n+1]
					if kind, _, _ := strings.Cut(got.Shape.String(), ":"); kind != want.shape || (got.N-w.N)*(got.N-w.N) > 4 ||
						math.Abs(got.Rate-w.Rate) > 0.1*w.Rate || got.Cost != max(w.Cost, 1) || got.Scratch != w.Scratch {
						t.Errorf("it goes on as %+v, shape %s, want %+v", got, got.Shape.String(), w)
					}
				}
				if o.Firing() != 1 {
					t.Errorf("%d orders are under way", o.Firing())
				}
				o.Stop()
				synctest.Wait()
				o.Update(o.TakeFired())
			})
		})
	}
}
