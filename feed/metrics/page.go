package metrics

import (
	"cmp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"ratescope/limiter"
	"ratescope/model"
)

// page is what Prometheus reads. The families go past a registry, which would sort and check each of
// tens of thousands of series at every scrape: their labels are valid UTF-8.
type page struct {
	families map[string]*dto.MetricFamily // by name
	told     map[string]bool              // names of metrics with the values of their labels
}

// tell adds a series to the page, unless one with the same labels is there.
func (p *page) tell(name string, v float64, labels ...string) {
	id := name + "\x00" + strings.Join(labels, "\x00")
	if p.told[id] {
		return
	}
	p.told[id] = true
	m := named(name)
	p.add(m, new(series).of(m, v, pairs(m.labels, labels)))
}

// add adds series of a metric to the page.
func (p *page) add(m *metric, list ...*dto.Metric) {
	f := p.families[m.name]
	if f == nil {
		f = &dto.MetricFamily{Name: new(prefix + m.name), Help: &m.help, Type: dto.MetricType_GAUGE.Enum()}
		if m.counts() {
			f.Type = dto.MetricType_COUNTER.Enum()
		}
		p.families[m.name] = f
	}
	f.Metric = append(f.Metric, list...)
}

// series is room for one series, so that those of thousands of keys take one piece of memory.
type series struct {
	value   float64
	gauge   dto.Gauge
	counter dto.Counter
	metric  dto.Metric
}

// of returns s as a series of a metric.
func (s *series) of(m *metric, v float64, labels []*dto.LabelPair) *dto.Metric {
	s.value, s.metric.Label = v, labels
	if m.counts() {
		s.counter.Value, s.metric.Counter = &s.value, &s.counter
	} else {
		s.gauge.Value, s.metric.Gauge = &s.value, &s.gauge
	}
	return &s.metric
}

func pairs(names, values []string) []*dto.LabelPair {
	list := make([]*dto.LabelPair, len(names))
	for i := range names {
		list[i] = &dto.LabelPair{Name: &names[i], Value: &values[i]}
	}
	return list
}

// figures adds the figures of keys at an instant of the server's clock to a page, sorted by the label of
// the key. What is known of no key has no series.
func (c *Collector) figures(p *page, chosen []*model.Watched, now limiter.Instant) {
	type labelled struct {
		watched
		name   string
		labels []*dto.LabelPair // all series of a key share them
	}
	keys := make([]labelled, len(chosen))
	for i, k := range chosen {
		name := c.name(k.Reading.Key)
		keys[i] = labelled{watched{k, max(now.Sub(k.Reading.At), 0), c.counts[k.Reading.Key]}, name,
			pairs(ofKeys, []string{k.Reading.Target.Algorithm.String(), name})}
	}
	slices.SortFunc(keys, func(x, y labelled) int { return cmp.Compare(x.name, y.name) })
	for n := range figures {
		f, room := &figures[n], make([]series, len(keys))
		list := make([]*dto.Metric, 0, len(keys))
		for i := range keys {
			if v, known := f.of(&keys[i].watched); known {
				list = append(list, room[i].of(&f.metric, v, keys[i].labels))
			}
		}
		if len(list) > 0 {
			p.add(&f.metric, list...)
		}
	}
}
