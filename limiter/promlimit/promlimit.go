// Package promlimit reports limiters to Prometheus: their calls, what a breaker did, what a
// middleware decided, and how many keys a Memory holds. It is a module of its own, so that the
// limiter needs no third party.
//
//	calls, err := promlimit.NewObserver(prometheus.DefaultRegisterer, "api")
//	l, err := limiter.Observe(store, calls.Observe)
//
// A key is no label: there are too many of them. To see keys there is ratescope export.
package promlimit

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"ratescope/limiter"
	"ratescope/limiter/httplimit"
)

// Observer counts the calls of a limiter by their outcome, and how long they take:
// ratelimit_calls_total{limiter, verb, outcome} and ratelimit_call_seconds{limiter, verb}.
// Outcomes are those of limiter.Event. It may be used by many goroutines.
type Observer struct {
	calls *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// NewObserver registers the metrics of the limiter with a name, for limiter.Observe.
func NewObserver(r prometheus.Registerer, name string) (*Observer, error) {
	labels := prometheus.Labels{"limiter": name}
	o := &Observer{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratelimit_calls_total", Help: "Calls of a limiter by verb and outcome.", ConstLabels: labels,
		}, []string{"verb", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ratelimit_call_seconds", Help: "How long a call of a limiter takes.", ConstLabels: labels,
			Buckets: []float64{.00001, .0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1},
		}, []string{"verb"}),
	}
	return o, register(r, name, o.calls, o.took)
}

// Observe takes note of a call, for limiter.Observe.
func (o *Observer) Observe(_ context.Context, e limiter.Event) {
	o.calls.WithLabelValues(e.Verb, e.Outcome()).Inc()
	o.took.WithLabelValues(e.Verb).Observe(e.Took.Seconds())
}

// reading is a metric that is read of a C when Prometheus asks: a counter if its name ends in _total, else a gauge.
type reading[C any] struct {
	name, help string
	value      func(C) int64
}

// RegisterBreaker reports what a breaker did, and whether its store is away.
func RegisterBreaker(r prometheus.Registerer, name string, b *limiter.Breaker) error {
	if b == nil {
		return fmt.Errorf("%w: the breaker is nil", limiter.ErrBadRequest)
	}
	return readings(r, name, b.Counts, []reading[limiter.BreakerCounts]{
		{"ratelimit_breaker_away", "Whether the store is not asked: 1 is away.", func(limiter.BreakerCounts) int64 {
			if b.Away() {
				return 1
			}
			return 0
		}},
		{"ratelimit_breaker_asked_total", "Calls of the limiter, probes among them.", func(c limiter.BreakerCounts) int64 { return c.Asked }},
		{"ratelimit_breaker_failed_total", "Calls of the limiter that failed or came too late.",
			func(c limiter.BreakerCounts) int64 { return c.Failed }},
		{"ratelimit_breaker_skipped_total", "Calls that were not made because the store was away.",
			func(c limiter.BreakerCounts) int64 { return c.Skipped }},
		{"ratelimit_breaker_fell_back_total", "Decisions of the fallback.", func(c limiter.BreakerCounts) int64 { return c.FellBack }},
		{"ratelimit_breaker_opened_total", "How often the store went away.", func(c limiter.BreakerCounts) int64 { return c.Opened }},
	})
}

// RegisterHTTP reports what a httplimit.Middleware or httplimit.Transport did, of which Counts
// is the method.
func RegisterHTTP(r prometheus.Registerer, name string, counts func() httplimit.Counts) error {
	if counts == nil {
		return fmt.Errorf("%w: there is nothing to count: pass the method Counts of a Middleware", limiter.ErrBadRequest)
	}
	return readings(r, name, counts, []reading[httplimit.Counts]{
		{"ratelimit_http_admitted_total", "Requests that were admitted.", func(c httplimit.Counts) int64 { return c.Admitted }},
		{"ratelimit_http_denied_total", "Requests that were denied.", func(c httplimit.Counts) int64 { return c.Denied }},
		{"ratelimit_http_failed_open_total", "Requests let through without a decision.", func(c httplimit.Counts) int64 { return c.FailedOpen }},
		{"ratelimit_http_failed_closed_total", "Requests turned away without a decision.",
			func(c httplimit.Counts) int64 { return c.FailedClosed }},
		{"ratelimit_http_failed_over_total", "Requests that the fallback decided about.", func(c httplimit.Counts) int64 { return c.FailedOver }},
		{"ratelimit_http_gave_up_total", "Requests whose context ended before a decision.", func(c httplimit.Counts) int64 { return c.GaveUp }},
		{"ratelimit_http_skipped_total", "Requests for which the store was not asked because it was away.",
			func(c httplimit.Counts) int64 { return c.Skipped }},
	})
}

// RegisterMemory reports how many keys a Memory holds, and how many WithMaxKeys evicted.
func RegisterMemory(r prometheus.Registerer, name string, m *limiter.Memory) error {
	if m == nil {
		return fmt.Errorf("%w: the Memory is nil", limiter.ErrBadRequest)
	}
	return readings(r, name, func() *limiter.Memory { return m }, []reading[*limiter.Memory]{
		{"ratelimit_memory_keys", "Keys that are held, some of which may be as new.", func(m *limiter.Memory) int64 { return int64(m.Len()) }},
		{"ratelimit_memory_evicted_total", "Keys that went before they were as new.", (*limiter.Memory).Evicted},
	})
}

func readings[C any](r prometheus.Registerer, name string, of func() C, all []reading[C]) error {
	var collectors []prometheus.Collector
	for _, one := range all {
		opts := prometheus.Opts{Name: one.name, Help: one.help, ConstLabels: prometheus.Labels{"limiter": name}}
		value := func() float64 { return float64(one.value(of())) }
		if strings.HasSuffix(one.name, "_total") {
			collectors = append(collectors, prometheus.NewCounterFunc(prometheus.CounterOpts(opts), value))
		} else {
			collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts(opts), value))
		}
	}
	return register(r, name, collectors...)
}

// register registers all collectors, or none.
func register(r prometheus.Registerer, name string, all ...prometheus.Collector) error {
	if r == nil {
		return fmt.Errorf("%w: there is no registry: pass prometheus.DefaultRegisterer", limiter.ErrBadRequest)
	}
	for i, c := range all {
		if err := r.Register(c); err != nil {
			for _, done := range all[:i] {
				r.Unregister(done)
			}
			return fmt.Errorf("the metrics of the limiter %q: %w: give each limiter a name of its own", name, err)
		}
	}
	return nil
}
