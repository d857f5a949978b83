package promlimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ratescope/limiter"
	"ratescope/limiter/httplimit"
	"ratescope/limiter/promlimit"
)

type refusing struct{ limiter.Limiter }

func (refusing) AllowN(context.Context, string, limiter.Limit, int64) (limiter.Decision, error) {
	return limiter.Decision{}, errors.New("connection refused")
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := limiter.NewMemory(limiter.GCRA)
	if err != nil {
		t.Fatal(err)
	}
	observer, err := promlimit.NewObserver(registry, "api")
	if err != nil {
		t.Fatal(err)
	}
	l, err := limiter.Observe(m, observer.Observe)
	if err != nil {
		t.Fatal(err)
	}
	b, err := limiter.NewBreaker(limiter.BreakerConfig{Limiter: refusing{m}, Failures: 1, Probe: time.Hour, Fallback: l})
	if err != nil {
		t.Fatal(err)
	}
	limit := limiter.Limit{Count: 2, Window: time.Hour}
	h, err := httplimit.New(httplimit.Config{Limiter: b, Limit: limit, OnFailure: httplimit.FailClosed})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{promlimit.RegisterBreaker(registry, "api", b), promlimit.RegisterHTTP(registry, "api", h.Counts), promlimit.RegisterMemory(registry, "api", m)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	handler := h.Handler(http.NotFoundHandler())
	for range 3 {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}
	want := `
# HELP ratelimit_calls_total Calls of a limiter by verb and outcome.
# TYPE ratelimit_calls_total counter
ratelimit_calls_total{limiter="api",outcome="admitted",verb="allow"} 2
ratelimit_calls_total{limiter="api",outcome="denied",verb="allow"} 1
# HELP ratelimit_breaker_away Whether the store is not asked: 1 is away.
# TYPE ratelimit_breaker_away gauge
ratelimit_breaker_away{limiter="api"} 1
# HELP ratelimit_breaker_skipped_total Calls that were not made because the store was away.
# TYPE ratelimit_breaker_skipped_total counter
ratelimit_breaker_skipped_total{limiter="api"} 2
# HELP ratelimit_http_denied_total Requests that were denied.
# TYPE ratelimit_http_denied_total counter
ratelimit_http_denied_total{limiter="api"} 1
# HELP ratelimit_memory_keys Keys that are held, some of which may be as new.
# TYPE ratelimit_memory_keys gauge
ratelimit_memory_keys{limiter="api"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "ratelimit_calls_total", "ratelimit_breaker_away",
		"ratelimit_breaker_skipped_total", "ratelimit_http_denied_total", "ratelimit_memory_keys"); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// TestOneNameOnce: a second limiter of one name is an error, and leaves nothing behind.
func TestOneNameOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := promlimit.NewObserver(registry, "api"); err != nil {
		t.Fatal(err)
	}
	if _, err := promlimit.NewObserver(registry, "api"); err == nil || !strings.Contains(err.Error(), "name of its own") {
		t.Errorf("a name twice: %v", err)
	}
	if _, err := promlimit.NewObserver(registry, "admin"); err != nil {
		t.Errorf("another name: %v", err)
	}
	for _, err := range []error{promlimit.RegisterBreaker(registry, "x", nil), promlimit.RegisterHTTP(registry, "x", nil), promlimit.RegisterMemory(registry, "x", nil)} {
		if !errors.Is(err, limiter.ErrBadRequest) {
			t.Error(err)
		}
	}
}
