package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ratescope/feed"
	"ratescope/feed/relay"
	"ratescope/model"
	"ratescope/model/safetext"
)

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
		local := host != "" && !strings.Contains(host, ".") || strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".svc.cluster.local")
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
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
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
