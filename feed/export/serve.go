package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ratescope/feed"
	"ratescope/limiter"
)

// seconds is a wait; limiter.Never is for ever.
func seconds(d time.Duration) float64 {
	if d == limiter.Never {
		return math.Inf(1)
	}
	return d.Seconds()
}

// index is the page that leads to the metrics.
const index = `<!doctype html>
<title>ratescope</title>
<h1>ratescope</h1>
<p>What the limiters that are watched hold, for Prometheus: <a href="metrics">metrics</a></p>
`

// Handler returns the pages: / and /metrics.
func Handler(c *Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, index) // whoever asked may be gone
	})
	return mux
}

// farewell is how long requests under way may take when the server ends.
const farewell = 3 * time.Second

// Serve watches src and answers on listen, which it closes, until ctx ends; then it returns
// the error of ctx. Requests under way are answered first.
func Serve(ctx context.Context, src feed.Source, listen net.Listener, c *Collector) error {
	server := &http.Server{
		Handler: Handler(c), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	within, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	served := make(chan error, 1)
	go func() {
		err := server.Serve(listen)
		stop(err)
		served <- err
	}()
	err := src.Run(within, c.Put)
	bye, done := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer done()
	if server.Shutdown(bye) != nil {
		server.Close()
	}
	if failed := <-served; !errors.Is(failed, http.ErrServerClosed) && err == nil {
		err = fmt.Errorf("the metrics cannot be served any longer: %w", failed)
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}
