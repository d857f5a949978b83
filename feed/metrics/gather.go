package metrics

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"ratescope/limiter"
	"ratescope/model"
)

// pages is what Prometheus reads: the collector and the process. The families of the keys go past
// a registry, which would sort and check each of their tens of thousands of series at every scrape:
// they come sorted, their names are unique and their labels are valid UTF-8.
type pages struct {
	collector *Collector
	process   *prometheus.Registry
}

func newPages(c *Collector) *pages {
	p := &pages{c, prometheus.NewRegistry()}
	p.process.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return p
}

// Gather implements prometheus.Gatherer.
func (p *pages) Gather() ([]*dto.MetricFamily, error) {
	list, keys := p.collector.metrics()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collected(list))
	families, err := prometheus.Gatherers{p.process, registry}.Gather()
	for i := range keys {
		if f := &keys[i]; len(f.family.Metric) > 0 {
			families = append(families, &f.family)
		}
	}
	slices.SortFunc(families, func(x, y *dto.MetricFamily) int { return strings.Compare(x.GetName(), y.GetName()) })
	return families, err
}

// collected are metrics as a collector. Describing nothing, it may hold any.
type collected []prometheus.Metric

// Describe implements prometheus.Collector.
func (c collected) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collected) Collect(to chan<- prometheus.Metric) {
	for _, m := range c {
		to <- m
	}
}

// keyFigure is one figure of keys.
type keyFigure struct {
	name, help string
	desc       *prometheus.Desc
	of         func(k *model.Watched, age time.Duration) (v float64, known bool)
}

// figures are what is exported of every key.
var figures = []keyFigure{
	perKey("used", "Units of the limit that are used now.", func(k *model.Watched, _ time.Duration) (float64, bool) {
		return float64(k.Gauge.Used.N), k.Gauge.Used.Known
	}),
	perKey("limit", "Units that are admitted in a window; absent when it is not known.",
		func(k *model.Watched, _ time.Duration) (float64, bool) {
			return float64(k.Reading.Target.Limit.Count), k.Reading.Target.LimitKnown
		}),
	perKey("window_seconds", "Length of the window; absent when it is not known.", func(k *model.Watched, _ time.Duration) (float64, bool) {
		return k.Reading.Target.Window.Seconds(), k.Reading.Target.Window > 0
	}),
	perKey("utilization_ratio", "Used over limit, 1 is full; absent when the limit is not known.",
		func(k *model.Watched, _ time.Duration) (float64, bool) {
			return k.Gauge.Utilization, k.Gauge.Remaining.Known
		}),
	perKey("remaining", "Units that are left; absent when the limit is not known.", func(k *model.Watched, _ time.Duration) (float64, bool) {
		return float64(k.Gauge.Remaining.N), k.Gauge.Remaining.Known
	}),
	perKey("denied", "Units denied in the last window; absent where denials are not recorded.",
		func(k *model.Watched, _ time.Duration) (float64, bool) {
			return float64(k.Gauge.DeniedInW.N), k.Gauge.DeniedInW.Known && k.Reading.Err == ""
		}),
	perKey("next_admission_seconds", "Time until one request is admitted: 0 is now, +Inf never; absent when the limit is not known.",
		func(k *model.Watched, _ time.Duration) (float64, bool) {
			return seconds(k.Gauge.Next), k.Gauge.NextKnown
		}),
	perKey("rate_per_second",
		"Admitted units a second over the last window, of GCRA and buckets a lower bound: what leaks away between two readings is not seen "+
			"while they are nearly empty; absent when it is not known.", func(k *model.Watched, _ time.Duration) (float64, bool) {
			return k.Gauge.Rate, k.Gauge.RateKnown
		}),
	perKey("reading_age_seconds", "Time since the key was read.", func(_ *model.Watched, age time.Duration) (float64, bool) {
		return age.Seconds(), true
	}),
}

// perKey returns a figure that is exported as ratescope_key_<name>.
func perKey(name, help string, of func(*model.Watched, time.Duration) (float64, bool)) keyFigure {
	name = "ratescope_key_" + name
	return keyFigure{name, help, ofKey(name, help), of}
}

// counters are what is counted of every key. They never fall while the exporter runs.
var counters = []struct {
	name, help string
	desc       *prometheus.Desc
	of         func(k *model.Watched, n *counted) (v float64, known bool)
}{
	{"ratescope_admitted_total", admittedHelp, ofKey("ratescope_admitted_total", admittedHelp), func(k *model.Watched, n *counted) (float64, bool) {
		return float64(n.admitted), k.Gauge.RateKnown || n.admitted > 0
	}},
	{"ratescope_denied_total", deniedHelp, ofKey("ratescope_denied_total", deniedHelp), func(k *model.Watched, n *counted) (float64, bool) {
		return float64(n.denied), k.Gauge.DeniedInW.Known || n.denied > 0
	}},
}

const (
	admittedHelp = "Units admitted since the exporter began; of GCRA and buckets a lower bound; absent where it is not known."
	deniedHelp   = "Units denied since the exporter began; absent where denials are not recorded."
)

func ofKey(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"key", "algorithm"}, nil)
}

// keyFamily is one figure of all keys that have series.
type keyFamily struct {
	desc   *prometheus.Desc
	family dto.MetricFamily
}

// families returns the figures of keys at an instant of the server's clock, sorted by the label of
// the key. What is known of no key has no series.
func (c *Collector) families(chosen []*model.Watched, now limiter.Instant) []keyFamily {
	type labelled struct {
		key    *model.Watched
		name   string
		labels []*dto.LabelPair // sorted by name; all series of a key share them
	}
	keys := make([]labelled, len(chosen))
	for i, k := range chosen {
		name := c.name(k.Reading.Key)
		keys[i] = labelled{k, name, keyLabels(name, k.Reading.Target.Algorithm.String())}
	}
	slices.SortFunc(keys, func(x, y labelled) int { return cmp.Compare(x.name, y.name) })
	list := make([]keyFamily, len(figures))
	for n := range figures {
		f := &figures[n]
		values, gauges, metrics := make([]float64, len(keys)), make([]dto.Gauge, len(keys)), make([]dto.Metric, len(keys))
		series := make([]*dto.Metric, 0, len(keys))
		for i := range keys {
			k := &keys[i]
			v, known := f.of(k.key, max(now.Sub(k.key.Reading.At), 0))
			if !known {
				continue
			}
			values[i] = v
			gauges[i].Value = &values[i]
			metrics[i].Gauge, metrics[i].Label = &gauges[i], k.labels
			series = append(series, &metrics[i])
		}
		list[n].desc = f.desc
		to := &list[n].family
		to.Name, to.Help, to.Type, to.Metric = &f.name, &f.help, dto.MetricType_GAUGE.Enum(), series
	}
	for n := range counters {
		f := &counters[n]
		var series []*dto.Metric
		for i := range keys {
			if v, known := f.of(keys[i].key, c.counts[keys[i].key.Reading.Key]); known {
				series = append(series, &dto.Metric{Counter: &dto.Counter{Value: &v}, Label: keys[i].labels})
			}
		}
		list = append(list, keyFamily{desc: f.desc})
		to := &list[len(list)-1].family
		to.Name, to.Help, to.Type, to.Metric = &f.name, &f.help, dto.MetricType_COUNTER.Enum(), series
	}
	return list
}

// keyLabels returns the labels of a key, sorted by name.
func keyLabels(key, algorithm string) []*dto.LabelPair {
	return []*dto.LabelPair{
		{Name: new("algorithm"), Value: &algorithm},
		{Name: new("key"), Value: &key},
	}
}

// point is one series of a family as a metric.
type point struct {
	desc *prometheus.Desc
	of   *dto.Metric
}

// Desc implements prometheus.Metric.
func (p point) Desc() *prometheus.Desc { return p.desc }

// Write implements prometheus.Metric.
func (p point) Write(m *dto.Metric) error {
	m.Label, m.Gauge, m.Counter = p.of.Label, p.of.Gauge, p.of.Counter
	return nil
}
