package bench

import (
	"strings"
	"time"

	"ratescope/limiter"
)

// keys looks at what is stored.
func (b *bench) keys() error {
	if b.store == nil {
		return nil
	}
	name, steps, err := b.lasting(b.o.Cost, func(path []Step) {
		found, near := b.store.Undeclared()
		why := "a cluster refuses that, or answers from the wrong node"
		if near {
			why = "a cluster runs it, for the hash tag is that of a key in KEYS, and Redis does not promise that"
		}
		if len(found) > 0 {
			b.r.find(UndeclaredKey, true, path, "the script touches %s, which KEYS does not hold: %s", strings.Join(found, ", "), why)
		}
	})
	if err != nil {
		return err
	}
	if steps != nil {
		b.r.find(NoExpiry, true, steps, "the key %q is left without an expiry: it stays for ever", name)
	}
	if b.m.endless || b.m.capacity == 0 {
		return nil
	}
	steps, grows, err := b.grows()
	if err != nil {
		return err
	}
	if grows {
		b.r.find(Grows, true, steps, "each denied request is kept: a client that does not stop fills the memory")
		return nil
	}
	steps, grows, err = b.untrimmed()
	if err == nil && grows {
		b.r.find(Grows, true, steps, "what no longer counts is kept: under steady traffic the key grows without end")
	}
	return err
}

// clocks moves the clocks.
func (b *bench) clocks() error {
	if b.m.endless || b.m.capacity == 0 {
		return nil
	}
	w, n := b.limit.Window, b.m.capacity
	begin := 10*w + (w / 4).Truncate(time.Millisecond)
	fill := Step{At: begin, N: n}
	if b.store != nil {
		if _, err := b.play([]Step{fill}); err != nil {
			return err
		}
		b.store.Drift(20*w, 0)
		got, err := b.goOn([]Step{{At: begin + time.Duration(n+1)*b.spread, N: 1}})
		b.store.Drift(0, 0)
		if err != nil {
			return err
		}
		if got[0] > 0 {
			b.r.find(ClientClock, false, []Step{fill, {At: begin + 20*w, N: 1}},
				"time comes from the caller: a client whose clock is ahead is admitted, and clients with unlike clocks disagree")
		}
	}
	client := len(b.r.Findings) > 0 && b.r.Findings[len(b.r.Findings)-1].ID == ClientClock
	if b.store != nil && !client && !strings.Contains(strings.ToUpper(b.store.Traffic()), "[TIME") {
		return nil // it knows no time but that of expiries
	}
	id := b.r.Identity
	aligned := id.Terms.Alignment == limiter.AlignEpoch && (id.Algorithm.Kind() == limiter.KindWindow ||
		id.Algorithm.Kind() == limiter.KindWeighted)
	free, err := b.play([]Step{fill, {At: begin + time.Millisecond, N: n + 2}})
	if err != nil {
		return err
	}
	for _, back := range []time.Duration{time.Millisecond, time.Second, w / 4, w, 2*w + w/8} {
		back = back.Truncate(time.Millisecond)
		got, err := b.back(fill, back, client)
		if err != nil {
			return err
		}
		if gained := got[1] + got[2] - free[1]; gained > 0 {
			when := "while it is back"
			if got[1] == 0 {
				when = "when it returns"
			}
			b.r.find(ClockBack, got[1] > 0 && !aligned, []Step{{At: begin, N: n}, {At: begin - back, N: max(got[1], 1)},
				{At: begin + time.Millisecond, N: max(got[2], 1)}},
				"a clock that steps back by %s lets %d more in %s", seconds(back), gained, when)
			return nil
		}
	}
	return nil
}

// back fills the limiter and asks it again while a clock shows an earlier time, and when it is right again:
// the clock of the caller alone, or that of all.
func (b *bench) back(fill Step, back time.Duration, client bool) ([]int64, error) {
	steps := []Step{fill, {At: fill.At - back, N: fill.N + 2}, {At: fill.At + time.Millisecond, N: fill.N + 2}}
	if !client || b.store == nil {
		return b.play(steps)
	}
	all, err := b.play(steps[:1])
	steps[1].At = fill.At
	for i := 1; i < 3 && err == nil; i++ {
		b.store.Drift([]time.Duration{-back, 0}[i-1], 0)
		var got []int64
		got, err = b.goOn(steps[i : i+1])
		all = append(all, got...)
	}
	return all, err
}

// costs finds out whether the cost of requests counts.
func (b *bench) costs() error {
	n := b.m.capacity
	if !b.o.Cost || b.m.endless || n < 2 {
		return nil
	}
	cost := min(3, n)
	at := time.Second
	read := true
	if b.store != nil {
		said := map[int64]string{}
		for _, c := range []int64{1, cost} {
			if _, err := b.play([]Step{{At: at, N: 1, Cost: c}}); err != nil {
				return err
			}
			said[c] = b.store.Traffic()
		}
		got, err := b.play([]Step{{At: at, N: 1, Cost: n + 5}})
		if err != nil {
			return err
		}
		read = said[1] != said[cost] || got[0] == 0
	}
	steps := []Step{{At: at, N: 1, Cost: cost}, {At: at, N: n + 2}}
	got, err := b.play(steps)
	if err != nil {
		return err
	}
	if got[0] == 1 && got[1] > n-cost {
		steps[1].N = n - cost + 1
		b.r.find(CostIgnored, read || b.o.CostAsked, steps, "a request of cost %d takes the room of %d", cost, max(n-got[1], 0))
		return nil
	}
	steps = []Step{{At: at, N: n - 1}, {At: at, N: 1, Cost: cost}}
	if got, err = b.play(steps); err != nil {
		return err
	}
	if got[1] == 1 {
		b.r.find(CostIgnored, read || b.o.CostAsked, steps, "a request of cost %d is admitted where there is room for 1", cost)
	}
	return nil
}
