package metrics_test

import (
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"ratescope/feed/metrics"
	"ratescope/limiter"
	"ratescope/limiter/convention"
	"ratescope/model"
)

// TestCountersNeverFall: what is admitted and denied after the exporter began is counted once, through a source
// that begins anew and a key that leaves and comes back; denials that are not recorded have no series, nor has a log in which denied
// requests stand among the admitted.
func TestCountersNeverFall(t *testing.T) {
	c := metrics.New(metrics.Options{Now: func() time.Time { return dawn }})
	begin := limiter.InstantOf(dawn)
	put := func(after time.Duration, since bool, gone []string, arrivals ...model.Arrival) {
		r := log("rl:a", 1, 100)
		r.At = begin.Add(after)
		if since {
			r.Since = r.At.Add(-time.Second)
		}
		r.Denied = model.Count{Known: true}
		r.Arrivals = arrivals
		mixed := log("rl:c", 1, 100)
		mixed.Arrivals, mixed.Target.Convention.Denied = arrivals, convention.Charged
		b := model.Batch{At: r.At, Local: dawn.Add(after), Server: model.Server{Link: model.Live}, Gone: gone}
		b.Readings = []model.Reading{r, log("rl:b", 1, 100), mixed}
		if gone != nil {
			b.Readings = nil
		}
		c.Put(b)
	}
	at := func(s float64) limiter.Instant { return begin.Add(time.Duration(s * float64(time.Second))) }
	want := func(admitted, denied float64) {
		t.Helper()
		f := scrape(t, metrics.Handler(c))
		for name, want := range map[string]float64{"ratescope_admitted_total": admitted, "ratescope_denied_total": denied} {
			if got := counter(f[name], "rl:a"); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		if got := counter(f["ratescope_denied_total"], "rl:b"); got != -1 {
			t.Errorf("denials that are not recorded are %v", got)
		}
		if got := counter(f["ratescope_admitted_total"], "rl:c"); got != -1 {
			t.Errorf("admitted are %v, among which denied ones are", got)
		}
	}
	put(0, false, nil, model.Arrival{At: at(-5), N: 50}, model.Arrival{At: at(0), N: 2})
	want(2, 0)
	put(time.Second, true, nil, model.Arrival{At: at(0.5), N: 3}, model.Arrival{At: at(0.6), N: 4, Denied: true})
	want(5, 4)
	put(2*time.Second, false, nil, model.Arrival{At: at(-5), N: 50}, model.Arrival{At: at(0.5), N: 3}, model.Arrival{At: at(1.5), N: 1})
	want(6, 4)
	put(3*time.Second, true, []string{"rl:a"})
	put(4*time.Second, false, nil, model.Arrival{At: at(3.5), N: 1})
	want(7, 4)
}

// counter returns the value of a counter of a key, -1 where there is none.
func counter(f *dto.MetricFamily, key string) float64 {
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "key" && l.GetValue() == key {
				return m.GetCounter().GetValue()
			}
		}
	}
	return -1
}
