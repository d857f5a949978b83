package notify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"ratescope/internal/goroutine"
	"ratescope/model/handoff"
	"ratescope/model/report"
)

// Bounds of a Queue.
const (
	together  = 5 * time.Second // what begins or ends within it is one POST
	perMinute = 30              // commands of one rule for alerts that begin in a minute; the rest are counted
	mostHeld  = 200             // commands of one rule that wait to be run
)

// Queue delivers alerts in the background, those of one rule in their order. Make one with
// NewQueue. It is safe for concurrent use.
type Queue struct {
	ctx    context.Context
	cancel context.CancelFunc
	told   func(report.Delivery)
	all    sync.WaitGroup // what ends when all is delivered

	running sync.WaitGroup // what ends with ctx

	mu       sync.Mutex
	routes   map[string]Route // by rule
	lines    map[string]*line
	managers map[string]*manager // by URL
	closed   bool
}

// NewQueue returns a queue. told gets what became of each delivery; it may be called from any goroutine.
func NewQueue(routes map[string]Route, told func(report.Delivery)) *Queue {
	ctx, cancel := context.WithCancel(context.Background())
	return &Queue{ctx: ctx, cancel: cancel, told: told, routes: routes, lines: map[string]*line{}, managers: map[string]*manager{}}
}

// SetRoutes puts other routes in place. What an Alertmanager was told of goes to the one that replaces it.
func (q *Queue) SetRoutes(routes map[string]Route) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.routes = routes
	var moved []report.Alert
	for url, m := range q.managers {
		moved = append(moved, m.keep(func(rule string) bool { return routes[rule].Alertmanager == url })...)
	}
	for _, a := range moved {
		q.manage(a)
	}
}

// Put takes an alert. It never blocks.
func (q *Queue) Put(a report.Alert) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.manage(a)
	route := q.routes[a.Alert]
	if route.Webhook == nil && len(route.Command) == 0 {
		return
	}
	l := q.lines[a.Alert]
	if l == nil {
		l = &line{commands: make(chan report.Alert, mostHeld), ran: map[string]bool{}, wake: handoff.NewSignal(), open: map[string]string{}}
		q.lines[a.Alert] = l
		q.all.Go(func() { q.run(l) })
		q.all.Go(func() { q.post(l) })
	}
	if route.Webhook != nil {
		l.join(a, time.Now())
	}
	if len(route.Command) == 0 {
		return
	}
	run, why := l.admits(a, time.Now())
	if run {
		select {
		case l.commands <- a:
		default:
			why = fmt.Errorf("%d wait already, because it is slow", mostHeld)
		}
	}
	if why != nil {
		q.told(delivery(a, "its command", report.Failed, why))
	}
}

// manage hands an alert to the Alertmanager of its rule. q.mu is held.
func (q *Queue) manage(a report.Alert) {
	url := q.routes[a.Alert].Alertmanager
	if url == "" || q.closed {
		return
	}
	m := q.managers[url]
	if m == nil {
		m = newManager(url, q.told)
		q.managers[url] = m
		q.running.Go(func() { m.run(q.ctx) })
	}
	m.put(a)
}

// run runs the commands of one rule.
func (q *Queue) run(l *line) {
	for a := range l.commands {
		q.mu.Lock()
		route := q.routes[a.Alert]
		q.mu.Unlock()
		if len(route.Command) > 0 {
			_ = goroutine.Call(func() error { return route.run(q.ctx, a, q.told) }) // it is told
		}
	}
}

// post sends what one rule has for its webhook.
func (q *Queue) post(l *line) {
	timer := time.NewTimer(together)
	defer timer.Stop()
	for {
		q.mu.Lock()
		g, wait := l.due(time.Now(), q.closed)
		over := q.closed && g == nil
		var route Route
		if g != nil {
			route = q.routes[g.alerts[0].Alert]
		}
		q.mu.Unlock()
		switch {
		case over:
			return
		case g == nil:
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-l.wake:
			}
		case route.Webhook != nil:
			for _, a := range l.posts(g) {
				_ = goroutine.Call(func() error { return route.post(q.ctx, a, q.told) }) // it is told
			}
		}
	}
}

// Close delivers what waits, for at most the time that ctx leaves, and ends the queue.
func (q *Queue) Close(ctx context.Context) {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		for _, l := range q.lines {
			close(l.commands)
			l.wake.Send()
		}
	}
	q.mu.Unlock()
	done := make(chan struct{})
	go func() { q.all.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	q.cancel()
	<-done
	q.running.Wait()
	for _, m := range q.managers {
		_ = m.send(ctx, false, true) // it is told
	}
}

// line is the alerts of one rule that are to be delivered. It is not safe for concurrent use.
type line struct {
	commands chan report.Alert
	ran      map[string]bool // keys for whose beginning the command was run, so that it is for their end, too
	began    time.Time       // of the minute
	n        int             // that began in it
	told     bool            // that the command is not run for some of them

	groups []*group          // the oldest first
	wake   handoff.Signal    // there is a group to look at
	open   map[string]string // of each alert whose beginning was sent, by its Dedup: the Dedup under which it was
}

// group is what begins or ends together at one server.
type group struct {
	alerts []report.Alert
	in     map[string]bool // by Dedup
	due    time.Time
}

// join adds an alert to a group that waits, or begins one.
func (l *line) join(a report.Alert, now time.Time) {
	var fits *group
	for _, g := range l.groups {
		switch first := &g.alerts[0]; {
		case g.in[a.Dedup]: // it has changed again: what it was before is sent before it
			for _, g := range l.groups {
				g.due = now
			}
			fits = nil
		case first.State == a.State && first.Server == a.Server && g.due.After(now):
			fits = g
		}
	}
	if fits == nil || !fits.due.After(now) {
		fits = &group{in: map[string]bool{}, due: now.Add(together)}
		l.groups = append(l.groups, fits)
	}
	fits.alerts = append(fits.alerts, a)
	fits.in[a.Dedup] = true
	l.wake.Send()
}

// due takes the first group that is due, or that there is where closing says so; else it returns how long
// there will be none.
func (l *line) due(now time.Time, closing bool) (*group, time.Duration) {
	wait := together
	for i, g := range l.groups {
		if closing || !g.due.After(now) {
			l.groups = slices.Delete(l.groups, i, i+1)
			return g, 0
		}
		wait = min(wait, g.due.Sub(now))
	}
	return nil, wait
}

// posts returns the posts about a group. That is one for what begins, and one for what ends, unless it began
// in several: each of these ends as well, when the last of its keys does. It belongs to one goroutine.
func (l *line) posts(g *group) []report.Alert {
	if g.alerts[0].State == report.Firing {
		post := report.Joined(g.alerts)
		for id := range g.in {
			l.open[id] = post.Dedup
		}
		return []report.Alert{post}
	}
	ends := map[string][]report.Alert{} // by the Dedup under which they began
	for _, a := range g.alerts {
		if under, began := l.open[a.Dedup]; began {
			ends[under] = append(ends[under], a)
			delete(l.open, a.Dedup)
		}
	}
	still := map[string]bool{}
	for _, under := range l.open {
		still[under] = true
	}
	var posts []report.Alert
	for _, under := range slices.Sorted(maps.Keys(ends)) {
		post := report.Joined(ends[under])
		switch {
		case !still[under]:
			post.Dedup = under
		case post.Dedup == under: // others go on under the Dedup of one that ends
			post.Dedup += "-part"
		}
		posts = append(posts, post)
	}
	return posts
}

// admits counts an alert for which the command would be run, and reports whether it is. why is nil where that
// was said before, and for the end of an alert for whose beginning it was not run.
func (l *line) admits(a report.Alert, now time.Time) (run bool, why error) {
	if a.State == report.Resolved {
		run = l.ran[a.Dedup]
		delete(l.ran, a.Dedup)
		return run, nil
	}
	if now.Sub(l.began) >= time.Minute || now.Before(l.began) {
		l.began, l.n, l.told = now, 0, false
	}
	if l.n < perMinute {
		l.n++
		l.ran[a.Dedup] = true
		return true, nil
	}
	if !l.told {
		l.told = true
		why = fmt.Errorf("it began %d times within a minute: it is not run for further ones before %s", perMinute,
			l.began.Add(time.Minute).Format(time.TimeOnly))
	}
	return false, why
}
