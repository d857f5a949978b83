package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/feed/decode"
	"ratescope/feed/track"
	"ratescope/internal/goroutine"
	"ratescope/limiter"
	"ratescope/limiter/layout"
	"ratescope/model"
	"ratescope/model/collect"
)

// Bounds of one pipeline and of one round.
const (
	rangesPerPipe   = 50
	commandsPerPipe = 400
	asksPerRound    = 24 // pipelines that one tracker may take part in
)

// restingEvery is the time between two attempts at a key that cannot be read: it is on a node
// of a cluster that is not watched, or this user may not read it.
const restingEvery = 5 * time.Second

// group holds the trackers whose keys are on one node, in the order in which they are read.
type group struct {
	addr string        // "" is the client as a whole
	node *redis.Client // nil for the client as a whole
	pipe func() redis.Pipeliner
	due  []*tracked

	again  []*tracked // trackers that need another pipeline in this round
	failed error
}

// groups sorts trackers by the node that holds their keys. There is one group unless the server is a cluster. Some libraries keep a
// counter for every window, each in a slot of its own; these trackers form the group of the client as a whole, which routes every
// command. waiting holds the outages of the nodes that are left out because they do not answer.
func (r *reader) groups(ctx context.Context, due []*tracked) (all []*group, waiting []*outage) {
	whole := &group{pipe: r.link.client.Pipeline, due: due}
	if !r.link.cluster {
		return []*group{whole}, nil
	}
	whole.due = nil
	byAddr := make(map[string]*group)
	for _, t := range due {
		if t.tracker.Scattered() || t.moved {
			t.moved = false
			whole.due = append(whole.due, t)
			continue
		}
		node, err := r.link.nodes.For(ctx, layout.DeniedKey(t.tracker.Name))
		if err != nil {
			whole.due = append(whole.due, t)
			continue
		}
		addr := node.Options().Addr
		g := byAddr[addr]
		if g == nil {
			g = &group{addr: addr, node: node, pipe: node.Pipeline}
			byAddr[addr] = g
		}
		g.due = append(g.due, t)
	}
	if len(whole.due) > 0 {
		all = append(all, whole)
	}
	for _, g := range byAddr {
		if o := r.link.outages[g.addr]; o != nil {
			if !o.over.Load() {
				o.trackers = max(o.trackers, len(g.due))
				waiting = append(waiting, o)
				continue
			}
			delete(r.link.outages, g.addr)
		}
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *group) int { return strings.Compare(a.addr, b.addr) })
	return all, waiting
}

// readAll reads the trackers in due, as far as the budget reaches, from all nodes at the same time, and adds their readings to ready.
// quick marks a round between two refreshes. It fails when no node answers.
func (r *reader) readAll(ctx context.Context, due []*tracked, quick bool, ready *[]model.Reading) error {
	if len(due) == 0 {
		return nil
	}
	groups, waiting := r.groups(ctx, due)
	spent := time.Duration(0)
	for pass := 0; pass < asksPerRound; pass++ {
		for {
			flights := r.depart(ctx, groups, quick, pass > 0, spent)
			if len(flights) == 0 {
				break
			}
			spent += r.land(ctx, flights, quick, ready)
		}
		left := false
		for _, g := range groups {
			g.due, g.again = g.again, nil // after the last pass the rest goes on in the next round
			left = left || len(g.due) > 0
		}
		if !left {
			break
		}
	}
	var lost error
	healthy := 0
	for _, g := range groups {
		switch {
		case g.failed == nil:
			healthy++
		case !r.link.cluster || errors.Is(g.failed, connect.ErrReadOnly) || ctx.Err() != nil:
			return g.failed
		default:
			lost = g.failed
			if g.node != nil {
				r.link.noteOutage(ctx, g.addr, g.node, r.link.keysAt(ctx, g.addr, r.limiters.trackers), g.failed)
			}
		}
	}
	if healthy == 0 && lost == nil && len(waiting) > 0 {
		lost = waiting[0].err
	}
	if healthy == 0 && !r.link.anyNodeAnswers() {
		return lost
	}
	return nil
}

// flight is one pipeline on its way.
type flight struct {
	group          *group
	query          *track.Query
	trackers       []*tracked
	commands       []int // of the pipeline, up to the end of each tracker's
	clock          *clock
	begun          *redis.TimeCmd // before the first tracker; nil where this user may not ask for TIME
	marks          []mark
	looks          int                    // questions whether others read a limiter
	listeners      *redis.MapStringIntCmd // of the channel of every ratescope; nil without such questions
	cmds           []redis.Cmder
	err            error
	sent, received time.Time
}

// mark is a TIME within a pipeline: the trackers before it, from the mark before, were read between the two.
// A server carries out commands as they come, so that over a slow link those of one pipeline are seconds apart.
type mark struct {
	time     *redis.TimeCmd
	trackers int // of the pipeline, up to this mark
}

// markEvery is after how many commands a pipeline has a mark: they fill about one packet.
const markEvery = 24

// farFlights is how many pipelines of a group are sent at once where the server is far, each over its own connection.
const farFlights = 3

// depart prepares a pipeline, or farFlights, for each group that has trackers due within the budget. Trackers on screen are read
// whatever the budget holds, and so are quick rounds and, with again, trackers that need another pipeline in this round.
func (r *reader) depart(ctx context.Context, groups []*group, quick, again bool, spent time.Duration) []*flight {
	s := &r.spending
	most := time.Duration(float64(min(s.since, time.Second)) * roundShare)
	var flights []*flight
	for _, g := range groups {
		if g.failed != nil || len(g.due) == 0 {
			continue
		}
		if !(quick || again || g.due[0].rank == onScreen || s.left > 0 && spent < most) {
			g.due = nil
			continue
		}
		most := collect.If(r.link.clockOf(g.addr).pipes() > 1, farFlights, 1)
		for n := 0; n < most && len(g.due) > 0; n++ {
			flights = append(flights, r.prepare(ctx, g, quick))
		}
	}
	return flights
}

// prepare builds the pipeline for the first trackers of a group.
func (r *reader) prepare(ctx context.Context, g *group, quick bool) *flight {
	f := &flight{group: g, clock: r.link.clockOf(g.addr), sent: time.Now()}
	f.query = &track.Query{
		Ctx: ctx, Pipe: g.pipe(), Now: f.clock.at(f.sent), Slots: r.link.cluster, Entries: track.EntriesFor(len(r.limiters.trackers)),
		Windows: &r.limiters.windows, Rules: r.limiters.rules, Inferred: &r.inferred, Denials: &r.link.denials, Beside: &r.link.others,
	}
	r.ask(ctx, f, quick)
	return f
}

// ask moves the first trackers that are due from the group to a pipeline, until it has commandsPerPipe, or several times
// as many where the server is far: at least one, unless none is due. TIME comes first, at each mark and last, so that
// no entry that was read is later than the reading.
func (r *reader) ask(ctx context.Context, f *flight, quick bool) {
	q, due, n := f.query, f.group.due, 0
	dated := r.link.noTime == "" && (f.group.node != nil || !r.link.cluster) // the client as a whole asks any node
	if dated {
		f.begun = q.Pipe.Time(ctx)
	}
	far := f.clock.pipes()
	for marked := q.Pipe.Len(); n < len(due) && (n == 0 || q.Ranges < far*rangesPerPipe && q.Pipe.Len() < far*commandsPerPipe); {
		t := due[n]
		q.OnScreen = t.place > 0
		q.Quick = quick
		q.Whole = t.woken || t.asked.full || !quick && (t.rank == onScreen && !r.spending.costs.Strained || t.tracker.Readings%wholeEvery == 0)
		r.lookAt(t, f)
		t.tracker.Ask(q)
		n++
		f.commands = append(f.commands, q.Pipe.Len())
		if dated && q.Pipe.Len()-marked >= markEvery {
			f.marks = append(f.marks, mark{q.Pipe.Time(ctx), n})
			marked = q.Pipe.Len()
		}
	}
	f.trackers, f.group.due = due[:n], due[n:]
	if last := len(f.marks) - 1; dated && (last < 0 || f.marks[last].trackers < n) {
		f.marks = append(f.marks, mark{q.Pipe.Time(ctx), n})
	}
}

// moments returns a function that is called for each tracker in turn, by its number. It returns when the tracker was read, by the
// server's clock, and how long that took at most. Where TIME was not asked, both are estimated by this machine's clock.
func (f *flight) moments() func(i int) (now limiter.Instant, spread time.Duration) {
	if f.begun == nil || f.begun.Err() != nil {
		now, spread := f.clock.at(f.received), max(f.received.Sub(f.sent)-f.clock.rtt(), 0)
		return func(int) (limiter.Instant, time.Duration) { return now, spread }
	}
	from, marks := f.begun.Val(), f.marks
	return func(i int) (limiter.Instant, time.Duration) {
		for ; i >= marks[0].trackers; marks = marks[1:] {
			from = marks[0].time.Val()
		}
		to := marks[0].time.Val()
		return limiter.InstantOf(to), to.Sub(from).Abs()
	}
}

// land sends the pipelines at the same time, takes their answers one after the other, and returns what they cost the server in all.
func (r *reader) land(ctx context.Context, flights []*flight, quick bool, ready *[]model.Reading) (price time.Duration) {
	limited, cancel := context.WithTimeout(ctx, r.link.answerLimit())
	defer cancel()
	goroutine.AtOnce(len(flights), func(i int) {
		f := flights[i]
		f.sent = time.Now()
		f.cmds, f.err = f.query.Pipe.Exec(limited)
		f.received = time.Now()
	})
	s := &r.spending
	for _, f := range flights {
		if errors.Is(f.err, connect.ErrReadOnly) {
			f.group.failed = f.err
			continue
		}
		cost := s.costs.Pipeline(f.cmds)
		if s.charge(cost); quick {
			s.quick += ((cost-s.costs.Wake())/time.Duration(len(f.trackers)) - s.quick) / 8
		}
		price += cost
		if err := r.settle(f, ready); err != nil {
			f.group.failed, f.group.due, f.group.again = err, nil, nil
		}
	}
	return price
}

// settle hands the answers of a pipeline to its trackers, and adds their readings to ready. It fails when the node is away.
func (r *reader) settle(f *flight, ready *[]model.Reading) error {
	if f.begun != nil {
		first, err := f.begun.Result()
		last, late := f.marks[len(f.marks)-1].time.Result()
		switch err = cmp.Or(err, late); {
		case err == nil:
			f.clock.observe(f.sent, f.received, first, last, !r.link.guard.Dialed().After(f.sent))
			// Over a slow link the answers take longer than the way, and as much fewer are asked for.
			n, most := f.clock.pipes(), 2*f.clock.rtt()+farTrip
			if took := f.received.Sub(f.sent); took > most {
				f.clock.far = max(int(time.Duration(n)*most/took), 1)
			} else {
				f.clock.far = min(2*n, mostPipes)
			}
		case connect.Away(err):
			return err
		case connect.Code(err) == "NOPERM":
			r.link.noTime = connect.Remedy(err)
			r.shared.noTime.Store(true)
		}
	}
	answered := false
	var lost error
	moments, from := f.moments(), 0
	for i, t := range f.trackers {
		commands := f.cmds[from:f.commands[i]]
		from = f.commands[i]
		reading, came, err := t.tracker.Take(moments(i))
		t.asked.read = f.received
		switch {
		case connect.Redirected(err) && !r.link.cluster:
			t.resting, t.due, answered = true, f.received.Add(restingEvery), true
			reading.Err = "is on another node of the cluster: add ?cluster=true to the URL"
			*ready = append(*ready, reading)
			continue
		case connect.Redirected(err):
			r.link.nodes.Avoid(f.group.addr)
			t.moved, answered = true, true // its slot has moved: the client routes it in the next round
		case err != nil && f.group.node == nil && r.link.cluster:
			lost = err // one of the nodes that the client asked is away
		case err != nil:
			return err
		case came == track.Again:
			if found := t.tracker.Hit(); found != nil {
				t = r.limiters.replace(t, *found)
			}
			f.group.again = append(f.group.again, t)
			answered = true
			continue
		default:
			answered, t.resting = true, false
			t.read, t.written = f.sent, false
			if t.tracker.Readings%wholeEvery == 1 {
				t.own = r.owns(t, commands)
			}
			if came == track.Ready {
				r.learnAccess(t, &reading, f)
				r.finish(t, &reading, f.received)
				*ready = append(*ready, reading)
			}
		}
		t.woken = false
	}
	if !answered {
		return cmp.Or(lost, f.err)
	}
	if f.group.addr != "" && (r.link.clock.rtt() == 0 || f.group.addr == r.link.leader()) {
		r.link.clock = *f.clock // the screen's header shows the clock of the first node
	}
	return nil
}

// owns reports whether all keys that commands read for a tracker are told to be its limiter's by their names, so that
// it is known when one of them is written.
func (r *reader) owns(t *tracked, commands []redis.Cmder) bool {
	now := r.link.now()
	return !slices.ContainsFunc(commands, func(c redis.Cmder) bool {
		keys := c.Args()[1:]
		switch {
		case c.Name() == "object" || c.Name() == "pubsub":
			return false
		case strings.HasPrefix(c.Name(), "eval"):
			keys = keys[2:3]
		case c.Name() != "mget" && c.Name() != "time":
			keys = keys[:1]
		}
		return slices.ContainsFunc(keys, func(k any) bool { return decode.NameOf(fmt.Sprint(k), now) != t.tracker.Name })
	})
}

// finish decides when a tracker is read next, after its reading at a moment.
func (r *reader) finish(t *tracked, reading *model.Reading, at time.Time) {
	if len(reading.Arrivals) > 0 {
		r.arrived()
	}
	t.due = at.Add(r.pause(t))
	if t.tracker.Refused {
		t.resting, t.due = true, at.Add(restingEvery)
	}
}
