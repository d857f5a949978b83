// Package otellimit reports the calls of a limiter to OpenTelemetry. It is a module of its own,
// so that the limiter needs no third party.
//
//	calls, err := otellimit.NewObserver(otel.Meter("example.com/api"), "api")
//	l, err := limiter.Observe(store, calls.Observe)
//
// A key is no attribute: there are too many of them.
package otellimit

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"ratescope/limiter"
)

// Observer records ratelimit.calls, with the attributes limiter, verb and outcome, and
// ratelimit.call.duration in seconds, with limiter and verb. Outcomes are those of
// limiter.Event. It may be used by many goroutines.
type Observer struct {
	name  attribute.KeyValue
	calls metric.Int64Counter
	took  metric.Float64Histogram
}

// NewObserver makes the instruments of the limiter with a name, for limiter.Observe.
func NewObserver(m metric.Meter, name string) (*Observer, error) {
	if m == nil {
		return nil, fmt.Errorf("%w: there is no meter: pass one of otel.Meter", limiter.ErrBadRequest)
	}
	o := &Observer{name: attribute.String("limiter", name)}
	var err error
	if o.calls, err = m.Int64Counter("ratelimit.calls", metric.WithDescription("Calls of a limiter by verb and outcome."),
		metric.WithUnit("{call}")); err != nil {
		return nil, err
	}
	o.took, err = m.Float64Histogram("ratelimit.call.duration", metric.WithDescription("How long a call of a limiter takes."),
		metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(.00001, .0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1))
	return o, err
}

// Observe takes note of a call, for limiter.Observe.
func (o *Observer) Observe(ctx context.Context, e limiter.Event) {
	verb := attribute.String("verb", e.Verb)
	o.calls.Add(ctx, 1, metric.WithAttributes(o.name, verb, attribute.String("outcome", e.Outcome())))
	o.took.Record(ctx, e.Took.Seconds(), metric.WithAttributes(o.name, verb))
}
