package firing_test

import (
	"context"
	"strings"
	"testing"
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
	planned []limiter.Instant
}

func (k *keys) Live() *model.Board               { return &k.board }
func (k *keys) LiveAt() limiter.Instant          { return k.board.At }
func (k *keys) Paused() bool                     { return false }
func (k *keys) Selected() string                 { return "api" }
func (k *keys) Group() string                    { return k.group }
func (k *keys) SelectionMoved() bool             { return k.moved }
func (k *keys) ShowPlans(list []limiter.Instant) { k.planned = list }

// newOrders returns orders at the key api, which admits 5 in a minute.
func newOrders(t *testing.T) (*firing.Orders, *keys, *tuitest.Injector) {
	t.Helper()
	start := time.Unix(1_700_000_000, 0)
	feed := tuitest.NewFeed(start, tuitest.Personality{Name: "api", How: limiter.FixedWindow, Limit: limiter.Limit{Count: 5, Window: time.Minute}})
	app, err := shell.New(context.Background(), shell.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k, injector := &keys{}, &tuitest.Injector{Feed: feed}
	k.board.Apply(feed.Advance(start))
	return firing.New(app, k, firing.Options{Injector: injector, Name: func(key string) string { return key }}), k, injector
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
	if got := o.Outcomes(); got.Admitted != 5 || got.Denied != 3 || o.Firing() != 0 {
		t.Errorf("8 requests at a limit of 5: %+v, %d orders under way", got, o.Firing())
	}
	if d := o.Decisions(); len(d) != 6 || d[5].N != 3 { // denials that are alike share a line
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
		steps = append(steps, o.Burst())
	}
	for range 20 {
		o.Adjust(false)
	}
	if steps[0] != 20 || steps[2] != 100 || o.Burst() != 1 {
		t.Errorf("+ goes through %v, and - ends at %d", steps, o.Burst())
	}
}
