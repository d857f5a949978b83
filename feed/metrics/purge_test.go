package metrics

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ratescope/model"
)

// TestKeysThatJustCameKeepTheirCounts although so many left that the counts of those are forgotten.
func TestKeysThatJustCameKeepTheirCounts(t *testing.T) {
	c := New(Options{Now: time.Now})
	for i := range mostCounted - 1 {
		c.counts[fmt.Sprint("left:", i)] = &counted{admitted: 1}
	}
	x := model.Reading{Key: "rl:x", At: 1, Arrivals: []model.Arrival{{At: 1, N: 7}}}
	c.take(model.Batch{At: 1, Server: model.Server{Link: model.Live}, Readings: []model.Reading{x, {Key: "rl:y", At: 1}}})
	if len(c.counts) != 2 || c.counts["rl:x"].admitted != 7 {
		t.Errorf("it counts of %d keys", len(c.counts))
	}
	w := httptest.NewRecorder()
	Handler(c).ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/metrics", nil))
	if !strings.Contains(w.Body.String(), `ratescope_admitted_total{`) {
		t.Error(w.Body)
	}
}
