package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"ratescope/feed/metrics"
	"ratescope/limiter"
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
// asks for it.
func BenchmarkScrape(b *testing.B) {
	var readings []model.Reading
	for i := range 10_000 {
		readings = append(readings, log(fmt.Sprint("rl:tenant:", i), i%100, 100))
	}
	c := collector(metrics.Options{MaxKeys: 10_000}, model.Live, readings...)
	for _, bench := range []struct {
		name, encoding string
		handler        http.Handler
	}{
		{"plain", "", metrics.Handler(c)}, {"gzip", "gzip", metrics.Handler(c)},
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

// BenchmarkHeld measures what a collector holds of 10,000 keys after 15 of their windows, in bytes
// a key: most of it is their past.
func BenchmarkHeld(b *testing.B) {
	for b.Loop() {
		c := metrics.New(metrics.Options{MaxKeys: 10_000})
		before := heap()
		for i := range 60 {
			at := limiter.InstantOf(dawn).Add(time.Duration(i) * 15 * time.Second)
			readings := make([]model.Reading, 10_000)
			for k := range readings {
				readings[k] = log(fmt.Sprint("rl:tenant:", k), k%100, 100)
				readings[k].At, readings[k].Since = at, at.Add(-15*time.Second)
				readings[k].Arrivals = []model.Arrival{{At: at, N: 1}}
			}
			c.Put(model.Batch{At: at, Local: at.Time(), Server: model.Server{Link: model.Live}, Readings: readings})
		}
		b.ReportMetric(float64(heap()-before)/10_000, "bytes/key")
		runtime.KeepAlive(c)
	}
}

// heap returns how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
