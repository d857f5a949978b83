package tui

import (
	"context"
	"slices"
	"sync"

	tea "charm.land/bubbletea/v2"

	"ratescope/model"
)

// shot is an order that is being carried out.
type shot struct {
	model.Shot
	cancel context.CancelFunc
}

// decided is a line of the decision list.
type decided struct {
	model.Fired
	n int // how many in a row were alike but for their instant
}

// keepDecisions bounds the decision list.
const keepDecisions = 200

// inbox gathers what injectors report until the screen takes it: one command waits on
// it, however many requests are under way.
type inbox struct {
	mu    sync.Mutex
	fired []model.Fired
	ended []ended
	wake  chan struct{} // holds one token when there is something to take
}

type ended struct {
	id    int64
	tally model.Tally
	err   error
}

// firedMsg is what came in since the one before.
type firedMsg struct {
	fired []model.Fired
	ended []ended
}

func (b *inbox) put(f []model.Fired, e []ended) {
	b.mu.Lock()
	b.fired = append(b.fired, f...)
	b.ended = append(b.ended, e...)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (a *App) nextFired() tea.Cmd {
	return func() tea.Msg {
		select {
		case <-a.ctx.Done():
			return nil
		case <-a.keep.wake:
		}
		a.keep.mu.Lock()
		defer a.keep.mu.Unlock()
		msg := firedMsg{a.keep.fired, a.keep.ended}
		a.keep.fired, a.keep.ended = nil, nil
		return msg
	}
}

// fire orders a shot at the selected key. What may be fired is the injector's to say.
func (a *App) fire(s model.Shot) tea.Cmd {
	k := a.board.Key(a.selected)
	switch {
	case k == nil:
		a.say(true, "There is no key to fire at yet.")
		return nil
	case a.o.Injector == nil:
		a.say(true, "Nothing can be fired at this source.")
		return nil
	case a.slipped():
		return nil
	}
	if err := a.o.Injector.Armed(); err != nil {
		a.say(true, err.Error())
		return nil
	}
	target, err := k.Reading.Aim()
	if err != nil {
		a.say(true, "Nothing was fired at "+a.name(k.Reading.Key)+": "+err.Error()+".")
		return nil
	}
	a.lastShot++
	s.ID, s.Key, s.Target, s.Cost = a.lastShot, k.Reading.Key, target, 1
	ctx, cancel := context.WithCancel(a.ctx)
	if a.shots == nil {
		a.shots = make(map[int64]*shot)
	}
	a.shots[s.ID] = &shot{s, cancel}
	return func() tea.Msg {
		defer cancel()
		tally, err := a.o.Injector.Fire(ctx, s, func(f model.Fired) {
			f.Shot = s.ID
			a.keep.put([]model.Fired{f}, nil)
		})
		a.keep.put(nil, []ended{{s.ID, tally, err}})
		return nil
	}
}

// record takes in what was fired.
func (a *App) record(msg firedMsg) {
	a.stale = true
	for _, f := range msg.fired {
		a.board.Mark(f)
		a.tally.Add(f.Outcome)
		if n := len(a.decisions); n > 0 && alike(&a.decisions[n-1].Fired, &f) {
			a.decisions[n-1] = decided{f, a.decisions[n-1].n + 1}
			continue
		}
		a.decisions = append(a.decisions, decided{f, 1})
	}
	if n := len(a.decisions); n > keepDecisions {
		a.decisions = slices.Delete(a.decisions, 0, n-keepDecisions)
	}
	for _, e := range msg.ended {
		delete(a.shots, e.id)
		if e.err != nil && a.ctx.Err() == nil && e.err != context.Canceled {
			a.say(true, e.err.Error())
		}
	}
}

// alike says whether two decisions can share a line.
func alike(x, y *model.Fired) bool {
	return x.Shot == y.Shot && x.Outcome == y.Outcome && x.Outcome == model.Denied && x.Cost == y.Cost
}

// rateShot returns the running shot that has a rate, or nil.
func (a *App) rateShot() *shot {
	for _, s := range a.shots {
		if s.Rate > 0 {
			return s
		}
	}
	return nil
}

func (a *App) toggleRate() tea.Cmd {
	if s := a.rateShot(); s != nil {
		s.cancel()
		return nil
	}
	return a.fire(model.Shot{Rate: a.perSecond})
}

func (a *App) ceaseFire() {
	for _, s := range a.shots {
		s.cancel()
	}
}

// bursts and rates are the steps that + and - go through.
var (
	bursts = []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}
	rates  = []float64{0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
)

// adjust changes the rate while one runs, else the burst. A running rate is stopped
// and started anew at the new pace.
func (a *App) adjust(up bool) tea.Cmd {
	s := a.rateShot()
	if s == nil {
		a.burst = step(bursts, a.burst, up)
		return nil
	}
	next := step(rates, a.perSecond, up)
	if next == a.perSecond {
		return nil
	}
	a.perSecond = next
	s.cancel()
	s.Rate = 0 // it is ending: the next one is the rate now
	return a.fire(model.Shot{Rate: a.perSecond})
}

// step returns the neighbour of v in a rising list.
func step[T int | float64](list []T, v T, up bool) T {
	i, _ := slices.BinarySearch(list, v)
	if up {
		i++
	} else {
		i--
	}
	return list[min(max(i, 0), len(list)-1)]
}
