package model_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model"
)

// TestForecastInQuietStates: in 500 random states of every algorithm, in which no other client sends
// anything, the forecast of a random order is right to the request.
func TestForecastInQuietStates(t *testing.T) {
	for _, a := range limiter.Algorithms() {
		random := rand.New(rand.NewPCG(7, uint64(a)))
		for range 500 {
			limit := limiter.Limit{Count: 1 + random.Int64N(40), Window: time.Duration(1+random.IntN(120)) * time.Second}
			now := limiter.InstantOf(noon).Add(time.Duration(random.Int64N(int64(time.Hour))))
			m, err := limiter.NewMemory(a, limiter.WithClock(func() limiter.Instant { return now }))
			if err != nil {
				t.Fatal(err)
			}
			take := func(cost int64) limiter.Decision {
				d, err := m.AllowN(context.Background(), "k", limit, cost)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			r := model.Reading{Key: "k", Target: model.Target{Algorithm: a, Limit: limit, LimitKnown: true, Window: limit.Window}, State: limiter.State{Algorithm: a}}
			for range random.IntN(60) { // what came before
				cost := 1 + random.Int64N(3)
				take(cost)
				r.State.Take(now, limit, limiter.Convention{}, cost)
				now = now.Add(time.Duration(random.Int64N(int64(limit.Window) / 20)))
			}
			s := model.Order{Key: "k", Target: r.Target, Cost: 1 + random.Int64N(3), N: 1 + random.IntN(80)}
			switch random.IntN(5) {
			case 0:
				s.Rate = 0.5 + 10*random.Float64()
			case 1:
				s.Rate, s.Shape = 1+5*random.Float64(), model.Shape{Kind: model.Poisson, Seed: random.Uint64()}
			case 2:
				s.Rate, s.Shape = 1, model.Shape{Kind: model.Ramp, To: 20, Over: 10 * time.Second}
			case 3:
				s.Rate, s.Shape = 8, model.Shape{Kind: model.OnOff, On: 2 * time.Second, Off: 5 * time.Second}
			}
			f, _ := r.ForecastOrder(now, s)
			begun, admitted, denied, remaining := now, 0, 0, int64(0)
			for due := range s.Due() {
				now = begun.Add(due)
				d := take(s.Cost)
				if remaining = d.Remaining; d.Allowed {
					admitted++
				} else {
					denied++
				}
			}
			if !f.Known || f.Admitted != admitted || f.Denied != denied || f.Remaining != remaining {
				t.Fatalf("%v, %v, %+v: the forecast was %+v, and %d were admitted, %d denied, %d left", a, limit, s, f, admitted, denied, remaining)
			}
		}
	}
}

func TestShapes(t *testing.T) {
	ms := func(list ...int) []time.Duration {
		out := make([]time.Duration, len(list))
		for i, n := range list {
			out[i] = time.Duration(n) * time.Millisecond
		}
		return out
	}
	for name, c := range map[string]struct {
		order model.Order
		want  []time.Duration
	}{
		"burst":    {model.Order{N: 3}, ms(0, 0, 0)},
		"rate":     {model.Order{N: 3, Rate: 4}, ms(0, 250, 500)},
		"a phase":  {model.Order{N: 2, Rate: 1, Shape: model.Shape{Wait: 5 * time.Second}}, ms(5000, 6000)},
		"ramp":     {model.Order{N: 3, Rate: 1, Shape: model.Shape{Kind: model.Ramp, To: 4, Over: time.Second}}, ms(0, 1000, 1250)},
		"on-off":   {model.Order{N: 5, Rate: 2, Shape: model.Shape{Kind: model.OnOff, On: time.Second, Off: 9 * time.Second}}, ms(0, 500, 10000, 10500, 20000)},
		"recorded": {model.Order{N: 9, Shape: model.Shape{Kind: model.Recorded, At: ms(3, 1000)}}, ms(3, 1000)},
	} {
		got := slices.Collect(c.order.Due())
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: due at %v, want %v", name, got, c.want)
		}
	}
	poisson := model.Order{N: 2000, Rate: 10, Shape: model.Shape{Kind: model.Poisson, Seed: 3}}
	if l := poisson.Lasts().Seconds(); l < 180 || l > 220 || !slices.IsSorted(slices.Collect(poisson.Due())) {
		t.Errorf("2,000 random requests at 10/s last %v s", l)
	}
	for text, want := range map[string]string{"": "even", "even": "even", "poisson": "poisson:0", "poisson:7": "poisson:7", "ramp:50/s:30s": "ramp:50/s:30s", "on-off:2s:8s": "on-off:2s:8s"} {
		if s, err := model.ParseShape(text); err != nil || s.String() != want {
			t.Errorf("%q: %v, %v", text, s.String(), err)
		}
	}
	for _, text := range []string{"saw", "ramp", "ramp:x:1s", "ramp:5/s", "on-off:1s", "poisson:x", "even:1"} {
		if s, err := model.ParseShape(text); err == nil {
			t.Errorf("%q is read as %v", text, s.String())
		}
	}
	for name, s := range map[string]model.Order{
		"no rate":        {Cost: 1, N: 1, Shape: model.Shape{Kind: model.Poisson}},
		"a ramp to 2000": {Cost: 1, N: 1, Rate: 1, Shape: model.Shape{Kind: model.Ramp, To: 2000, Over: time.Second}},
		"never on":       {Cost: 1, N: 1, Rate: 1, Shape: model.Shape{Kind: model.OnOff, Off: time.Second}},
	} {
		if s.Check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestLead(t *testing.T) {
	at := limiter.InstantOf(noon).Add(20 * time.Second) // a third into a minute
	for phase, want := range map[float64]time.Duration{0: 40 * time.Second, 0.5: 10 * time.Second, 0.9: 34 * time.Second} {
		if got := model.Lead(at, time.Minute, phase); got != want {
			t.Errorf("phase %g comes after %v, want %v", phase, got, want)
		}
	}
	if got := model.Lead(limiter.InstantOf(noon), time.Minute, 0); got != 0 {
		t.Errorf("the beginning of a window comes after %v at its beginning", got)
	}
}

// TestTicket: what others lose is what they would have had, in a state that can be worked out by
// hand.
func TestTicket(t *testing.T) {
	limit := limiter.Limit{Count: 10, Window: 10 * time.Second}
	target := model.Target{Algorithm: limiter.SlidingLog, Limit: limit, LimitKnown: true, Window: limit.Window}
	now := limiter.InstantOf(noon)
	state := limiter.State{Algorithm: limiter.SlidingLog}
	var arrivals []model.Arrival
	for i := range 20 { // one a second, for two windows
		at := now.Add(time.Duration(i-20) * time.Second)
		state.Take(at, limit, limiter.Convention{}, 1)
		arrivals = append(arrivals, model.Arrival{At: at, N: 1})
	}
	var b model.Board
	reading := func(at limiter.Instant, arrivals []model.Arrival) model.Batch {
		return model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Live}, Readings: []model.Reading{{Key: "k", Type: "zset", At: at, Target: target, State: state, Arrivals: arrivals}}}
	}
	b.Apply(reading(now.Add(-20*time.Second), nil))
	for i := range arrivals {
		next := reading(arrivals[i].At, arrivals[i:i+1])
		next.Readings[0].Since = arrivals[max(i-1, 0)].At
		b.Apply(next)
	}
	b.Apply(reading(now, nil))
	ticket := b.Key("k").Ticket(model.Order{Key: "k", Target: target, Cost: 1, N: 5}, now)
	if f := ticket.Forecast; f.Admitted != 1 || f.Denied != 4 { // nine of the window are left, and the one that ends it
		t.Errorf("the forecast is %+v", f)
	}
	if ticket.LastIn != 4*time.Second || ticket.AsNew != 10*time.Second {
		t.Errorf("all are in after %v, as new after %v, want 4s and 10s", ticket.LastIn, ticket.AsNew)
	}
	if o := ticket.Organic; !o.Known || o.PerSecond < 0.9 || o.PerSecond > 1.1 || o.Lost < 1 || o.Lost > 2 {
		t.Errorf("others: %+v, want about one a second, of which one is lost", o)
	}
	for _, own := range []struct {
		n, cost int64
		outcome model.Outcome
	}{{10, 5, model.Admitted}, {50, 1, model.Denied}} {
		later := now.Add(time.Millisecond)
		if own.outcome == model.Admitted {
			next := reading(later, []model.Arrival{{At: later, N: own.n * own.cost}})
			next.Readings[0].Since = now
			b.Apply(next)
		}
		for range own.n {
			b.Mark(model.Fired{Key: "k", At: now, Outcome: own.outcome, Cost: own.cost})
		}
		if o := b.Key("k").Ticket(ticket.Order, later).Organic; !o.Known || o.PerSecond < 0.9 || o.PerSecond > 1.1 {
			t.Errorf("others, after %+v of one's own: %+v, want about one a second", own, o)
		}
	}
	if ticket.Expired(time.Time{}.Add(model.TicketLasts-1)) || !ticket.Expired(time.Time{}.Add(model.TicketLasts)) {
		t.Error("the ticket holds for another time than it says")
	}
}

// TestTicketOfANewKey: the requests at a key that does not exist, whose algorithm Aim has chosen, are
// forecast as that algorithm decides them.
func TestTicketOfANewKey(t *testing.T) {
	limit := limiter.Limit{Count: 10, Window: time.Minute}
	r := model.Reading{Key: "k", Type: "none", Target: model.Target{Limit: limit, LimitKnown: true, Window: limit.Window}}
	target, err := r.Aim()
	if err != nil {
		t.Fatal(err)
	}
	var b model.Board
	now := limiter.InstantOf(noon)
	b.Apply(model.Batch{At: now, Local: noon, Server: model.Server{Link: model.Live}, Readings: []model.Reading{r}})
	ticket := b.Key("k").Ticket(model.Order{Key: "k", Target: target, Cost: 1, N: 12}, now)
	if f := ticket.Forecast; f.Admitted != 10 || f.Denied != 2 || ticket.AsNew != time.Minute {
		t.Errorf("the forecast is %+v, as new after %v; want 10 admitted, 2 denied and a minute", f, ticket.AsNew)
	}
}

// TestHashSlot holds the slot to the examples of the cluster specification.
func TestHashSlot(t *testing.T) {
	for key, want := range map[string]int{"123456789": 0x31C3, "foo": 12182, "{foo}bar": 12182, "foo{}bar": model.HashSlot("foo{}bar"), "": 0} {
		if got := model.HashSlot(key); got != want {
			t.Errorf("%q is in slot %d, want %d", key, got, want)
		}
	}
	if model.HashSlot("{user1000}.following") != model.HashSlot("{user1000}.followers") || model.HashSlot("foo{}{bar}") == model.HashSlot("bar") || model.HashSlot("foo{{bar}}zap") != model.HashSlot("{bar") {
		t.Error("hash tags are not read as the specification says")
	}
}

// TestTicketCoversTheWholeOrder changes each field of an order, of its target and of its shape: the ticket then
// is of another order, unless the field only says who gave it.
func TestTicketCoversTheWholeOrder(t *testing.T) {
	given := map[string]bool{"Order.ID": true, "Order.Hold": true, "Order.Ticket": true, "Order.Named": true, "Order.Reason": true}
	order := model.Order{Key: "k", Cost: 1, N: 3}
	ticket := model.Ticket{Order: order}
	if !ticket.Covers(order) {
		t.Fatal("a ticket does not cover its own order")
	}
	changed := order
	seen := 0
	var each func(v reflect.Value, path string)
	each = func(v reflect.Value, path string) {
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				each(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
			return
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Int, reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Uint8, reflect.Uint64:
			v.SetUint(v.Uint() + 1)
		case reflect.Float64:
			v.SetFloat(v.Float() + 1)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case reflect.Func:
			v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { return nil }))
		default:
			t.Fatalf("%s is a %v: say here how it changes", path, v.Kind())
		}
		if seen++; ticket.Covers(changed) != given[path] {
			t.Errorf("with another %s the ticket covers the order: %v", path, !given[path])
		}
		v.Set(was)
	}
	each(reflect.ValueOf(&changed).Elem(), "Order")
	if seen < 30 {
		t.Errorf("%d fields were changed", seen)
	}
}

// TestPartsOfOpenRequests: the requests of a killed program whose outcome is not known are one clause, however many.
func TestPartsOfOpenRequests(t *testing.T) {
	for want, open := range map[string][]string{
		"whether a.1, sent at 12:00 was counted is not known":                                      {"a.1, sent at 12:00"},
		"whether 3 more were counted, from a.1, sent at 12:00 to a.3, sent at 12:01, is not known": {"a.1, sent at 12:00", "a.2, sent at 12:00", "a.3, sent at 12:01"},
	} {
		back := model.TakenBack{Withdrawn: true, Open: open}
		if parts := back.Parts(); len(parts) != 2 || !strings.HasPrefix(parts[1], want) {
			t.Errorf("%q, want %q", parts, want)
		}
	}
}
