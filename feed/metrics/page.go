package metrics

import (
	"cmp"
	_ "embed" // of help.txt
	"math"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"ratescope/limiter"
	"ratescope/limiter/convention"
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
	m := metricOf(name)
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
		m := metricOf(f.name)
		list := make([]*dto.Metric, 0, len(keys))
		for i := range keys {
			if v, known := f.of(&keys[i].watched); known {
				list = append(list, room[i].of(m, v, keys[i].labels))
			}
		}
		if len(list) > 0 {
			p.add(m, list...)
		}
	}
}

// states tells how many keys are in which state.
func (p *page) states(t model.Totals) {
	ok := t.Keys - t.Throttled - t.Eased - t.Near - t.Unknown - t.Broken - t.Likely - t.Gone
	for _, s := range []struct {
		name string
		keys int
	}{{"throttled", t.Throttled}, {"was_throttled", t.Eased}, {"near", t.Near}, {"ok", ok}, {"no_limit", t.Unknown},
		{"unreadable", t.Broken}, {"likely", t.Likely}} {
		p.tell("keys_by_state", float64(s.keys), s.name)
	}
	p.tell("keys_sick", float64(t.Sick))
}

// sweep tells how far the search for limiters is.
func (p *page) sweep(s *model.Sweep) {
	p.tell("keys_not_watched", float64(s.Dropped))
	p.tell("keys_behind", float64(s.Behind))
	p.tell("sweep_passes_total", float64(s.Passes))
	p.tell("sweep_scanned_keys", float64(s.Scanned))
	if s.Total > 0 {
		p.tell("sweep_keys", float64(s.Total))
	}
	if s.Share > 0 {
		p.tell("watch_allowed_ratio", s.Share)
	}
}

// health tells how the server does, which answers.
func (p *page) health(h *model.Health, s model.Server) {
	for name, m := range map[string]model.Measure{
		"commands_per_second": h.Ops, "cpu_cores": h.CPU, "memory_used_bytes": h.MemoryUsed, "memory_max_bytes": h.MemoryMax,
		"clients": h.Clients, "evicted_keys_per_second": h.Evicted, "expired_keys_per_second": h.Expired, "replica_lag_bytes": h.Lag,
	} {
		if m.Known {
			p.tell("redis_"+name, m.V)
		}
	}
	if s.RTT > 0 {
		p.tell("round_trip_seconds", s.RTT.Seconds())
	}
	if s.OffsetBy > 0 {
		p.tell("redis_clock_offset_seconds", s.Offset.Seconds())
	}
	for _, cmd := range h.Commands {
		if cmd.Scripts {
			p.tell("redis_script_seconds", cmd.Mean.Seconds(), label(cmd.Name))
		}
	}
	for _, e := range h.Errors {
		p.tell("redis_errors_per_second", e.Rate, label(e.Name))
	}
}

// metric is one kind of series. Its name stands without "ratescope_"; one that ends in _total counts up.
type metric struct {
	name, help string
	labels     []string // in the order of their names
}

//go:embed help.txt
var helpText string

// table is all metrics: a line of help.txt each, with the name, the labels in braces and what it is.
var table = func() (list []metric) {
	for line := range strings.Lines(helpText) {
		name, help, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, labels, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
		list = append(list, metric{name, help, strings.FieldsFunc(labels, func(r rune) bool { return r == ',' })})
	}
	return list
}()

// metricOf returns the metric of that name.
func metricOf(name string) *metric {
	return &table[slices.IndexFunc(table, func(m metric) bool { return m.name == name })]
}

// watched is a key with what is told of it beside its figures.
type watched struct {
	*model.Watched
	age     time.Duration // of the reading
	counted *counted
}

// figures are what is exported of every key, with the labels of ofKeys.
var figures = []struct {
	name string
	of   func(k *watched) (v float64, known bool)
}{
	{"key_used", func(k *watched) (float64, bool) { return float64(k.Gauge.Used.N), k.Gauge.Used.Known }},
	{"key_limit", func(k *watched) (float64, bool) {
		return float64(k.Reading.Target.Limit.Count), k.Reading.Target.LimitKnown
	}},
	{"key_window_seconds", func(k *watched) (float64, bool) {
		return k.Reading.Target.Window.Seconds(), k.Reading.Target.Window > 0
	}},
	{"key_utilization_ratio", func(k *watched) (float64, bool) { return k.Gauge.Utilization, k.Gauge.Remaining.Known }},
	{"key_remaining", func(k *watched) (float64, bool) { return float64(k.Gauge.Remaining.N), k.Gauge.Remaining.Known }},
	{"key_denied", func(k *watched) (float64, bool) {
		return float64(k.Gauge.DeniedInW.N), k.Gauge.DeniedInW.Known && k.Reading.Err == ""
	}},
	{"key_next_admission_seconds", func(k *watched) (float64, bool) {
		if k.Gauge.Next == limiter.Never {
			return math.Inf(1), k.Gauge.NextKnown
		}
		return k.Gauge.Next.Seconds(), k.Gauge.NextKnown
	}},
	{"key_rate_per_second", func(k *watched) (float64, bool) { return k.Admitted(k.Gauge.Rate), k.Gauge.RateKnown }},
	{"key_reading_age_seconds", func(k *watched) (float64, bool) { return k.age.Seconds(), true }},
	{"admitted_total", func(k *watched) (float64, bool) {
		mixed := k.Reading.Target.Convention.Denied == convention.Charged && !k.Gauge.DeniedInW.Known // with denied ones
		return float64(k.counted.admitted), !mixed && (k.Gauge.RateKnown || k.counted.admitted > 0)
	}},
	{"denied_total", func(k *watched) (float64, bool) {
		return float64(k.counted.denied), k.Gauge.DeniedInW.Known || k.counted.denied > 0
	}},
}

// ofKeys are the labels of the figures.
var ofKeys = []string{"algorithm", "key"}

// prefix begins the name of every metric.
const prefix = "ratescope_"

func (m *metric) counts() bool { return strings.HasSuffix(m.name, "_total") }
