package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ratescope/feed/metrics"
	"ratescope/model"
)

// counting is a client that reads as fast as it can.
type counting struct {
	head http.Header
	n    int
}

func (c *counting) Header() http.Header         { return c.head }
func (c *counting) WriteHeader(int)             {}
func (c *counting) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

// BenchmarkScrape reads the page with series of 10,000 keys, plain and compressed as Prometheus
// asks for it, and beside it the same collector behind a registry, which sorts and checks every
// series.
func BenchmarkScrape(b *testing.B) {
	var readings []model.Reading
	for i := range 10_000 {
		readings = append(readings, log(fmt.Sprint("rl:tenant:", i), i%100, 100))
	}
	c := collector(metrics.Options{MaxKeys: 10_000}, model.Live, readings...)
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	for _, bench := range []struct {
		name, encoding string
		handler        http.Handler
	}{
		{"plain", "", metrics.Handler(c)}, {"gzip", "gzip", metrics.Handler(c)},
		{"registry", "", promhttp.HandlerFor(registry, promhttp.HandlerOpts{})},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/metrics", nil)
			r.Host = "localhost"
			r.Header.Set("Accept-Encoding", bench.encoding)
			b.ReportAllocs()
			for b.Loop() {
				w := &counting{head: http.Header{}}
				bench.handler.ServeHTTP(w, r)
				b.ReportMetric(float64(w.n), "bytes/page")
			}
		})
	}
}
