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
	perMinute = 30  // alerts of one rule that begin in a minute and are delivered; the rest are counted
	mostHeld  = 200 // alerts of one rule that wait to be delivered
)

// Queue delivers alerts in the background, those of one rule in their order. Make one with
// NewQueue. It is safe for concurrent use.
type Queue struct {
	ctx    context.Context
	cancel context.CancelFunc
	failed func(error) // gets what could not be delivered, one sentence each
	now    func() time.Time
	all    sync.WaitGroup

	mu     sync.Mutex
	routes map[string]Route // by rule
	lines  map[string]*line
	closed bool
}

// line is the alerts of one rule.
type line struct {
	held      chan report.Alert
	sent      map[string]bool // keys whose beginning was delivered, so that their end is, too
	began     time.Time       // of the minute
	n         int             // that began in it
	truncated bool            // that some of them are not delivered
}

// NewQueue returns a queue. failed may be called from any goroutine; now is nil for time.Now.
func NewQueue(routes map[string]Route, failed func(error), now func() time.Time) *Queue {
	if now == nil {
		now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Queue{ctx: ctx, cancel: cancel, failed: failed, now: now, routes: routes, lines: map[string]*line{}}
}

// SetRoutes puts other routes in place.
func (q *Queue) SetRoutes(routes map[string]Route) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.routes = routes
}

// Put takes an alert. It never blocks.
func (q *Queue) Put(a report.Alert) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	l := q.lines[a.Alert]
	if l == nil {
		l = &line{held: make(chan report.Alert, mostHeld), sent: map[string]bool{}}
		q.lines[a.Alert] = l
		q.all.Go(func() { q.work(l) })
	}
	if deliver, why := l.admits(a, q.now()); !deliver {
		if why != nil {
			q.failed(why)
		}
		return
	}
	select {
	case l.held <- a:
	default:
		q.failed(fmt.Errorf("the alert %s is not delivered: %d wait already, because its receiver is slow", a.Alert, mostHeld))
	}
}

// admits counts an alert, and reports whether it is delivered. why is nil where that was
// said before, and for the end of an alert whose beginning was not delivered.
func (l *line) admits(a report.Alert, now time.Time) (deliver bool, why error) {
	key := ""
	if a.Key != nil {
		key = string(*a.Key)
	}
	if a.State == report.Resolved {
		deliver = l.sent[key]
		delete(l.sent, key)
		return deliver, nil
	}
	if now.Sub(l.began) >= time.Minute || now.Before(l.began) {
		l.began, l.n, l.truncated = now, 0, false
	}
	if l.n < perMinute {
		l.n++
		l.sent[key] = true
		return true, nil
	}
	if !l.truncated {
		l.truncated = true
		why = fmt.Errorf("the alert %s began %d times within a minute: further ones are not delivered before %s", a.Alert, perMinute, l.began.Add(time.Minute).Format(time.TimeOnly))
	}
	return false, why
}

// work delivers the alerts of one rule.
func (q *Queue) work(l *line) {
	for a := range l.held {
		q.mu.Lock()
		route := q.routes[a.Alert]
		q.mu.Unlock()
		if err := panics.Call(func() error { return route.Deliver(q.ctx, a) }); err != nil {
			q.failed(fmt.Errorf("the alert %s was not delivered: %w", a.Alert, err))
		}
	}
}

// Close delivers what waits, for at most the time that ctx leaves, and ends the queue.
func (q *Queue) Close(ctx context.Context) {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		for _, l := range q.lines {
			close(l.held)
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
}
