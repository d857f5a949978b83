package otellimit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"ratescope/limiter"
	"ratescope/limiter/otellimit"
)

func TestMetrics(t *testing.T) {
	reader := metric.NewManualReader()
	observer, err := otellimit.NewObserver(metric.NewMeterProvider(metric.WithReader(reader)).Meter("test"), "api")
	if err != nil {
		t.Fatal(err)
	}
	m, err := limiter.NewMemory(limiter.GCRA)
	if err != nil {
		t.Fatal(err)
	}
	l, err := limiter.Observe(m, observer.Observe)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := l.AllowN(context.Background(), "user:42", limiter.Limit{Count: 2, Window: time.Hour}, 1); err != nil {
			t.Fatal(err)
		}
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, one := range scope.Metrics {
			switch data := one.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					outcome, _ := p.Attributes.Value("outcome")
					got[one.Name+" "+outcome.AsString()] = p.Value
				}
			case metricdata.Histogram[float64]:
				got[one.Name] = int64(data.DataPoints[0].Count)
			}
		}
	}
	if len(got) != 3 || got["ratelimit.calls admitted"] != 2 || got["ratelimit.calls denied"] != 1 || got["ratelimit.call.duration"] != 3 {
		t.Errorf("%v", got)
	}
	if _, err := otellimit.NewObserver(nil, "api"); !errors.Is(err, limiter.ErrBadRequest) {
		t.Errorf("no meter: %v", err)
	}
}
