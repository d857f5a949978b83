package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/look"
	"ratescope/feed/pace"
	"ratescope/feed/tariff"
	"ratescope/limiter"
	"ratescope/model"
)

// nodes is what is known of the nodes of a cluster, by address.
type nodes struct {
	clocks map[string]*clock
	sick   map[string]*sickness
}

// sickness is a node that does not answer. The keys that it holds are stale; the others
// are read as if nothing were wrong.
type sickness struct {
	backoff pace.Backoff
	until   time.Time
	looks   int
	err     error
}

// group is looks whose keys live on one node.
type group struct {
	addr  string // "" is the client as a whole
	pipes func() redis.Pipeliner
	looks []*turn
}

// groups sorts looks by the node that holds their keys, each still in order. There is one
// group unless the server is a cluster. Counters that others keep have a slot for every
// window, so that the client sends each of them where it belongs.
func (w *observer) groups(ctx context.Context, due []*turn) []*group {
	whole := &group{pipes: w.client.Pipeline, looks: due}
	if _, ok := w.client.(*redis.ClusterClient); !ok {
		return []*group{whole}
	}
	whole.looks = nil
	all := []*group{whole}
	byAddr := make(map[string]*group)
	for _, l := range due {
		if l.Scattered() || l.moved {
			l.moved = false
			whole.looks = append(whole.looks, l)
			continue
		}
		node, err := w.reads.For(ctx, limiter.DeniedKey(l.Name))
		if err != nil {
			whole.looks = append(whole.looks, l)
			continue
		}
		addr := node.Options().Addr
		g := byAddr[addr]
		if g == nil {
			g = &group{addr: addr, pipes: node.Pipeline}
			byAddr[addr] = g
			all = append(all, g)
		}
		g.looks = append(g.looks, l)
	}
	return slices.DeleteFunc(all, func(g *group) bool { return len(g.looks) == 0 })
}

// readAll reads what is due, as far as the purse reaches. The error is for a server of
// which no part answers.
func (w *observer) readAll(ctx context.Context, due []*turn, ready *[]model.Reading) error {
	if len(due) == 0 {
		return nil
	}
	spent, healthy := time.Duration(0), 0
	var lost error
	groups := w.groups(ctx, due)
	for _, g := range groups {
		s := w.nodes.sick[g.addr]
		if s != nil && time.Now().Before(s.until) {
			lost = s.err
			continue
		}
		err := w.readGroup(ctx, g, ready, &spent)
		switch {
		case err == nil:
			healthy++
			delete(w.nodes.sick, g.addr)
			continue
		case len(groups) == 1 && g.addr == "" || errors.Is(err, connect.ErrReadOnly) || ctx.Err() != nil:
			return err
		}
		lost = err
		w.sicken(g, err)
	}
	if healthy == 0 {
		return lost
	}
	return nil
}

// sicken notes that a node does not answer.
func (w *observer) sicken(g *group, err error) {
	s := w.nodes.sick[g.addr]
	if s == nil {
		s = &sickness{}
		if w.nodes.sick == nil {
			w.nodes.sick = make(map[string]*sickness)
		}
		w.nodes.sick[g.addr] = s
	}
	s.until, s.looks, s.err = time.Now().Add(s.backoff.Next()), len(g.looks), err
	w.reads.Avoid(g.addr)
	if c, ok := w.client.(*redis.ClusterClient); ok {
		c.ReloadState(context.Background()) // perhaps a replica has taken its place
	}
}

// shortcomings says what cannot be told just now although the link is live.
func (w *observer) shortcomings() []string {
	var out []string
	out = append(out, w.scout.Lacks()...)
	if w.timeless != "" {
		out = append(out, "the server's clock may not be asked by this user, so that this machine's stands in: "+w.timeless)
	}
	if s := w.listener.lack(); s != "" {
		out = append(out, s)
	}
	if s := w.reads.Lack(); s != "" {
		out = append(out, s)
	}
	for addr, s := range w.nodes.sick {
		if addr == "" {
			addr = w.shown
		}
		out = append(out, fmt.Sprintf("%s; %d keys are stale", connect.Explain(s.err, addr), s.looks))
	}
	out = append(out, w.subscriber.lacks()...)
	slices.Sort(out)
	return out
}

// readGroup reads the looks of one node.
func (w *observer) readGroup(ctx context.Context, g *group, ready *[]model.Reading, spent *time.Duration) error {
	most := time.Duration(float64(min(w.sinceRound, time.Second)) * roundMost)
	due := g.looks
	for asks := 0; len(due) > 0 && asks < asksPerRound; asks++ {
		var again []*turn
		for len(due) > 0 && (w.quick || due[0].rank == onScreen || w.purse.left > 0 && *spent < most || asks > 0) {
			n, more, cost, err := w.exchange(ctx, g, due, ready)
			*spent += cost
			w.spent += cost
			if err != nil {
				return err
			}
			again = append(again, more...)
			due = due[n:]
		}
		due = again // what is left after the last time goes on in the next round
	}
	return nil
}

// clockOf returns the clock of a node.
func (w *observer) clockOf(addr string) *clock {
	if addr == "" {
		return &w.clock
	}
	c := w.nodes.clocks[addr]
	if c == nil {
		if w.nodes.clocks == nil {
			w.nodes.clocks = make(map[string]*clock)
		}
		c = &clock{offset: w.clock.offset}
		w.nodes.clocks[addr] = c
	}
	return c
}

// exchange sends one pipeline for the first looks of due, and returns how many they were,
// which of them want to be asked again, and what it cost the server.
func (w *observer) exchange(ctx context.Context, g *group, due []*turn, ready *[]model.Reading) (n int, again []*turn, cost time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, connect.Timeout)
	defer cancel()
	clock := w.clockOf(g.addr)
	sent := time.Now()
	_, cluster := w.client.(*redis.ClusterClient)
	q := &look.Query{Ctx: ctx, Pipe: g.pipes(), Now: clock.at(sent), Slots: cluster, Entries: look.EntriesFor(len(w.looks))}
	measured, most := !w.quick && !w.embedded && len(due) > 1 && w.meter.Due(sent), commandsPerPipe
	if measured {
		w.meter.Begin(ctx, q.Pipe)
		most = tariff.Most
	}
	n = w.ask(q, due, most)
	// TIME comes last, so that no entry that was read is later than the reading.
	var hour *redis.TimeCmd
	if w.timeless == "" {
		hour = q.Pipe.Time(ctx)
	}
	short := q.Pipe.Len() < 20
	if measured {
		w.meter.End(ctx, q.Pipe)
	}
	cmds, err := q.Pipe.Exec(ctx)
	if errors.Is(err, connect.ErrReadOnly) {
		return n, nil, 0, err
	}
	if measured {
		w.tariff, cost = w.meter.Take(sent, cmds, w.tariff)
	} else {
		cost = w.tariff.Pipeline(cmds)
	}
	w.purse.pay(cost)
	if w.quick {
		w.quickPrice += ((cost-w.tariff.Wake())/time.Duration(n) - w.quickPrice) / 8
	}
	received := time.Now()
	now := clock.at(received)
	if hour != nil {
		t, err := hour.Result()
		switch {
		case err == nil:
			now = limiter.InstantOf(t)
			clock.observe(sent, received, now, short)
		case connect.Away(err):
			return n, nil, cost, err
		case connect.Code(err) == "NOPERM":
			w.timeless = connect.Remedy(err)
		}
	}
	for _, l := range due[:n] {
		r, came, err := l.Take(now)
		switch {
		case connect.Redirected(err):
			w.reads.Avoid(g.addr)
			l.moved = true // its slot is moving: the client finds it in the next round
		case err != nil:
			return n, nil, cost, err
		case came == look.Again:
			if f := l.Hit(); f != nil {
				l = w.replace(l, *f)
			}
			again = append(again, l)
			continue
		case came == look.Ready:
			if len(r.Arrivals) > 0 {
				w.stir(received)
			}
			if l.told && !l.hint && len(r.Arrivals) > 0 {
				w.subscriber.unheard(l.at)
			}
			l.due = received.Add(w.pause(l))
			*ready = append(*ready, r)
		}
		l.hint = false
	}
	if g.addr != "" && w.clock.rtt == 0 || g.addr != "" && g.addr == w.leader() {
		w.clock = *clock // the header shows one clock: that of the first node
	}
	return n, again, cost, nil
}

// ask adds the questions of the first looks of due to a pipeline of so many commands at most,
// and returns how many looks these are.
func (w *observer) ask(q *look.Query, due []*turn, most int) (n int) {
	for n < len(due) && (n == 0 || q.Ranges < rangesPerPipe && q.Pipe.Len() < most) {
		l := due[n]
		q.OnScreen = l.place > 0
		q.Quick = w.quick
		q.Whole = l.hint || !w.quick && (l.rank == onScreen && !w.strained || l.Looks%wholeEvery == 0)
		l.Ask(q)
		n++
	}
	return n
}

// leader is the node whose clock stands for the cluster's.
func (w *observer) leader() string {
	first := ""
	for addr := range w.nodes.clocks {
		if first == "" || strings.Compare(addr, first) < 0 {
			first = addr
		}
	}
	return first
}
