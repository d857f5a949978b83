package metrics

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/crypto/bcrypt"

	"ratescope/feed"
	"ratescope/feed/relay"
	"ratescope/internal/file"
	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/safetext"
)

// Access says who may read the metrics, and how.
type Access struct {
	Cert, Key   string // files (PEM) of the certificate and its key; "" for both answers without TLS
	Users       string // file of users, one name:bcrypt a line, as htpasswd -B writes it; "" lets everyone read
	Connections int    // at once; 0 means DefaultConnections
}

// DefaultConnections bounds the open connections where --max-connections is not given.
const DefaultConnections = 64

// streams returns how many of the connections may be streams: a few are left to scrapers.
func (a Access) streams() int {
	most := a.connections()
	return max(most-spared, most/2, 1)
}

func (a Access) connections() int { return cmp.Or(max(a.Connections, 0), DefaultConnections) }

const (
	spared    = 8                     // connections that are no streams
	mostTries = 50                    // to find a place for a connection, a millisecond apart
	answering = 20 * time.Millisecond // in which what a handler wrote is sent; less than a connection tries
)

// Listen lets a listener speak TLS where a has a certificate. The error is one sentence.
func (a Access) Listen(l net.Listener) (net.Listener, error) {
	switch {
	case a.Cert == "" && a.Key == "":
		return l, nil
	case a.Cert == "" || a.Key == "":
		return nil, fmt.Errorf("a certificate and its key go together: give both --web-cert and --web-key")
	}
	var pair [2][]byte
	for i, name := range []string{a.Cert, a.Key} {
		text, err := file.Read(name)
		if err != nil {
			return nil, err
		}
		pair[i] = text
	}
	cert, err := tls.X509KeyPair(pair[0], pair[1])
	if err != nil {
		return nil, fmt.Errorf("%s and %s are no certificate and its key: %w", safetext.Clean(a.Cert), safetext.Clean(a.Key), err)
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}), nil
}

// readUsers reads a file of users, and returns the bcrypt of their passwords by their names; "" is none. The error is one sentence that
// names the line and no secret.
func readUsers(name string) (map[string][]byte, error) {
	if name == "" {
		return nil, nil
	}
	text, err := file.Read(name)
	if err != nil {
		return nil, err
	}
	list := map[string][]byte{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		user, hash, _ := strings.Cut(line, ":")
		if _, err := bcrypt.Cost([]byte(hash)); user == "" || err != nil {
			return nil, fmt.Errorf("%s:%d: this is no name:bcrypt: write it with htpasswd -nB NAME", safetext.Clean(name), n)
		}
		list[user] = []byte(hash)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no user: write one with htpasswd -nB NAME", safetext.Clean(name))
	}
	return list, nil
}

// Guard lets the users of a's file alone read what next answers. The error is one sentence.
func (a Access) Guard(next http.Handler) (http.Handler, error) {
	list, err := readUsers(a.Users)
	if err != nil || list == nil {
		return next, err
	}
	return &guard{users: list, next: next, guesses: make(chan struct{}, mostGuesses), right: map[string][sha256.Size]byte{}}, nil
}

// mostGuesses is how many passwords wait to be compared; further ones are refused without a look.
const mostGuesses = 4

// guard asks for a name and a password. A password that was right is remembered by its digest:
// bcrypt takes a good part of a second by design, and a scraper comes every few.
type guard struct {
	users   map[string][]byte // the bcrypt of their passwords, by name
	next    http.Handler
	guesses chan struct{} // holds one for each password that is compared or waits for it
	compare sync.Mutex    // one at a time: guesses wait for one another

	mu    sync.Mutex
	right map[string][sha256.Size]byte // by user
}

// noUser is the hash that a password is compared with when there is no such user, so that a name cannot be
// guessed by the time that the answer takes.
var noUser = []byte("$2a$10$7EqJtq98hPqEX7fNZaFWoOhi5VtuXJ1r0u3hUoXn1aOH6Qf9wZ2lK")

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	digest := sha256.Sum256([]byte(password))
	if !g.remembers(user, digest) {
		select {
		case g.guesses <- struct{}{}:
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many passwords are being tried: come again in a second", http.StatusTooManyRequests)
			return
		}
		right := g.admits(user, password, digest)
		<-g.guesses
		if !right {
			w.Header().Set("WWW-Authenticate", `Basic realm="ratescope", charset="UTF-8"`)
			http.Error(w, "a name and a password are needed", http.StatusUnauthorized)
			return
		}
	}
	g.next.ServeHTTP(w, r)
}

// remembers reports whether a password was right before.
func (g *guard) remembers(user string, digest [sha256.Size]byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	right, known := g.right[user]
	return known && subtle.ConstantTimeCompare(right[:], digest[:]) == 1
}

// admits compares a password, and remembers it if it is right.
func (g *guard) admits(user, password string, digest [sha256.Size]byte) bool {
	hash, known := g.users[user]
	if !known {
		hash = noUser
	}
	g.compare.Lock()
	defer g.compare.Unlock()
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil || !known {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.right[user] = digest
	return true
}

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
	collect.Put(&r.since, c, now)
	return true
}

// mark sets since when c waits, which may be later than now, if it has a place; the zero time is for one that is served.
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
// requests is handled and answered, and waits while it sends no request, half of one, or a body that is not read.
func (r *room) bound(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connection{}, c)
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		switch {
		case state == http.StateClosed:
			r.leave(c)
		case state == http.StateNew: // requests that are refused keep their places for a moment
			for tries := 0; !r.enter(c); tries++ {
				if <-time.After(time.Millisecond); tries == mostTries {
					go c.Close()
					break
				}
			}
		}
	}
	next := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		c := connectionOf(q)
		r.mark(c, time.Time{})
		defer func() { r.mark(c, time.Now().Add(answering)) }()
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

// index is the page that leads to the metrics.
const index = `<!doctype html>
<title>ratescope</title>
<h1>ratescope</h1>
<p>What the limiters that are watched hold, for Prometheus: <a href="metrics">metrics</a></p>
<p>The same for dashboards, as a stream: ratescope --from with the address of this page</p>
`

// Handler returns the pages: /, /metrics, /healthz, /readyz and the stream for dashboards. It answers requests
// for the hosts that are known alone; see knownHost.
func Handler(c *Collector) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", scrapes(promhttp.HandlerFor(c, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, index) // the client may be gone
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n") // the process answers
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := c.notReady(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
	mux.Handle("GET "+relay.Path, c.hub)
	known := knownHost(c.o.Hosts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !known(r.Host) {
			http.Error(w, fmt.Sprintf("the host %q is not one of this exporter: start it with --host to add it", safetext.Clean(r.Host)),
				http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// notReady returns why the figures are not those of now, or "".
func (c *Collector) notReady() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s := &c.board.Server; {
	case s.Link == model.Live:
		return ""
	case s.Err != "":
		return safetext.Sentence(s.Err)
	}
	return "the server has not answered yet"
}

// knownHost returns what tells whether a request for a host is answered: an address,
// localhost, the name of this machine, the names that are given, and names that no public server
// has: those of one word, and those of services in a cluster. A page that a browser
// shows can have the name of its own server resolve to this machine (DNS rebinding), and
// would read the names of the keys; it cannot choose another Host.
func knownHost(names []string) func(host string) bool {
	known := map[string]bool{}
	if name, err := os.Hostname(); err == nil {
		known[strings.ToLower(name)] = true
	}
	for _, name := range names {
		known[strings.ToLower(name)] = true
	}
	return func(host string) bool {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.ToLower(strings.TrimSuffix(host, "."))
		local := host != "" && !strings.Contains(host, ".") || strings.HasSuffix(host, ".svc") ||
			strings.HasSuffix(host, ".svc.cluster.local")
		return local || known[host] || net.ParseIP(strings.Trim(host, "[]")) != nil
	}
}

// farewell is how long requests under way may take when the server ends.
const farewell = 3 * time.Second

// Serve watches src and answers on listen, which it closes, until ctx ends; then it returns
// the error of ctx. Requests under way are answered first.
func Serve(ctx context.Context, src feed.Source, listen net.Listener, c *Collector) error {
	handler, err := c.o.Access.Guard(Handler(c))
	if err == nil {
		listen, err = c.o.Access.Listen(listen)
	}
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	(&room{most: c.o.Access.connections()}).bound(server)
	within, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	served := make(chan error, 1)
	go func() {
		err := server.Serve(listen)
		stop(err)
		served <- err
	}()
	err = src.Run(within, c.Put)
	c.hub.Close()
	bye, done := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer done()
	if server.Shutdown(bye) != nil {
		server.Close()
	}
	if failed := <-served; !errors.Is(failed, http.ErrServerClosed) && err == nil {
		err = fmt.Errorf("the metrics cannot be served any longer: %w", failed)
	}
	return cmp.Or(err, ctx.Err())
}
