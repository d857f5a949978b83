package metrics

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// room bounds the connections that have a place at once. Where it is full, the one that has waited for
// longest makes way for a new one, so that connections which say nothing keep none out. It is safe for
// concurrent use.
type room struct {
	most int
	rest time.Duration // how long a connection keeps its place for certain

	mu    sync.Mutex
	since map[net.Conn]time.Time // when each began to wait; the zero time while it is served
}

// enter gives c a place, and reports whether there was one to give.
func (r *room) enter(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if len(r.since) >= r.most {
		var oldest net.Conn
		for other, since := range r.since {
			if !since.IsZero() && now.Sub(since) >= r.rest && (oldest == nil || since.Before(r.since[oldest])) {
				oldest = other
			}
		}
		if oldest == nil {
			return false
		}
		delete(r.since, oldest)
		go oldest.Close() // with TLS it may wait for the other side
	}
	if r.since == nil {
		r.since = map[net.Conn]time.Time{}
	}
	r.since[c] = now
	return true
}

// mark sets since when c waits, if it has a place; the zero time is for one that is served.
func (r *room) mark(c net.Conn, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, in := r.since[c]; in {
		r.since[c] = since
	}
}

// leave gives up the place of c, if it has one.
func (r *room) leave(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.since, c)
}

// connection is the key under which the context of a request has its net.Conn.
type connection struct{}

func connectionOf(r *http.Request) net.Conn {
	c, _ := r.Context().Value(connection{}).(net.Conn)
	return c
}

// bound limits the connections of a server to the places of r. A connection is served while one of its
// requests is handled, and waits while it sends no request, half of one, or a body that is not read.
func (r *room) bound(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connection{}, c)
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		switch {
		case state == http.StateClosed:
			r.leave(c)
		case state == http.StateNew && !r.enter(c):
			go c.Close()
		}
	}
	next := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		c := connectionOf(q)
		r.mark(c, time.Time{})
		defer func() { r.mark(c, time.Now()) }()
		next.ServeHTTP(w, q)
	})
}

// scrapes hands requests for the page to next, a few at once: each holds a page of every key in memory.
// One that is not read for a second makes way for another.
func scrapes(next http.Handler) http.Handler {
	r := &room{most: 4, rest: time.Second}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		c := connectionOf(q)
		if !r.enter(c) {
			http.Error(w, "other scrapes are under way: scrape less often", http.StatusServiceUnavailable)
			return
		}
		defer r.leave(c)
		next.ServeHTTP(w, q)
	})
}
