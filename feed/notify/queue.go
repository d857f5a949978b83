package notify

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ratescope/internal/panics"
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
		l = newLine()
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
			_ = panics.Call(func() error { return route.run(q.ctx, a, q.told) }) // it is told
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
				_ = panics.Call(func() error { return route.post(q.ctx, a, q.told) }) // it is told
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
