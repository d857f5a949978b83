package metrics_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"ratescope/feed/metrics"
	"ratescope/model"
)

// BenchmarkScrape reads the page with series of 10,000 keys.
func BenchmarkScrape(b *testing.B) {
	var readings []model.Reading
	for i := range 10_000 {
		readings = append(readings, log(fmt.Sprint("rl:tenant:", i), i%100, 100))
	}
	h := metrics.Handler(collector(metrics.Options{MaxKeys: 10_000}, model.Live, readings...))
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		b.ReportMetric(float64(w.Body.Len()), "bytes/page")
	}
}
